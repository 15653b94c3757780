package server_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	built "kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flowcontrol"
	"kube2014/pkg/server/request"
)

// named knows everybody by the name in a header; root is a master.
var named = authenticator.RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
	who := &user.Info{Name: req.Header.Get("Authorization"), Groups: []string{user.AllAuthenticated}}
	if who.Name == "root" {
		who.Groups = append(who.Groups, user.Masters)
	}
	return who, true, nil
})

// fairly returns the handlers of both ports of a server with so many seats, nearly all on one level with 16 queues of some length.
func fairly(a request.Server, seats int, length int32, config server.Config) (s *server.Server, control *flowcontrol.Control) {
	all := []string{"*"}
	queues := &flowcontrolv1.QueuingConfiguration{Queues: 16, HandSize: 4, QueueLengthLimit: length}
	objects := &flowcontrol.Objects{
		Levels: []*flowcontrolv1.PriorityLevelConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "queued", UID: "uid-of-level"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited, Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(1000000)),
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeQueue, Queuing: queues}}}}},
		Schemas: []*flowcontrolv1.FlowSchema{{ObjectMeta: metav1.ObjectMeta{Name: "all", UID: "uid-of-schema"}, Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 7,
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "queued"},
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: user.AllAuthenticated}}},
				ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all, ClusterScope: true}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}}}}}}},
	}
	control = flowcontrol.New(flowcontrol.Config{Seats: seats, Read: func() *flowcontrol.Objects { return objects }, Mandatory: built.Mandatory(),
		Counts: func() map[schema.GroupResource]int { return nil }})
	config.Chain, config.FlowControl = &server.Delegate{Server: a}, control
	config.Auth = server.Auth{Authenticator: named, Authorizer: authorizer.AlwaysAllow{}}
	if config.RequestTimeout == 0 {
		config.RequestTimeout = time.Minute
	}
	return config.Complete().New(), control
}

func TestMiceAreServedWhileAnElephantWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, m := newBusy(), toyMetrics()
		s, control := fairly(b, 10, 50, server.Config{Metrics: m, RequestTimeout: time.Hour})
		elephants := b.flood(s.SecureHandler(), 1000, "GET", "/slow", "Authorization: elephant")
		assert.Equal(t, []string{`apiserver_current_inflight_requests{request_kind="mutating"} 0`, `apiserver_current_inflight_requests{request_kind="readOnly"} 10`},
			measured(m, "apiserver_current"))
		refused := ask(s.SecureHandler(), "GET", "/quick", "Authorization: elephant")
		assert.Equal(t, http.StatusTooManyRequests, refused.Code)
		assert.Equal(t, "Too many requests, please try again later.", refused.Body.String())
		assert.NotEmpty(t, refused.Header().Get("Retry-After"))
		assert.Equal(t, "uid-of-schema", refused.Header().Get("X-Kubernetes-PF-FlowSchema-UID"))
		assert.Equal(t, "uid-of-level", refused.Header().Get("X-Kubernetes-PF-PriorityLevel-UID"))
		assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/quick", "Authorization: root").Code, "a master is exempt")
		assert.Equal(t, http.StatusOK, ask(s.InsecureHandler(), "POST", "/quick").Code, "and so is the insecure port")
		mice := b.flood(s.SecureHandler(), 40, "POST", "/quick", "Authorization: mouse")
		assert.Len(t, control.Details()[2].Waiting, 200+40)
		close(b.release)
		assert.Equal(t, map[int]int{200: 210, 429: 790}, elephants(), "ten are served, and four queues are full")
		assert.Equal(t, map[int]int{200: 40}, mice())
		assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/quick", "Authorization: elephant").Code)
		assert.Equal(t, []string{`apiserver_flowcontrol_request_wait_duration_seconds_count{execute="false",flow_schema="all",priority_level="queued"} 791`},
			measured(m, `apiserver_flowcontrol_request_wait_duration_seconds_count{execute="false"`))
	})
}

func TestARequestWaitsForAQuarterOfItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		s, _ := fairly(b, 1, 50, server.Config{RequestTimeout: time.Hour})
		held := b.flood(s.SecureHandler(), 1, "GET", "/slow", "Authorization: ann")
		for target, want := range map[string]time.Duration{"/quick": time.Minute, "/quick?timeout=40s": 10 * time.Second} {
			begun := time.Now()
			assert.Equal(t, http.StatusTooManyRequests, ask(s.SecureHandler(), "POST", target, "Authorization: ann").Code)
			assert.Equal(t, want, time.Since(begun), target)
		}
		close(b.release)
		assert.Equal(t, map[int]int{200: 1}, held())
	})
}

// watchable is an API with watches that begin after 40 seconds, and end when they are told to.
type watchable struct {
	busy
	end chan struct{}
}

func (w watchable) Serves(req *http.Request, record *request.Record) bool {
	record.Info = w.info(req)
	if req.URL.Query().Has("connect") {
		record.Info.Subresource = "proxy"
	}
	record.Info.NoTimeout = record.Info.IsLongRunning() || req.URL.Query().Has("upgrade")
	return true
}

func (w watchable) ServeHTTP(out http.ResponseWriter, req *http.Request) {
	switch {
	case req.URL.Query().Has("watch"), req.URL.Query().Has("upgrade"):
		time.Sleep(40 * time.Second)
		request.Begun(req.Context())
		request.Begun(req.Context())
		fallthrough
	case req.URL.Query().Has("connect"):
		<-w.end
	}
	_, _ = io.WriteString(out, "at last") // the recorder takes all
}

func TestK126AWatchHasSeatsUntilItHasBegunAndOtherLongRequestsHaveNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watchable{newBusy(), make(chan struct{})}
		s, _ := fairly(w, 1, 50, server.Config{RequestTimeout: time.Hour})
		connections := w.flood(s.SecureHandler(), 9, "GET", "/quick?connect", "Authorization: ann")
		begun := time.Now()
		watches := w.flood(s.SecureHandler(), 3, "GET", "/quick?watch", "Authorization: ann")
		assert.Equal(t, http.StatusTooManyRequests, ask(s.SecureHandler(), "GET", "/quick?timeout=1m", "Authorization: ann").Code, "all watches begin, one after the other")
		time.Sleep(time.Hour)
		assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/quick", "Authorization: ann").Code)
		assert.Greater(t, time.Since(begun), time.Hour)
		close(w.end)
		assert.Equal(t, map[int]int{200: 9}, connections())
		codes := watches()
		assert.Equal(t, 3, codes[200]+codes[429])
		assert.Equal(t, 2, codes[200], "the last one would have waited for more than a minute")
	})
}

func TestARequestThatPanicsGivesItsSeatsBack(t *testing.T) {
	t.Parallel()
	s, control := fairly(bear, 1, 1, server.Config{})
	assert.Equal(t, http.StatusInternalServerError, ask(s.SecureHandler(), "GET", "/broken", "Authorization: ann").Code)
	assert.Equal(t, http.StatusInternalServerError, ask(s.SecureHandler(), "GET", "/broken?watch", "Authorization: ann").Code)
	assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/bear", "Authorization: ann").Code)
	assert.Zero(t, control.Details()[2].Seats)
}

func TestWhoIsGoneDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		s, control := fairly(b, 1, 50, server.Config{RequestTimeout: time.Hour})
		held := b.flood(s.SecureHandler(), 1, "GET", "/slow", "Authorization: ann")
		req := httptest.NewRequest("GET", "/quick", nil)
		req.Header.Set("Authorization", "ann")
		gone, leave := context.WithCancel(t.Context())
		go s.SecureHandler().ServeHTTP(httptest.NewRecorder(), req.WithContext(gone))
		synctest.Wait()
		assert.Len(t, control.Details()[2].Waiting, 1)
		leave()
		synctest.Wait()
		assert.Empty(t, control.Details()[2].Waiting)
		close(b.release)
		held()
	})
}

func TestTheDumpsSayWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		s, control := fairly(b, 1, 50, server.Config{RequestTimeout: time.Hour})
		both := b.flood(s.SecureHandler(), 2, "GET", "/slow", "Authorization: ann")
		dump := func(name string) []string {
			recorder := httptest.NewRecorder()
			control.Handlers()["/debug/api_priority_and_fairness/"+name].ServeHTTP(recorder, httptest.NewRequest("GET", "/?includeRequestDetails=1", nil))
			return strings.Split(strings.TrimSuffix(recorder.Body.String(), "\n"), "\n")
		}
		assert.Equal(t, []string{
			"PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests",
			"catch-all,         0,            true,   false,       0,               0,                 0,                  0,                0,                0",
			"exempt,            0,            true,   false,       0,               0,                 0,                  0,                0,                0",
			"queued,            1,            false,  false,       1,               1,                 1,                  0,                0,                0"}, dump("dump_priority_levels"))
		queues := dump("dump_queues")
		assert.Equal(t, "PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum", queues[0])
		assert.Len(t, queues, 1+16)
		text := strings.Join(queues, "\n")
		assert.Contains(t, text, "1,               0,                 0,          0.00000000ss,  1,               1,           0.00300000ss")
		assert.Contains(t, text, "0,               1,                 1,          0.00300000ss,  0,               0,           0.00000000ss")
		requests := dump("dump_requests")
		assert.Len(t, requests, 3)
		assert.Regexp(t, `^queued, +all, +\d+, +0, +ann, +2000-01-01T00:00:00Z, 1, +0, +0s, +0001-01-01T00:00:00Z, ann, +get, +/slow, +, +slow, +v1, +toys, +$`, requests[1])
		assert.Regexp(t, `^queued, +all, +\d+, +-1, +ann, +2000-01-01T00:00:00Z, 1, +0, +0s, +2000-01-01T00:00:00Z, ann, `, requests[2])
		close(b.release)
		both()
	})
}

// What it costs that a request may have to wait.
func BenchmarkPriorityAndFairness(b *testing.B) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	var served atomic.Int64
	at := toys{"/bear": func(http.ResponseWriter, *http.Request) { served.Add(1) }}
	fair, _ := fairly(at, 100, 50, server.Config{})
	limited := (&server.Config{Chain: &server.Delegate{Server: at}, RequestTimeout: time.Minute, MaxReads: 100, Auth: server.Auth{Authenticator: named, Authorizer: authorizer.AlwaysAllow{}}}).Complete().New()
	req := httptest.NewRequest("GET", "/bear", nil)
	req.Header.Set("Authorization", "ann")
	for name, handler := range map[string]http.Handler{"fair": fair.SecureHandler(), "limited": limited.SecureHandler(), "fair, exempt": fair.InsecureHandler(), "limited, insecure": limited.InsecureHandler()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(httptest.NewRecorder(), req)
			}
		})
	}
}

// Whoever sends the header Upgrade would otherwise pass all others.
func TestAConnectionHasASeatUntilItIsUpgraded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watchable{newBusy(), make(chan struct{})}
		s, control := fairly(w, 1, 50, server.Config{RequestTimeout: time.Hour})
		upgrades := w.flood(s.SecureHandler(), 3, "GET", "/quick?upgrade", "Authorization: ann")
		assert.Len(t, control.Details()[2].Waiting, 2)
		time.Sleep(time.Hour)
		close(w.end)
		codes := upgrades()
		assert.Equal(t, 2, codes[200], "the last one would have waited for more than a minute")
		assert.Empty(t, control.Details()[2].Executing)
	})
}

func TestWhatHasEndedCountsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, w := toyMetrics(), watchable{newBusy(), make(chan struct{})}
		s, control := fairly(w, 20, 50, server.Config{Metrics: m, RequestTimeout: time.Hour})
		watches := w.flood(s.SecureHandler(), 10, "GET", "/quick?watch", "Authorization: ann")
		a := &authorizer.Attributes{Verb: "update", IsResource: true, APIGroup: "", Resource: "toys", Name: "quick"}
		cost := func() int { return control.WorkOf(a, httptest.NewRequest("PUT", "/", nil)).FinalSeats }
		assert.Equal(t, 1, cost())
		close(w.end)
		time.Sleep(time.Hour)
		watches()
		assert.Zero(t, cost())
		assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/quick", "Authorization: ann").Code)
		assert.Equal(t, []string{`apiserver_current_inflight_requests{request_kind="mutating"} 0`, `apiserver_current_inflight_requests{request_kind="readOnly"} 0`}, measured(m, "apiserver_current"))
	})
}
