package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const flowAPI = "/apis/flowcontrol.apiserver.k8s.io/v1"

// seats are those of the level of a server with ten, of which the level catch-all has one.
const seats = 9

// addLevel makes a level of queues, of which each user has one, for all who are known.
func (d *doors) addLevel(length int32) (schema flowcontrolv1.FlowSchema, level flowcontrolv1.PriorityLevelConfiguration) {
	d.t.Helper()
	all := []string{"*"}
	level = flowcontrolv1.PriorityLevelConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: "Limited",
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(45)),
			LimitResponse: flowcontrolv1.LimitResponse{Type: "Queue", Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 64, HandSize: 1, QueueLengthLimit: length}}}}}
	schema = flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "users"}, Spec: flowcontrolv1.FlowSchemaSpec{
		PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "few"}, DistinguisherMethod: &flowcontrolv1.FlowDistinguisherMethod{Type: "ByUser"},
		Rules: []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: []flowcontrolv1.Subject{{Kind: "Group", Group: &flowcontrolv1.GroupSubject{Name: "system:authenticated"}}},
			ResourceRules: []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true}}}}}}
	level = decoded[flowcontrolv1.PriorityLevelConfiguration](0, d.send(http.StatusCreated, "POST", flowAPI+"/prioritylevelconfigurations", encodeAll(d.t, level)))
	schema = decoded[flowcontrolv1.FlowSchema](0, d.send(http.StatusCreated, "POST", flowAPI+"/flowschemas", encodeAll(d.t, schema)))
	return schema, level
}

// held is a request whose body comes when it is let go.
type held struct {
	answer *httptest.ResponseRecorder
	ended  chan struct{}
	body   *io.PipeWriter
	text   string
}

// hold begins to create a pod.
func (s *secured) hold(who, name string) *held {
	reader, writer := io.Pipe()
	h := &held{httptest.NewRecorder(), make(chan struct{}), writer, encodeAll(s.t, podNamed(name))}
	req := httptest.NewRequest("POST", todaysPods, reader)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+who+"-token")
	go func() {
		defer close(h.ended)
		s.Server.SecureHandler().ServeHTTP(h.answer, req)
	}()
	synctest.Wait()
	return h
}

// letGo ends requests, and returns how many had which status.
func letGo(all []*held) map[int]int {
	statuses := map[int]int{}
	for _, h := range all {
		go func() {
			_, _ = io.WriteString(h.body, h.text) // nobody reads it of a refused request
			_ = h.body.Close()
		}()
	}
	for _, h := range all {
		<-h.ended
		statuses[h.answer.Code]++
		_ = h.body.CloseWithError(io.EOF)
	}
	return statuses
}

func TestAMouseIsServedBeforeAllOfAnElephant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		own, _ := filesOf(t).secureFlags()
		d := openDoors(t, append(own, "-max_requests_inflight", "6", "-max_mutating_requests_inflight", "4", "-request_timeout", "1h",
			"-token_auth_file", filesOf(t).write("tokens", tokensOf("elephant", "mouse")))...)
		s := &secured{doors: d}
		schema, level := d.addLevel(50)
		var elephants []*held
		for i := range 100 {
			elephants = append(elephants, s.hold("elephant", fmt.Sprint("elephant-", i)))
			time.Sleep(time.Millisecond)
		}
		refused := elephants[99].answer
		assert.Equal(t, http.StatusTooManyRequests, refused.Code, "its queue is full")
		assert.Equal(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Too many requests, please try again later.","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}`+"\n", refused.Body.String())
		assert.Equal(t, "1", refused.Header().Get("Retry-After"))
		assert.Equal(t, string(schema.UID), refused.Header().Get("X-Kubernetes-PF-FlowSchema-UID"))
		assert.Equal(t, string(level.UID), refused.Header().Get("X-Kubernetes-PF-PriorityLevel-UID"))
		time.Sleep(time.Second)
		again := s.hold("elephant", "again").answer
		assert.Equal(t, "2", again.Header().Get("Retry-After"), "more than three were refused in the last second")
		assert.Contains(t, again.Body.String(), `"retryAfterSeconds":2`)
		mouse := s.hold("mouse", "mouse")
		assert.Contains(t, d.metricLines("apiserver_flowcontrol_current_inqueue_requests"), `apiserver_flowcontrol_current_inqueue_requests{flow_schema="users",priority_level="few"} 51`)
		d.createPod(podNamed("at-the-insecure-port"))

		assert.Equal(t, map[int]int{201: seats}, letGo(elephants[:seats]))
		assert.Equal(t, map[int]int{201: 1}, letGo([]*held{mouse}), "all others of the elephant still wait, or are still served")
		assert.Equal(t, map[int]int{201: 50, 429: 100 - 50 - seats}, letGo(elephants[seats:]))
		assert.Equal(t, []string{`apiserver_flowcontrol_rejected_requests_total{flow_schema="users",priority_level="few",reason="queue-full"} 42`}, d.metricLines("apiserver_flowcontrol_rejected_requests_total"))
		assert.Contains(t, d.metricLines("apiserver_flowcontrol_current_limit_seats"), `apiserver_flowcontrol_current_limit_seats{priority_level="few"} 9`)
	})
}

func TestAClassIsToldInHeadersAndTheLevelsToWhoMayKnow(t *testing.T) {
	t.Parallel()
	s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", filesOf(t).write("tokens", tokensOf("ann", "bea")+"root-token,root,9,system:masters\n"))
	s.grant("bea", rbacv1.PolicyRule{NonResourceURLs: []string{"/debug/api_priority_and_fairness/*"}, Verbs: []string{"get"}})
	schema, level := s.addLevel(5)
	headers := func(path, who string) []string {
		_, _, header := askWith(t, clientWith(t, s.trusted, nil), bearer(who+"-token"), "GET", s.url+path, "")
		return []string{header.Get("X-Kubernetes-PF-FlowSchema-UID"), header.Get("X-Kubernetes-PF-PriorityLevel-UID")}
	}
	assert.Equal(t, []string{string(schema.UID), string(level.UID)}, headers(todaysPods, "ann"), "although it is forbidden")
	assert.NotContains(t, headers(todaysPods, "root"), string(schema.UID))
	assert.Equal(t, []string{"", ""}, headers(todaysPods+"/x/log", "ann"), "it is long-running")
	assert.Equal(t, []string{string(schema.UID), string(level.UID)}, headers(todaysPods+"?watch=1", "ann"))
	for _, table := range []string{"dump_priority_levels", "dump_queues", "dump_requests"} {
		for who, want := range map[string]int{"ann": 403, "bea": 200, "root": 200} {
			status, text := s.ask(t, bearer(who+"-token"), "GET", "/debug/api_priority_and_fairness/"+table, "")
			assert.Equal(t, want, status)
			assert.Equal(t, want == 200, strings.HasPrefix(text, "PriorityLevelName, "), text)
		}
	}
	off := openSecure(t, "-enable_priority_and_fairness=false", "-token_auth_file", filesOf(t).write("tokens", tokensOf("ann")))
	status, _, header := askWith(t, clientWith(t, off.trusted, nil), bearer("ann-token"), "GET", off.url+todaysPods, "")
	require.Equal(t, http.StatusOK, status)
	assert.NotContains(t, header, "X-Kubernetes-Pf-Flowschema-Uid")
	status, _ = off.ask(t, bearer("ann-token"), "GET", "/debug/api_priority_and_fairness/dump_queues", "")
	assert.Equal(t, http.StatusNotFound, status)
}
