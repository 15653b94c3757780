package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// auditRecording is what today's server writes of some requests.
type auditRecording struct {
	Policy string
	Steps  []auditStep
}

type auditStep struct {
	Name, Method, Path, Token, Body string
	Headers                         map[string]string
	Lines                           []json.RawMessage
}

// auditMasks replace what is another one in each run.
var auditMasks = []struct {
	old *regexp.Regexp
	by  string
}{
	{regexp.MustCompile(`"(requestReceivedTimestamp|stageTimestamp)":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`), `"$1":"TIME"`},
	{regexp.MustCompile(`"creationTimestamp":"[-:TZ0-9]+"`), `"creationTimestamp":"TIME"`},
	{regexp.MustCompile(`"uid":"[-0-9a-f]{36}"`), `"uid":"UID"`},
	{regexp.MustCompile(`"resourceVersion":"\d+"`), `"resourceVersion":"VERSION"`},
	{regexp.MustCompile(`two-[a-z0-9]{5}`), `two-RANDOM`},
}

func masked(line string) string {
	for _, mask := range auditMasks {
		line = mask.old.ReplaceAllString(line, mask.by)
	}
	return line
}

// auditDifferences are, by step, where ours are other lines.
var auditDifferences = map[string]struct{ theirs, ours string }{
	// The first door's answers are text.
	"a path that is not there": {`"code":404`, `"status":"Failure","message":"Not Found: GET /nope","code":404`},
	// A request whose body is no JSON keeps its last line.
	"it is patched wrongly": {"\x00", `
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"step-15","stage":"ResponseComplete",` +
		`"requestURI":"/api/v1/namespaces/default/events/one","verb":"patch","user":{"username":"admin","uid":"1","groups":["system:masters","system:authenticated"]},` +
		`"sourceIPs":["127.0.0.1"],"userAgent":"recorder","objectRef":{"resource":"events","namespace":"default","name":"one","apiVersion":"v1"},` +
		`"responseStatus":{"metadata":{},"status":"Failure","message":"error decoding patch: unexpected end of JSON input","reason":"BadRequest","code":400},` +
		`"responseObject":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"error decoding patch: unexpected end of JSON input","reason":"BadRequest","code":400},` +
		`"requestReceivedTimestamp":"TIME","stageTimestamp":"TIME","annotations":{"authorization.k8s.io/decision":"allow","authorization.k8s.io/reason":""}}`},
	// Options are told in the version in which they were sent.
	"it is deleted": {`meta.k8s.io/__internal`, `v1`},
	"an unknown resource": { // K87
		`"details":{}`,
		`"details":{"causes":[{"message":"there are bindings, componentstatuses, configmaps, endpoints, events, limitranges, namespaces, nodes, persistentvolumeclaims, persistentvolumes, pods, podtemplates, replicationcontrollers, resourcequotas, secrets, serviceaccounts, services"}]}`},
	// The right that is missed is another one.
	"as another one, without the right": {
		`nodes is forbidden: User \"bob\" cannot impersonate-on:user-info:list resource \"nodes\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"kind":"nodes"}`,
		`users \"eve\" is forbidden: User \"bob\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"name":"eve","kind":"users"}`},
}

// wanted returns the lines that are to be there.
func (s *auditStep) wanted(t *testing.T) []string {
	var lines []string
	for _, line := range s.Lines {
		lines = append(lines, masked(string(line)))
	}
	text := strings.Join(lines, "\n")
	if difference, ok := auditDifferences[s.Name]; ok {
		text += "\x00"
		require.Contains(t, text, difference.theirs, s.Name)
		text = strings.TrimSuffix(strings.Replace(text, difference.theirs, difference.ours, 1), "\x00")
	}
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

const auditTokens = "admin-token,admin,1,system:masters\nbob-token,bob,2,\"builders,testers\"\n"

// auditedServer returns a server that writes an audit, and its file.
func auditedServer(t *testing.T, policy string) (s *secured, log string) {
	f := filesOf(t)
	log = f.path("audit.log")
	s = openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", f.write("tokens.csv", auditTokens),
		"-audit_log_path", log, "-audit_policy_file", f.write("policy.yaml", policy))
	require.NoError(t, s.BootstrapNamespaces(t.Context()))
	return s, log
}

// linesOf returns the lines of a request, once there are as many as there are to be.
func linesOf(t *testing.T, log, id string, wanted int) (lines []string) {
	eventually(t, func() bool {
		lines = nil
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if line, whole := strings.CutSuffix(line, "\n"); whole && strings.Contains(line, `"auditID":"`+id+`"`) {
				lines = append(lines, line)
			}
		}
		return len(lines) >= wanted
	}, fmt.Sprintf("%d lines of %s", wanted, id))
	return lines
}

// A line is the same as today's server writes it: field by field, in its order.
func TestTheAuditTellsWhatTodaysServerTells(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/audit.json")
	require.NoError(t, err)
	var recording auditRecording
	require.NoError(t, json.Unmarshal(text, &recording))
	s, log := auditedServer(t, recording.Policy)
	for i := range recording.Steps {
		step, id := &recording.Steps[i], fmt.Sprintf("step-%d", i)
		shows := credentials{headers: []string{"User-Agent: recorder", "Audit-ID: " + id}}
		for name, value := range step.Headers {
			shows.headers = append(shows.headers, name+": "+value)
		}
		if step.Token != "" {
			shows = shows.as("Authorization: Bearer " + step.Token)
		}
		_, _, header := askWith(t, clientWith(t, s.trusted, nil), shows, step.Method, s.url+step.Path, step.Body)
		assert.Equal(t, id, header.Get("Audit-Id"), step.Name)
		wanted := step.wanted(t)
		var got []string
		for _, line := range linesOf(t, log, id, len(wanted)) {
			got = append(got, masked(line))
		}
		assert.Equal(t, wanted, got, step.Name)
	}
}

const tellAll = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n"

// What is sent is told in whatever form it came, at both doors. (K56)
func TestTheAuditTellsWhatIsSentAtBothDoors(t *testing.T) {
	t.Parallel()
	s, log := auditedServer(t, tellAll)
	event, err := (&corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "three"}, InvolvedObject: corev1.ObjectReference{Namespace: "default"}}).Marshal()
	require.NoError(t, err)
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Event"}, Raw: event}).Marshal()
	require.NoError(t, err)
	for name, row := range map[string]struct{ method, path, contentType, body, told, ref string }{
		"task": {"POST", firstDoorsTasks, "application/json", `{ "id": "one", "token": "left out" }`,
			`{"id":"one","desiredState":{"manifest":{"version":"","volumes":null,"containers":null}},"currentState":{"manifest":{"version":"","volumes":null,"containers":null}}}`,
			`"name":"one"`},
		"yaml": {"POST", "/api/v1/namespaces/default/events", "application/yaml",
			"apiVersion: v1\nkind: Event\nmetadata: {name: two, namespace: default}\ninvolvedObject: {namespace: default}\n",
			`{"apiVersion":"v1","involvedObject":{"namespace":"default"},"kind":"Event","metadata":{"name":"two","namespace":"default"}}`, `"name":"two"`},
		"binary": {"POST", "/api/v1/namespaces/default/events", "application/vnd.kubernetes.protobuf", "k8s\x00" + string(envelope),
			`{"kind":"Event","apiVersion":"v1","metadata":{"name":"three"},"involvedObject":{"namespace":"default"},"source":{},"firstTimestamp":null,` +
				`"lastTimestamp":null,"eventTime":null,"reportingComponent":"","reportingInstance":""}`, `"name":"three"`},
	} {
		who := bearer("admin-token").as("Audit-ID: "+name, "Content-Type: "+row.contentType)
		s.ask(t, who, row.method, row.path, row.body)
		line := linesOf(t, log, name, 2)[1]
		assert.Contains(t, line, `"requestObject":`+row.told+`,`, name)
		assert.Contains(t, line, row.ref, name)
	}
}

// Neither the tokens of those who ask, nor those that are reviewed. (K57)
func TestNoTokenStandsInTheAudit(t *testing.T) {
	t.Parallel()
	s, log := auditedServer(t, tellAll)
	const review = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"%s"}}`
	for i, body := range []string{fmt.Sprintf(review, "bob-token"), fmt.Sprintf(review, "secret-token"), "secret-token", `{"secret-token`, ""} {
		for j, token := range []string{"admin-token", "bob-token", "secret-token"} {
			id := fmt.Sprintf("review-%d-%d", i, j)
			status, _ := s.ask(t, bearer(token).as("Audit-ID: "+id), "POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)
			if status == http.StatusUnauthorized {
				linesOf(t, log, id, 1)
			} else {
				assert.NotContains(t, linesOf(t, log, id, 2)[1], "Object\"", id)
			}
		}
	}
	for _, secret := range []struct{ method, path, body string }{
		{"POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s"},"stringData":{"a":"secret-token"}}`},
		{"POST", "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"s","labels":{"a":"secret-token/x"}}}`},
		{"GET", "/api/v1/namespaces/default/secrets/s", ""},
		{"PATCH", "/api/v1/namespaces/default/secrets/s", `{"stringData":{"b":"secret-token"}}`},
		{"PUT", "/api/v1/namespaces/default/secrets/s", `{"metadata":{"name":"s"},"data":{"a":"secret-token"}}`},
		{"GET", "/api/v1/secrets", ""},
		{"DELETE", "/api/v1/namespaces/default/secrets/s", ""},
	} {
		s.ask(t, bearer("admin-token").as("Content-Type: application/merge-patch+json"), secret.method, secret.path, secret.body)
	}
	s.ask(t, bearer("admin-token"), "POST", firstDoorsTasks, fmt.Sprintf(review, "secret-token")) // by mistake
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "-token")
	assert.NotContains(t, string(text), fmt.Sprintf("%x", "secret"), "as the summary of a body")
	assert.Contains(t, string(text), `"code":400`)
}

func TestTheInsecurePortIsAuditedToo(t *testing.T) {
	t.Parallel()
	s, log := auditedServer(t, tellAll)
	resp, err := http.Get(s.insecure + "/api/v1/nodes")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	lines := linesOf(t, log, resp.Header.Get("Audit-Id"), 2)
	assert.Contains(t, lines[1], `"user":{"username":"system:unsecured","groups":["system:masters","system:authenticated"]}`)
	assert.Contains(t, lines[1], `"code":200`)
}

func TestAnAuditThatCannotBeWrittenRefusesToStart(t *testing.T) {
	t.Parallel()
	f := filesOf(t)
	lines := refusedStart(t, "-port", "0", "-audit_log_path", f.write("file", "")+"/audit.log", "-audit_policy_file", f.write("policy.yaml", "kind: Policy"))
	require.Len(t, lines, 2)
	assert.Contains(t, lines[0], "apiserver: -audit_log_path: ")
	assert.Contains(t, lines[1], "apiserver: -audit_policy_file: "+f.path("policy.yaml")+": apiVersion: must be audit.k8s.io/v1")
}

// A full disk stops nothing: it is counted and logged.
func TestAFullDiskDoesNotStopTheServer(t *testing.T) {
	t.Parallel()
	cmd, log, insecure, _ := secureProgram(t, unhurried, append(filesOf(t).secure(), "-audit_log_path", "/dev/full")...)
	for range 10 {
		resp, err := http.Get(insecure + "/api/v1/nodes")
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
	log.find(`(1 audit events are lost: the last one could not be written: .*no space left on device)`)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	log.find(`(stopped)`)
}

func (f files) secure() []string {
	flags, _ := f.secureFlags()
	return flags
}
