package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/version"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/fairqueuing"
)

// seen returns metrics of which each has been seen once.
func seen() *Metrics {
	m := New(version.Info{Major: "1", Minor: "36"})
	info, req := &request.RequestInfo{IsResource: true, IsServed: true, APIVersion: "v1", Resource: "pods", Verb: "list"}, httptest.NewRequest("GET", "/", nil)
	m.Answered(LabelsOf(info, req), 429, 100, time.Second)
	m.LongRunning(LabelsOf(info, req))
	m.ReadInFlight(func() (int64, int64) { return 3, 2 })
	m.WatchEvents("", "v1", "pods")(1500)
	_ = m.Admission(admission.Call{Plugin: "A", Step: admission.Admit, Attributes: &admission.Attributes{Operation: admission.Create}}, func() error { return nil })
	m.Webhook(WebhookCall{Name: "w", Type: "admit", Operation: admission.Create, Rejected: true, ErrorType: "no_error", Code: 403, FailOpen: true})
	m.Audit().Level("Metadata")
	_, _, _ = m.Authenticator(authenticator.RequestFunc(func(*http.Request) (*user.Info, bool, error) { return nil, false, nil })).AuthenticateRequest(req)
	_, _, _ = m.Authorizer(authorizer.AlwaysAllow{}).Authorize(req.Context(), authorizer.Attributes{User: &user.Info{}})
	m.StoreCalled(StoreCall{"get", "", "pods"}, time.Second, true)
	m.ReadStored(func() []Stored { return []Stored{{"", "pods", 7, 1_000_000_000_000_042}} })
	m.Waited("system", "system-nodes", false, time.Second)
	m.Executed("system", "system-nodes", true, time.Second)
	m.ReadFlows(func() []fairqueuing.LevelState {
		return []fairqueuing.LevelState{{Name: "system", Quota: fairqueuing.Quota{Nominal: 74, Least: 50, Most: 674, High: 3, Average: 1.5}, Limit: 60,
			Flows: []fairqueuing.FlowCounts{{Name: "system-nodes", Waiting: 4, Executing: 3, Seats: 5, Dispatched: 9, Rejected: map[fairqueuing.Refused]int{fairqueuing.QueueFull: 2}}}}}
	})
	return m
}

// text returns the lines of the metrics whose names begin so, without buckets.
func text(t *testing.T, m *Metrics, begin string) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	assert.Equal(t, "text/plain; version=0.0.4; charset=utf-8; escaping=underscores", recorder.Header().Get("Content-Type"), "as of today's server")
	var lines []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, begin) && !strings.Contains(line, "_bucket{") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// description describes a metric.
type description struct {
	Name, Type string
	Labels     []string
	Buckets    []float64 // of a histogram
}

// described returns what is served of metrics that have been seen, without those of Go and of the process.
func described(t *testing.T, m *Metrics) (all []description) {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		d := description{Name: family.GetName(), Type: strings.ToLower(family.GetType().String())}
		if strings.HasPrefix(d.Name, "go_") || strings.HasPrefix(d.Name, "process_") {
			continue
		}
		for _, label := range family.GetMetric()[0].GetLabel() {
			d.Labels = append(d.Labels, label.GetName())
		}
		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			d.Buckets = append(d.Buckets, bucket.GetUpperBound())
		}
		all = append(all, d)
	}
	return all
}

// names returns the names of all metrics, even of those without a value.
func names(m *Metrics) (all []string) {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		m.registry.Describe(descs)
	}()
	for desc := range descs {
		name := strings.Split(desc.String(), `"`)[1]
		if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			all = append(all, name)
		}
	}
	return all
}

// kubeAPIServer returns the metrics of today's server as it was asked for them: a line each of
// name, type, labels and buckets.
func kubeAPIServer(t *testing.T) map[string]description {
	file, err := os.ReadFile("testdata/kube-apiserver.txt")
	require.NoError(t, err)
	all := map[string]description{}
	for line := range strings.Lines(string(file)) {
		fields := strings.Fields(line)
		d := description{Name: fields[0], Type: fields[1]}
		if fields[2] != "-" {
			d.Labels = strings.Split(fields[2], ",")
		}
		if len(fields) > 3 {
			for bucket := range strings.SplitSeq(fields[3], ",") {
				value, err := strconv.ParseFloat(bucket, 64)
				require.NoError(t, err)
				d.Buckets = append(d.Buckets, value)
			}
		}
		all[d.Name] = d
	}
	return all
}

func TestAMetricIsAsTodaysServerHasItOrBeginsWithKube2014(t *testing.T) {
	t.Parallel()
	todays := kubeAPIServer(t)
	for _, own := range described(t, seen()) {
		theirs, ok := todays[own.Name]
		if !ok {
			assert.True(t, strings.HasPrefix(own.Name, "kube2014_"), own.Name)
			continue
		}
		assert.Equal(t, theirs.Type, own.Type, own.Name)
		assert.ElementsMatch(t, theirs.Labels, own.Labels, own.Name)
		assert.Equal(t, theirs.Buckets, own.Buckets, own.Name)
	}
}

// Nothing else documents the metrics.
func TestEachMetricIsServedWithASentenceOfHelp(t *testing.T) {
	t.Parallel()
	m := seen()
	var served []string
	for _, d := range described(t, m) {
		served = append(served, d.Name)
		help := text(t, m, "# HELP "+d.Name+" ")
		assert.Regexp(t, `^# HELP `+d.Name+` [A-Z].* .*\.\n$`, help, "a sentence")
	}
	assert.ElementsMatch(t, names(m), served)
}

// The names of today's server were given before promtool had rules.
func TestPromtoolHasNothingToSayButAboutTodaysNames(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(seen().registry)
	require.NoError(t, err)
	var complaints []string
	for _, problem := range problems {
		complaints = append(complaints, problem.Metric+": "+problem.Text)
	}
	assert.ElementsMatch(t, []string{
		`apiserver_admission_webhook_fail_open_count: non-histogram and non-summary metrics should not have "_count" suffix`,
		`apiserver_admission_webhook_fail_open_count: counter metrics should have "_total" suffix`,
		`apiserver_admission_webhook_rejection_count: non-histogram and non-summary metrics should not have "_count" suffix`,
		`apiserver_admission_webhook_rejection_count: counter metrics should have "_total" suffix`,
		`authentication_attempts: counter metrics should have "_total" suffix`,
	}, complaints)
}

func TestServersShareNoNumbers(t *testing.T) {
	t.Parallel()
	a, b := seen(), New(version.Info{})
	assert.Contains(t, text(t, a, "apiserver_request_total"), "} 1\n")
	assert.Empty(t, text(t, b, "apiserver_request_total"))
}

func TestWhatIsReadIsAsOfNow(t *testing.T) {
	t.Parallel()
	m := seen()
	assert.Equal(t, `apiserver_current_inflight_requests{request_kind="mutating"} 2
apiserver_current_inflight_requests{request_kind="readOnly"} 3
`, text(t, m, "apiserver_current"))
	assert.Equal(t, "apiserver_resource_objects{group=\"\",resource=\"pods\"} 7\n", text(t, m, "apiserver_resource_objects"))
	assert.Equal(t, "apiserver_watch_cache_resource_version{group=\"\",resource=\"pods\"} 42\n", text(t, m, "apiserver_watch_cache"), "the last 15 digits")
}

func TestALongRunningRequestCountsUntilItEnds(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	ended := m.LongRunning(Labels{resource: other, component: component, verb: "WATCH", scope: "cluster"})
	line := `apiserver_longrunning_requests{component="apiserver",group="",resource="other",scope="cluster",subresource="",verb="WATCH",version=""} `
	assert.Equal(t, line+"1\n", text(t, m, "apiserver_longrunning"))
	ended()
	assert.Equal(t, line+"0\n", text(t, m, "apiserver_longrunning"))
}

func TestTheSizeOfAnAnswerCountsIfItWasRead(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	m.Answered(Labels{resource: other, component: component, verb: "POST", scope: "resource"}, 201, 1000, time.Second)
	assert.Empty(t, text(t, m, "apiserver_response_sizes"))
	m.Answered(Labels{resource: other, component: component, verb: "LIST", scope: "resource"}, 200, 1000, time.Second)
	assert.Contains(t, text(t, m, "apiserver_response_sizes_sum"), "} 1000\n")
}

func TestWhatTheServerEndsToProtectItselfIsATermination(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	for _, status := range []int{200, 403, 429, 500, 503, 504, 504} {
		m.Answered(Labels{resource: other, component: component, verb: "GET", scope: "resource"}, status, 0, 0)
	}
	const labels = `component="apiserver",group="",resource="other",scope="resource",subresource="",verb="GET",version=""} `
	assert.Equal(t, `apiserver_request_terminations_total{code="429",`+labels+`1
apiserver_request_terminations_total{code="504",`+labels+`2
`, text(t, m, "apiserver_request_terminations"))
}

func TestAPluginIsTimedAndItsErrorStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, refused := New(version.Info{}), errors.New("refused")
		call := admission.Call{Plugin: "A", Step: admission.Validate, Attributes: &admission.Attributes{Operation: admission.Update}}
		err := m.Admission(call, func() error {
			time.Sleep(2 * time.Second)
			return refused
		})
		assert.Equal(t, refused, err)
		require.NoError(t, m.Admission(call, func() error { return nil }))
		assert.Equal(t, `apiserver_admission_controller_admission_duration_seconds_sum{name="A",operation="UPDATE",rejected="false",type="validate"} 0
apiserver_admission_controller_admission_duration_seconds_count{name="A",operation="UPDATE",rejected="false",type="validate"} 1
apiserver_admission_controller_admission_duration_seconds_sum{name="A",operation="UPDATE",rejected="true",type="validate"} 2
apiserver_admission_controller_admission_duration_seconds_count{name="A",operation="UPDATE",rejected="true",type="validate"} 1
`, text(t, m, "apiserver_admission"))
	})
}

func TestAWebhookThatRefusesAndOneThatFails(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	m.Webhook(WebhookCall{Name: "a", Type: "admit", Operation: admission.Create, Took: time.Second, Code: 200})
	m.Webhook(WebhookCall{Name: "a", Type: "admit", Operation: admission.Create, Took: time.Second, Rejected: true, ErrorType: "no_error", Code: 40300})
	m.Webhook(WebhookCall{Name: "b", Type: "validating", Operation: admission.Delete, Took: time.Second, FailOpen: true, Code: 503})
	assert.Equal(t, `apiserver_admission_webhook_request_total{code="200",name="a",operation="CREATE",rejected="false",type="admit"} 1
apiserver_admission_webhook_request_total{code="503",name="b",operation="DELETE",rejected="false",type="validating"} 1
apiserver_admission_webhook_request_total{code="600",name="a",operation="CREATE",rejected="true",type="admit"} 1
`, text(t, m, "apiserver_admission_webhook_request_total"), "a webhook chooses its code")
	assert.Equal(t, `apiserver_admission_webhook_rejection_count{error_type="no_error",name="a",operation="CREATE",rejection_code="600",type="admit"} 1
`, text(t, m, "apiserver_admission_webhook_rejection"))
	assert.Equal(t, "apiserver_admission_webhook_fail_open_count{name=\"b\",type=\"validating\"} 1\n", text(t, m, "apiserver_admission_webhook_fail_open"))
	assert.Equal(t, 3, strings.Count(text(t, m, "apiserver_admission_webhook_admission_duration_seconds_count"), "} 1\n"))
}

func TestWhatIsAuditedIsCountedByLevelEventAndLoss(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	audit := m.Audit()
	for _, level := range []string{"None", "Metadata", "Metadata", "Verbose"} {
		audit.Level(level)
	}
	audit.Event()
	audit.Error()
	assert.Equal(t, `apiserver_audit_error_total{plugin="log"} 1
apiserver_audit_event_total 1
apiserver_audit_level_total{level="Metadata"} 2
apiserver_audit_level_total{level="None"} 1
apiserver_audit_level_total{level="other"} 1
`, text(t, m, "apiserver_audit"))
}

func TestWhoIsKnownIsCountedAndPassedOn(t *testing.T) {
	t.Parallel()
	m, wrong := New(version.Info{}), errors.New("wrong")
	ann := &user.Info{Name: "ann"}
	users := m.Authenticator(authenticator.RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
		switch req.URL.Path {
		case "/ann":
			return ann, true, nil
		case "/wrong":
			return nil, false, wrong
		}
		return nil, false, nil
	}))
	for path, want := range map[string]error{"/ann": nil, "/wrong": wrong, "/nobody": nil} {
		who, ok, err := users.AuthenticateRequest(httptest.NewRequest("GET", path, nil))
		assert.Equal(t, want, err)
		assert.Equal(t, path == "/ann", ok)
		assert.Equal(t, path == "/ann", who == ann)
	}
	assert.Equal(t, `authentication_attempts{result="error"} 1
authentication_attempts{result="failure"} 1
authentication_attempts{result="success"} 1
`, text(t, m, "authentication_"))
	assert.Nil(t, m.Authenticator(nil))
}

// decides decides as a verb says.
type decides struct{}

func (decides) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch a.Verb {
	case "allow":
		return authorizer.Allow, "why", nil
	case "deny":
		return authorizer.Deny, "why", nil
	case "fail":
		return authorizer.NoOpinion, "why", errors.New("failed")
	}
	return authorizer.NoOpinion, "why", nil
}

func TestWhatIsDecidedIsCountedAndPassedOn(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	rights := m.Authorizer(decides{})
	for _, verb := range []string{"allow", "deny", "fail", "", ""} {
		wanted, _, wantedErr := decides{}.Authorize(t.Context(), authorizer.Attributes{Verb: verb})
		decision, reason, err := rights.Authorize(t.Context(), authorizer.Attributes{Verb: verb})
		assert.Equal(t, wanted, decision)
		assert.Equal(t, "why", reason)
		assert.Equal(t, wantedErr, err)
	}
	assert.Equal(t, `authorization_attempts_total{result="allowed"} 1
authorization_attempts_total{result="denied"} 1
authorization_attempts_total{result="error"} 1
authorization_attempts_total{result="no-opinion"} 2
`, text(t, m, "authorization_"))
	assert.Nil(t, m.Authorizer(nil))
}

func TestCallsToEtcdAreCountedByOperationAndResource(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	m.StoreCalled(StoreCall{"get", "", "pods"}, 2*time.Second, false)
	m.StoreCalled(StoreCall{"get", "", "pods"}, 2*time.Second, true)
	assert.Equal(t, `etcd_request_duration_seconds_sum{group="",operation="get",resource="pods"} 4
etcd_request_duration_seconds_count{group="",operation="get",resource="pods"} 2
etcd_request_errors_total{group="",operation="get",resource="pods"} 1
etcd_requests_total{group="",operation="get",resource="pods"} 2
`, text(t, m, "etcd_"))
}

func TestAnEndpointSyncIsTimedAndItsErrorStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, failed := New(version.Info{}), errors.New("failed")
		results := []error{nil, failed}
		sync := m.EndpointSync(func() error {
			time.Sleep(time.Second)
			err := results[0]
			results = results[1:]
			return err
		})
		assert.NoError(t, sync())
		assert.Equal(t, failed, sync())
		assert.Equal(t, `kube2014_endpoints_sync_duration_seconds_sum 2
kube2014_endpoints_sync_duration_seconds_count 2
kube2014_endpoints_sync_errors_total 1
`, text(t, m, "kube2014_endpoints"))
	})
}

func TestAHandleIsResolvedOnceHoweverManyWantIt(t *testing.T) {
	t.Parallel()
	var resolved sync.Map
	h := makeHandles(func(key int) *int {
		_, again := resolved.LoadOrStore(key, true)
		assert.False(t, again, "%d", key)
		return &key
	})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for key := range 100 {
				assert.Equal(t, key, *h.of(key))
			}
		})
	}
	wait.Wait()
}

func TestLevelsTellTheirSeatsAndFlowsTheirRequests(t *testing.T) {
	t.Parallel()
	m := seen()
	const of, schema = `{priority_level="system"} `, `{flow_schema="system-nodes",priority_level="system"} `
	for name, want := range map[string]string{
		"nominal_limit_seats": of + "74", "lower_limit_seats": of + "50", "upper_limit_seats": of + "674", "current_limit_seats": of + "60",
		"demand_seats_high_watermark": of + "3", "demand_seats_average": of + "1.5",
		"dispatched_requests_total": schema + "9", "current_inqueue_requests": schema + "4", "current_executing_requests": schema + "3", "current_executing_seats": schema + "5",
		"rejected_requests_total":             `{flow_schema="system-nodes",priority_level="system",reason="queue-full"} 2`,
		"request_wait_duration_seconds_count": `{execute="false",flow_schema="system-nodes",priority_level="system"} 1`,
		"request_execution_seconds_sum":       `{flow_schema="system-nodes",priority_level="system",type="watch"} 1`,
	} {
		assert.Equal(t, "apiserver_flowcontrol_"+name+want+"\n", text(t, m, "apiserver_flowcontrol_"+name))
	}
}
