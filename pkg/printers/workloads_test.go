package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
)

func TestAnEmptyWorkloadIsPrinted(t *testing.T) {
	t.Parallel()
	contains(t, map[string]any{"Ready": "0/0", "Up-to-date": int64(0), "Selector": ""}, cells(t, Deployments, &appsv1.Deployment{}))
	contains(t, map[string]any{"Desired": int64(0), "Selector": "<none>"}, cells(t, ReplicaSets, &appsv1.ReplicaSet{}))
	contains(t, map[string]any{"Ready": "0/0", "Images": ""}, cells(t, StatefulSets, &appsv1.StatefulSet{}))
	contains(t, map[string]any{"Node Selector": "<none>", "Available": int64(0)}, cells(t, DaemonSets, &appsv1.DaemonSet{}))
	contains(t, map[string]any{"Controller": "<none>", "Revision": int64(0)}, cells(t, ControllerRevisions, &appsv1.ControllerRevision{}))
	contains(t, map[string]any{"Status": "Running", "Completions": "0/1", "Duration": ""}, cells(t, Jobs, &batchv1.Job{}))
	contains(t, map[string]any{"Suspend": "<unset>", "Last Schedule": "<none>", "Timezone": "<none>"}, cells(t, CronJobs, &batchv1.CronJob{}))
	contains(t, map[string]any{"Targets": "<none>", "MinPods": "<unset>"}, cells(t, HorizontalPodAutoscalers, &autoscalingv2.HorizontalPodAutoscaler{}))
}

func TestARevisionNamesItsController(t *testing.T) {
	t.Parallel()
	revision := object(t, &appsv1.ControllerRevision{}, `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet","name":"d","controller":true}]},"revision":3}`)
	contains(t, map[string]any{"Controller": "daemonset.apps/d", "Revision": int64(3)}, cells(t, ControllerRevisions, revision))
}

func TestAJobTellsHowItIs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[string]any{
		`{"spec":{"completions":3},"status":{"succeeded":2,"startTime":"2026-06-06T12:00:00Z","completionTime":"2026-06-06T12:00:07Z"}}`:            {"Completions": "2/3", "Duration": "7s"},
		`{"spec":{"parallelism":4},"status":{"succeeded":2}}`:                                                                                       {"Completions": "2/1 of 4"},
		`{"status":{"conditions":[{"type":"Failed","status":"True"},{"type":"FailureTarget","status":"True"}]}}`:                                    {"Status": "Failed"},
		`{"metadata":{"deletionTimestamp":"2026-06-06T12:00:00Z"},"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`:                  {"Status": "Terminating"},
		`{"status":{"conditions":[{"type":"Complete","status":"False"},{"type":"Complete","status":"True"},{"type":"Suspended","status":"True"}]}}`: {"Status": "Suspended"},
	} {
		contains(t, want, cells(t, Jobs, object(t, &batchv1.Job{}, text)))
	}
}

func TestAnAutoscalerTellsWhatIsMeasuredAndWanted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"spec":{"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":50}}}]},"status":{"currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":7}}}]}}`: "cpu: 7%/50%",
		`{"spec":{"metrics":[{"type":"Resource","resource":{"name":"memory","target":{"averageValue":"1Gi"}}}]}}`:                                                                                                                "memory: <unknown>/1Gi",
		`{"spec":{"metrics":[{"type":"Pods","pods":{"target":{"averageValue":"3"}}},{"type":"External","external":{"target":{"averageValue":"4"}}},{"type":"Foo"}]}}`:                                                            "<unknown>/3, <unknown>/4 (avg) + 1 more...",
		`{"spec":{"metrics":[{"type":"Object","object":{"target":{"value":"5"}}},{"type":"ContainerResource","containerResource":{"name":"cpu","target":{}}}]}}`:                                                                 "<unknown>/5, cpu: <unknown>/<auto>",
	} {
		assert.Equal(t, want, cells(t, HorizontalPodAutoscalers, object(t, &autoscalingv2.HorizontalPodAutoscaler{}, text))["Targets"])
	}
}
