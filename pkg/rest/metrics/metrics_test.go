package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/rest/metrics"
)

const (
	nodes       = "/apis/metrics.k8s.io/v1beta1/nodes"
	allPods     = "/apis/metrics.k8s.io/v1beta1/pods"
	defaultPods = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
)

// kubelets answer requests for a host, each the first time and the second time.
type kubelets struct {
	connect.Kubelets
	answer func(ctx context.Context, host string, again bool) (status int, text string)

	mu      sync.Mutex
	asked   map[string]bool
	now     int // how many are being asked
	most    int
	between time.Duration // between the first and the last request
	first   time.Time
}

func (k *kubelets) At(host string, port uint) (*url.URL, http.RoundTripper) {
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(int(port))), Path: "/"}, k
}

func (k *kubelets) RoundTrip(req *http.Request) (*http.Response, error) {
	if port := req.URL.Port(); req.URL.Path != "/metrics/resource" || port != "10250" && port != "0" {
		return nil, errors.New("not found")
	}
	host := req.URL.Hostname()
	k.mu.Lock()
	if k.asked == nil {
		k.asked, k.first = map[string]bool{}, time.Now()
	}
	again := k.asked[host]
	k.asked[host], k.between, k.now = true, time.Since(k.first), k.now+1
	k.most = max(k.most, k.now)
	k.mu.Unlock()
	status, text := k.answer(req.Context(), host, again)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.now--; status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: req}, nil
}

// one answers for all hosts with the first text, and then with the second one.
func one(first, second string) *kubelets {
	return &kubelets{answer: func(_ context.Context, _ string, again bool) (int, string) {
		return http.StatusOK, map[bool]string{false: first, true: second}[again]
	}}
}

// node returns what a kubelet tells of its node at so many seconds.
func node(seconds int, cpu, memory string) string {
	return fmt.Sprintf("# TYPE node_cpu_usage_seconds_total counter\nnode_cpu_usage_seconds_total %s %d000\n# TYPE node_memory_working_set_bytes gauge\nnode_memory_working_set_bytes %s %[2]d000\n", cpu, seconds, memory)
}

// container returns what a kubelet tells of a container of a pod that is named namespace/pod. Pods have series, too, which are not of interest.
func container(pod, name string, seconds int, cpu, memory, start string) string {
	namespace, pod, _ := strings.Cut(pod, "/")
	of := fmt.Sprintf(`pod=%q,namespace=%q`, pod, namespace)
	return fmt.Sprintf(`pod_cpu_usage_seconds_total{%s} 99 %d000
container_cpu_usage_seconds_total{container=%[3]q,%[1]s} %[4]s %[2]d000
container_memory_working_set_bytes{container=%[3]q,%[1]s} %[5]s %[2]d000
container_start_time_seconds{container=%[3]q,%[1]s} %[6]s
`, of, seconds, name, cpu, memory, start)
}

// cluster is a door to metrics, and to the objects that are measured.
type cluster struct {
	objects
	*endpointstest.Door
}
type objects struct{ core *endpointstest.Door }

// open returns a cluster with so many nodes m1, m2 and so on, at 10.0.0.1 and so on.
func open(t *testing.T, k connect.Kubelets, count int) cluster {
	door := endpointstest.Open(t)
	stores := map[string]metrics.Objects{}
	for _, row := range core.Resources(core.Config{Objects: door.Store, Now: time.Now}) {
		if row.Name == "nodes" || row.Name == "pods" {
			stores[row.Name] = row.Storage.(metrics.Objects)
		}
	}
	other := *door
	other.Server = endpointstest.NewServer(time.Now, metrics.Resources(metrics.Config{Nodes: stores["nodes"], Pods: stores["pods"], Kubelets: k})...)
	c := cluster{objects{door}, &other}
	for i := range count {
		c.node(fmt.Sprint("m", i+1), fmt.Sprint("10.0.0.", i+1), "10250")
	}
	return c
}

func (o objects) node(name, ip, port string) {
	o.core.Must("POST", endpointstest.Nodes, `{"metadata":{"name":"`+name+`","labels":{"is":"`+name+`"}}}`)
	o.core.Patch(endpointstest.Nodes+"/"+name+"/status", endpointstest.MergePatch,
		`{"status":{"addresses":[{"type":"Hostname","address":"x"},{"type":"InternalIP","address":"`+ip+`"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":`+port+`}}}}`)
}

func (o objects) pod(name, on string) {
	namespace, name, _ := strings.Cut(name, "/")
	o.core.Must("POST", "/api/v1/namespaces/"+namespace+"/pods", `{"metadata":{"name":"`+name+`","labels":{"is":"`+name+`"}},"spec":{"nodeName":"`+on+`","containers":[{"name":"c","image":"i"}]}}`)
}

func (c cluster) names(path string) []string {
	names, _ := c.Do("GET", path, "").Names()
	return names
}

// inBubble is a test with time of its own.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

func TestK117TheUsageIsTheDifferenceOfTwoAnswersOfTheKubeletASecondApart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := one(node(100, "3.4", "8.8080384e+07")+container("default/web", "log", 100, "0.1", "1048576", "7")+container("default/web", "a", 100, "0.5", "2097152", "7"),
			node(102, "3.9", "8.4e+07")+container("default/web", "log", 101, "0.12", "1048577", "7")+container("default/web", "a", 102, "0.5000000004", "3145728", "7"))
		c := open(t, k, 1)
		c.pod("default/web", "m1")
		began := time.Now()
		assert.JSONEq(t, `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"resourceVersion":"0"},"items":[{"metadata":{"name":"m1","creationTimestamp":"2000-01-01T00:00:01Z",
			"labels":{"is":"m1"}},"timestamp":"1970-01-01T00:01:42Z","window":"2s","usage":{"cpu":"250m","memory":"84M"}}]}`, strings.ReplaceAll(c.Must("GET", nodes, "").Text, `"84000000"`, `"84M"`))
		assert.Equal(t, time.Second, time.Since(began))
		assert.Equal(t, time.Second, k.between)

		k.asked = nil
		assert.JSONEq(t, `{"kind":"PodMetrics","apiVersion":"metrics.k8s.io/v1beta1","metadata":{"name":"web","namespace":"default","creationTimestamp":"2000-01-01T00:00:02Z",
			"labels":{"is":"web"}},"timestamp":"1970-01-01T00:01:41Z","window":"1s","containers":[
			{"name":"a","usage":{"cpu":"0","memory":"3Mi"}},{"name":"log","usage":{"cpu":"20m","memory":"1048577"}}]}`, c.Must("GET", defaultPods+"/web", "").Text)
	})
}

// What is not known of both answers is left out: a wrong number would be worse.
func TestWhatIsNotMeasuredTwiceIsLeftOut(t *testing.T) {
	t.Parallel()
	web := func(seconds int, cpu, memory, start string) string {
		return container("default/web", "c", seconds, cpu, memory, start)
	}
	type row struct {
		first, second string
		measured      bool
	}
	rows := map[string]row{
		"all is well":                         {web(1, "1", "1", "7"), web(2, "2", "1", "7"), true},
		"it does nothing":                     {web(1, "1", "1", "7"), web(2, "1", "1", "7"), true},
		"a pod came between the answers":      {"", web(2, "2", "1", "7"), false},
		"a pod went between the answers":      {web(1, "1", "1", "7"), "", false},
		"a container came between":            {web(1, "1", "1", "7"), web(2, "2", "1", "7") + container("default/web", "d", 2, "1", "1", "7"), false},
		"a container went between":            {web(1, "1", "1", "7") + container("default/web", "d", 2, "1", "1", "7"), web(2, "2", "1", "7"), true},
		"the counter began again":             {web(1, "2", "1", "7"), web(2, "1", "1", "7"), false},
		"the container began again":           {web(1, "1", "1", "7"), web(2, "2", "1", "8"), false},
		"the kubelet has not measured again":  {web(1, "1", "1", "7"), web(1, "1", "1", "7"), false},
		"the clock went back":                 {web(2, "1", "1", "7"), web(1, "2", "1", "7"), false},
		"the clock went back, it did nothing": {web(2, "1", "1", "7"), web(1, "1", "1", "7"), false},
		"no memory at first":                  {web(1, "1", "0", "7"), web(2, "2", "1", "7"), false},
		"no memory":                           {web(1, "1", "1", "7"), web(2, "2", "0", "7"), false},
		"no processor time yet":               {web(1, "0", "1", "7"), web(2, "2", "1", "7"), false},
		"not a number":                        {web(1, "1", "1", "7"), web(2, "NaN", "1", "7"), false},
		"an infinite number":                  {web(1, "1", "1", "7"), web(2, "+Inf", "1", "7"), false},
		"a huge number":                       {web(1, "1", "1", "7"), web(2, "1e10", "1", "7"), false},
		"a huge memory":                       {web(1, "1", "1", "7"), web(2, "2", "1e19", "7"), false},
		"no number":                           {web(1, "1", "1", "7"), web(2, "two", "1", "7"), false},
		"no metrics":                          {web(1, "1", "1", "7"), "<html>", false},
		"no end":                              {web(1, "1", "1", "7"), strings.TrimSuffix(web(2, "2", "1", "7"), "\n"), false},
		"a text that is too long":             {web(1, "1", "1", "7"), web(2, "2", "1", "7") + strings.Repeat("# a comment\n", 1<<20), false},
		"another namespace's pod":             {container("other/web", "c", 1, "1", "1", "7"), container("other/web", "c", 2, "2", "1", "7"), false},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				k := one(r.first+node(1, "1", "1"), node(2, "2", "1")+r.second)
				c := open(t, k, 1)
				c.pod("default/web", "m1")
				assert.Equal(t, r.measured, len(c.names(allPods)) == 1)
				k.asked = nil
				got := c.Do("GET", defaultPods+"/web", "")
				if r.measured {
					assert.Equal(t, http.StatusOK, got.Status, got.Text)
					return
				}
				assert.Equal(t, `podmetrics.metrics.k8s.io "default/web" not found`, got.Error().Message)
			})
		})
	}
}

func TestAnAnswerWithoutTimesIsOfWhenItCame(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := open(t, one("node_cpu_usage_seconds_total 1\nnode_memory_working_set_bytes 2\n", "node_cpu_usage_seconds_total 1.5\nnode_memory_working_set_bytes 2\n"), 1)
		var got metricsv1beta1.NodeMetrics
		c.Must("GET", nodes+"/m1", "").Into(&got)
		assert.Equal(t, "1s 500m", got.Window.Duration.String()+" "+got.Usage.Cpu().String())
	})
}

func TestANodeWhoseKubeletDoesNotAnswerIsLeftOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := &kubelets{answer: func(ctx context.Context, host string, again bool) (int, string) {
			switch {
			case host == "10.0.0.2" && again:
				return 0, ""
			case host == "10.0.0.3":
				return http.StatusForbidden, node(map[bool]int{false: 1, true: 2}[again], "1", "1")
			case host == "10.0.0.4":
				<-ctx.Done()
				return 0, ""
			case again:
				return http.StatusOK, node(2, "2", "1")
			}
			return http.StatusOK, node(1, "1", "1")
		}}
		c := open(t, k, 4)
		c.node("mute", "10.0.0.9", "0")
		c.node("elsewhere", "10.0.0.9", "10255")
		began := time.Now()
		assert.Equal(t, []string{"m1"}, c.names(nodes))
		assert.Equal(t, 6*time.Second, time.Since(began), "one of them is waited for once")
		for name, message := range map[string]string{"m4": `nodemetrics.metrics.k8s.io "m4" not found`, "mute": `nodemetrics.metrics.k8s.io "mute" not found`, "x": `node "x" not found`} {
			got := c.Do("GET", nodes+"/"+name, "").Error()
			assert.Equal(t, message, got.Message)
			assert.Equal(t, metav1.StatusReasonNotFound, got.Reason)
		}
		assert.Equal(t, `pods "x" not found`, c.Do("GET", defaultPods+"/x", "").Error().Message)
	})
	synctest.Test(t, func(t *testing.T) {
		c := open(t, nil, 1)
		assert.Empty(t, c.names(nodes), "a server without a client of kubelets")
	})
}

func TestAPodIsMeasuredByTheKubeletOfItsNodeOnly(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		both := func(seconds int, cpu string) string {
			return container("default/a", "c", seconds, cpu, "1", "7") + container("default/b", "c", seconds, cpu, "1", "7") + container("other/a", "c", seconds, cpu, "1", "7")
		}
		k := one(both(1, "1"), both(2, "2"))
		c := open(t, k, 3)
		c.core.Must("POST", "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
		c.pod("default/a", "m1")
		c.pod("other/a", "m1")
		c.pod("default/b", "m2")
		c.pod("default/gone", "m9")
		c.pod("default/waits", "")
		ask := func(path string) ([]string, map[string]bool) {
			k.asked = nil
			return c.names(path), k.asked
		}
		m1, m2 := "10.0.0.1", "10.0.0.2"
		for path, want := range map[string]struct {
			names []string
			asked map[string]bool
		}{
			allPods:                               {[]string{"a", "b", "a"}, map[string]bool{m1: true, m2: true}},
			defaultPods:                           {[]string{"a", "b"}, map[string]bool{m1: true, m2: true}},
			defaultPods + "?limit=1":              {[]string{"a", "b"}, map[string]bool{m1: true, m2: true}},
			defaultPods + "?labelSelector=is%3Db": {[]string{"b"}, map[string]bool{m2: true}},
			allPods + "?fieldSelector=metadata.namespace%3Dother": {[]string{"a"}, map[string]bool{m1: true}},
			allPods + "?fieldSelector=metadata.name%3Db":          {[]string{"b"}, map[string]bool{m2: true}},
			defaultPods + "?labelSelector=is%3Dwaits":             {[]string{}, nil},
		} {
			names, asked := ask(path)
			assert.Equal(t, want.names, names, path)
			assert.Equal(t, want.asked, asked, path)
		}
		for _, path := range []string{allPods, nodes} {
			got := c.Do("GET", path+"?fieldSelector=spec.nodeName%3Dm1", "").Error()
			assert.Equal(t, http.StatusBadRequest, int(got.Code))
			assert.Contains(t, got.Message, `"spec.nodeName" is not a known field selector: only "metadata.name", "metadata.namespace"`)
		}
	})
}

func TestNodesAreSelectedByTheirLabelsAndNames(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := one(node(1, "1", "1"), node(2, "2", "1"))
		c := open(t, k, 3)
		for query, want := range map[string][]string{"": {"m1", "m2", "m3"}, "?labelSelector=is+notin+(m2)": {"m1", "m3"}, "?fieldSelector=metadata.name%3Dm3": {"m3"}, "?labelSelector=is%3Dx": {}} {
			k.asked = nil
			assert.Equal(t, want, c.names(nodes+query))
			assert.Len(t, k.asked, len(want))
		}
	})
}

func TestOnlySomeKubeletsAreAskedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := &kubelets{answer: func(_ context.Context, _ string, again bool) (int, string) {
			time.Sleep(time.Second)
			if again {
				return http.StatusOK, node(2, "2", "1")
			}
			return http.StatusOK, node(1, "1", "1")
		}}
		c := open(t, k, 40)
		began := time.Now()
		assert.Len(t, c.names(nodes), 40)
		assert.Equal(t, 16, k.most)
		assert.Equal(t, 7*time.Second, time.Since(began), "three times a second, a second, and three times a second")
	})
}

func TestARequestThatEndsDoesNotWaitForKubelets(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		k := &kubelets{answer: func(ctx context.Context, _ string, _ bool) (int, string) {
			<-ctx.Done()
			return 0, ""
		}}
		c := open(t, k, 1)
		for _, path := range []string{nodes, nodes + "/m1", allPods} {
			if path == allPods {
				c.pod("default/web", "m1")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			began, w := time.Now(), httptest.NewRecorder()
			c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
			cancel()
			assert.Equal(t, http.StatusGatewayTimeout, w.Code, w.Body)
			assert.Equal(t, 2*time.Second, time.Since(began))
		}
	})
}

func TestMetricsHaveTheFormsOfOtherKinds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		text := func(seconds int, cpu string) string {
			return node(seconds, cpu, "67108864") + container("default/web", "a", seconds, cpu, "1048576", "7") + container("default/web", "b", seconds, cpu, "1048576", "7")
		}
		k := one(text(1, "1"), text(2, "1.25"))
		c := open(t, k, 1)
		c.pod("default/web", "m1")
		get := func(path, accept string) string {
			k.asked = nil
			return c.Must("GET", path, "", "Accept", accept).Text
		}
		for path, cells := range map[string][]any{nodes: {"m1", "250m", "64Mi", "1s"}, defaultPods: {"web", "500m", "2Mi", "1s"}} {
			var table metav1.Table
			require.NoError(t, json.Unmarshal([]byte(get(path, endpointstest.Table)), &table))
			assert.Equal(t, cells, table.Rows[0].Cells)
			var columns []string
			for _, column := range table.ColumnDefinitions {
				columns = append(columns, column.Name+" "+column.Type+" "+column.Format+" "+column.Description)
			}
			assert.Equal(t, []string{"Name string name Name of the resource", "cpu string quantity ", "memory string quantity ", "Window string duration "}, columns, "those of metrics-server")
		}
		var unknown runtime.Unknown
		var list metricsv1beta1.PodMetricsList
		require.NoError(t, unknown.Unmarshal([]byte(get(allPods, runtime.ContentTypeProtobuf))[4:]))
		assert.Equal(t, runtime.TypeMeta{Kind: "PodMetricsList", APIVersion: "metrics.k8s.io/v1beta1"}, unknown.TypeMeta)
		require.NoError(t, list.Unmarshal(unknown.Raw))
		assert.Equal(t, "250m", list.Items[0].Containers[1].Usage.Cpu().String())
		assert.Equal(t, "1Mi", list.Items[0].Containers[1].Usage.Memory().String())
	})
}

func TestDiscoveryShowsTheResourcesOfMetricsServer(t *testing.T) {
	t.Parallel()
	rows := metrics.Resources(metrics.Config{})
	read := metav1.Verbs{"get", "list"}
	assert.Equal(t, []metav1.APIResource{{Name: "nodes", Kind: "NodeMetrics", Verbs: read}, {Name: "pods", Namespaced: true, Kind: "PodMetrics", Verbs: read}},
		[]metav1.APIResource{rows[0].APIResource(), rows[1].APIResource()})
	for i := range rows {
		assert.True(t, rows[i].Types().Recognizes(rows[i].Kind))
		assert.Equal(t, "metrics.k8s.io", rows[i].GroupResource().Group)
	}
}
