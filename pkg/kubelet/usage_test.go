package kubelet_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func requests(cpu, memory string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
}

// A second after the kubelet, web-1 is created, whose container runs 0.2 seconds later.
const usageAfterEightSeconds = `# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="log",namespace="default",pod="web-1"} 0.068 946684808000
container_cpu_usage_seconds_total{container="web",namespace="default",pod="web-1"} 3.4 946684808000
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="log",namespace="default",pod="web-1"} 1.048576e+07 946684808000
container_memory_working_set_bytes{container="web",namespace="default",pod="web-1"} 6.7108864e+07 946684808000
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="log",namespace="default",pod="web-1"} 9.466848012e+08
container_start_time_seconds{container="web",namespace="default",pod="web-1"} 9.466848012e+08
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 3.548 946684808000
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 8.8080384e+07 946684808000
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="default",pod="web-1"} 3.468 946684808000
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="default",pod="web-1"} 7.7594624e+07 946684808000
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`

func TestAKubeletTellsWhatItsPodsUseAsTodaysDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1", requests("500m", "64Mi"), func(pod *corev1.Pod) {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "log", Image: "i"})
		}))
		c.create(makePod("late", told("start-after", "1h")))
		c.create(makePod("done", policy(corev1.RestartPolicyNever), requests("1", "1Gi"), told("exit-after", "0s")))
		pass(7 * time.Second)
		assert.Equal(t, usageAfterEightSeconds, c.get200("/metrics/resource"))
		status, _ := c.request(http.MethodPost, "/metrics/resource")
		assert.Equal(t, http.StatusMethodNotAllowed, status)
	})
}

// metric returns the value of a metric without labels.
func (c *cluster) metric(name string) float64 {
	_, after, found := strings.Cut(c.get200("/metrics/resource"), "\n"+name+" ")
	require.True(c.t, found, name)
	value, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	require.NoError(c.t, err)
	return value
}

// Who reads a counter takes a decrease for a new start.
func TestWhatEndedContainersHaveUsedStaysInTheMachinesCPUTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", requests("1", "1Gi"), told("exit-after", "1s"), told("exit-code", "1")))
		c.create(makePod("once", requests("1", "1Gi"), policy(corev1.RestartPolicyNever), told("exit-after", "2s")))
		c.create(makePod("deleted", requests("1", "1Gi")))
		pass(5 * time.Second)
		c.delete("deleted", 0)
		pass(time.Second)
		c.delete("crash", 0)
		c.delete("once", 0)
		pass(time.Second)
		runs, machine := 2*1.0+2+4.8, .01*8
		assert.InDelta(t, runs+machine, c.metric("node_cpu_usage_seconds_total"), 1e-9)
		assert.EqualValues(t, 10<<20, c.metric("node_memory_working_set_bytes"), "nothing runs")
		assert.NotContains(t, c.get200("/metrics/resource"), "pod_cpu")
	})
}

func TestAMachinesCPUTimeNeverDecreases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("crash", requests("1", "1Gi"), told("exit-after", "130ms"), told("exit-code", "1")))
		before := 0.0
		for i := range 300 {
			switch i % 30 {
			case 0:
				c.create(makePod("web-1", requests("1", "1Gi")))
			case 15:
				c.delete("web-1", 0)
			}
			pass(17 * time.Millisecond)
			now := c.metric("node_cpu_usage_seconds_total")
			require.Greater(t, now, before)
			before = now
		}
	})
}
