package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// eventsOf returns what the audit has of a request, once there is as much as there is to be.
func eventsOf(t *testing.T, log, id string, wanted int) (events []auditv1.Event) {
	for _, line := range linesOf(t, log, id, wanted) {
		var event auditv1.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		events = append(events, event)
	}
	require.Len(t, events, wanted)
	return events
}

// auditedProgram starts the program with two users, one of whom may all.
func auditedProgram(t *testing.T, policy string, flags ...string) (f files, insecure, secure, log string, client *http.Client) {
	f = filesOf(t)
	own, authority := f.secureFlags()
	log = f.path("audit.log")
	own = append(own, "-authorization_mode", "RBAC", "-token_auth_file", f.write("tokens", auditTokens), "-audit_log_path", log, "-audit_policy_file", f.write("policy", policy))
	cmd, said, insecure, secure := secureProgram(t, unhurried, append(own, flags...)...)
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(os.Interrupt))
		said.find("stopped$")
		assert.NoError(t, cmd.Wait())
	})
	return f, insecure, secure, log, clientWith(t, authority.Pool(), nil)
}

func TestTheAuditOfTheProgramTellsWhoDidWhat(t *testing.T) {
	t.Parallel()
	_, insecure, secure, log, client := auditedProgram(t, tellAll, "-admission_control", "LimitRanger,NamespaceExists")
	admin, bob, nobody := bearer("admin-token"), bearer("bob-token"), credentials{}
	const unsecured, isAdmin, isBob, isAnonymous = "system:unsecured system:masters,system:authenticated", "admin system:masters,system:authenticated",
		"bob builders,testers,system:authenticated", "system:anonymous system:unauthenticated"
	for i, row := range []struct {
		who                credentials
		at                 string
		method, path, body string
		code               int32
		user               string // and groups
		verb, object       string
	}{
		{admin, secure, "POST", tasksPath, taskNamed("one"), 200, isAdmin, "create", "pods default one"},
		{nobody, insecure, "POST", tasksPath, taskNamed("one"), 409, unsecured, "create", "pods default one"},
		{admin, secure, "POST", todaysPods, podWith("two"), 201, isAdmin, "create", "pods default two"},
		{nobody, insecure, "POST", todaysPods, podWith("two"), 409, unsecured, "create", "pods default two"},
		{bob, secure, "GET", taskPath("one"), "", 403, isBob, "get", "pods default one"},
		{bob, secure, "POST", todaysPods, podWith("three"), 403, isBob, "create", "pods default "},
		{bob, insecure, "GET", todaysPods + "/one", "", 200, unsecured, "get", "pods default one"},
		{nobody, secure, "GET", todaysPods, "", 403, isAnonymous, "list", "pods default "},
		{nobody, secure, "DELETE", taskPath("one"), "", 403, isAnonymous, "delete", "pods default one"},
		{admin, secure, "GET", taskPath("gone"), "", 404, isAdmin, "get", "pods default gone"},
		{admin, secure, "DELETE", todaysPods + "/gone", "", 404, isAdmin, "delete", "pods default gone"},
		{admin, secure, "GET", "/nothing", "", 404, isAdmin, "get", ""},
		{admin, secure, "POST", todaysPods, podWith("Wrong"), 422, isAdmin, "create", "pods default Wrong"},
		{admin, secure, "POST", tasksPath, taskNamed("not valid"), 400, isAdmin, "create", "pods default not valid"},
		{admin, secure, "POST", "/api/v1/namespaces/other/pods", podWith("four"), 404, isAdmin, "create", "pods other four"},
		{admin, secure, "PUT", "/api/v1beta1/services/one", `{"id": "one"}`, 200, isAdmin, "update", "services default one"},
		{admin, secure, "PUT", "/api/v1beta1/replicationControllers/one", `{"id": "one"}`, 200, isAdmin, "update", "replicationcontrollers default one"},
		{nobody, insecure, "DELETE", taskPath("one"), "", 200, unsecured, "delete", "pods default one"},
		{nobody, insecure, "DELETE", todaysPods, "", 200, unsecured, "deletecollection", "pods default "},
	} {
		id := fmt.Sprint("row-", i)
		status, answer, header := askWith(t, client, row.who.as("Audit-ID: "+id), row.method, row.at+row.path, row.body)
		assert.EqualValues(t, row.code, status, answer)
		assert.Equal(t, id, header.Get("Audit-Id"))
		events := eventsOf(t, log, id, 2)
		assert.Equal(t, []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseComplete}, []auditv1.Stage{events[0].Stage, events[1].Stage})
		for _, event := range events {
			assert.Equal(t, row.user, event.User.Username+" "+strings.Join(event.User.Groups, ","), id)
			assert.Equal(t, row.verb+" "+row.path, event.Verb+" "+event.RequestURI, id)
			assert.Equal(t, []string{"127.0.0.1"}, event.SourceIPs)
		}
		assert.Equal(t, row.code, events[1].ResponseStatus.Code, id)
		object := ""
		if ref := events[1].ObjectRef; ref != nil {
			object = ref.Resource + " " + ref.Namespace + " " + ref.Name
		}
		assert.Equal(t, row.object, object, id)
	}

	for _, path := range []string{tasksPath, todaysPods} {
		id := "unknown" + path
		status, _, _ := askWith(t, client, bearer("wrong").as("Audit-ID: "+id), "GET", secure+path, "")
		assert.Equal(t, http.StatusUnauthorized, status)
		event := eventsOf(t, log, id, 1)[0]
		assert.Equal(t, auditv1.StageResponseStarted, event.Stage)
		assert.Empty(t, event.User.Username)
		assert.EqualValues(t, http.StatusUnauthorized, event.ResponseStatus.Code)
	}
}

// A watch is told when it comes in and when it begins, and when it is over.
func TestTheAuditTellsOfAWatchWhenItBegins(t *testing.T) {
	t.Parallel()
	_, insecure, secure, log, client := auditedProgram(t, tellAll)
	for at, who := range map[string]credentials{insecure: {}, secure: bearer("admin-token")} {
		req, err := http.NewRequestWithContext(unhurriedContext(t), "GET", at+"/api/v1/pods?watch=1", nil)
		require.NoError(t, err)
		for _, line := range who.as("Audit-ID: " + at).headers {
			name, value, _ := strings.Cut(line, ": ")
			req.Header.Set(name, value)
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		events := eventsOf(t, log, at, 2)
		assert.Equal(t, auditv1.StageRequestReceived, events[0].Stage)
		assert.Equal(t, auditv1.StageResponseStarted, events[1].Stage)
		require.NoError(t, resp.Body.Close())
		events = eventsOf(t, log, at, 3)
		assert.Equal(t, auditv1.StageResponseComplete, events[2].Stage)
		for _, event := range events {
			assert.Equal(t, "watch", event.Verb)
			assert.Nil(t, event.ResponseObject)
		}
	}
}

func TestAPolicyThatIsChangedIsUsed(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: "
	f, insecure, _, log, client := auditedProgram(t, head+"[{level: None}]\n")
	sent := 0
	isTold := func() bool {
		sent++
		id := fmt.Sprintf("request-%d-", sent)
		status, _, _ := askWith(t, client, credentials{}.as("Audit-ID: "+id), "GET", insecure+todaysPods, "")
		assert.Equal(t, http.StatusOK, status)
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Contains(string(text), id)
	}
	assert.False(t, isTold())
	f.write("policy", head+"[{level: Metadata}]\n")
	eventually(t, isTold, "the new policy is used")
	f.write("policy", head+"[{level: Nothing}]\n")
	assert.True(t, isTold(), "a broken one is not")
	f.write("policy", head+"[{level: None, resources: [{resources: [pods]}]}, {level: Metadata}]\n")
	eventually(t, func() bool { return !isTold() }, "the next one is used")
}
