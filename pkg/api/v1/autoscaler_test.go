package v1

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api/v1/versions"
)

var (
	autoscalerV1 = NewCodec(autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), "horizontalpodautoscalers", Scheme)
	autoscalerV2 = codecOf("HorizontalPodAutoscaler")
)

func TestAKindIsStoredInOneOfItsVersions(t *testing.T) {
	t.Parallel()
	v2 := autoscalerV2.Kind
	assert.Equal(t, v2, versions.StoredAs(autoscalerV1.Kind, Scheme))
	assert.Equal(t, v2, versions.StoredAs(v2, Scheme))
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	assert.Equal(t, pod, versions.StoredAs(pod, Scheme))
	unknown := schema.GroupVersionKind{Kind: "Unknown"}
	assert.Equal(t, unknown, versions.StoredAs(unknown, Scheme))

	_, err := versions.ToStored(&corev1.Pod{})
	require.EqualError(t, err, "no kind is registered for the type v1.Pod")
	_, err = versions.FromStored(&autoscalingv2.HorizontalPodAutoscaler{}, schema.GroupVersion{Group: "autoscaling", Version: "v7"})
	require.EqualError(t, err, `no kind "HorizontalPodAutoscaler" is registered for version "autoscaling/v7"`)
}

// makeAutoscaler returns an object of v2. A target for the CPU is the last of its metrics: their order does not matter, and
// v1 has another one.
func makeAutoscaler(t testing.TB, seed int64) *autoscalingv2.HorizontalPodAutoscaler {
	v2 := makeV1(t, "HorizontalPodAutoscaler", seed).(*autoscalingv2.HorizontalPodAutoscaler)
	maps.DeleteFunc(v2.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, "autoscaling.alpha.kubernetes.io/") })
	v2.Spec.Metrics = slices.DeleteFunc(v2.Spec.Metrics, func(metric autoscalingv2.MetricSpec) bool {
		return metric.Resource != nil && equality.Semantic.DeepEqual(metric, cpuUtilization(metric.Resource.Target.AverageUtilization))
	})
	if len(v2.Status.CurrentMetrics) == 0 {
		v2.Status.CurrentMetrics = nil // null in JSON, which v1 does not tell from none
	}
	if seed%2 == 0 {
		v2.Spec.Metrics = append(v2.Spec.Metrics, cpuUtilization(new(int32(seed))))
	}
	return v2
}

func cpuUtilization(percent *int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent}}}
}

func FuzzAnAutoscalerThatIsPutInV1IsKeptWhole(f *testing.F) {
	for seed := range int64(4 * seeds) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		v2 := makeAutoscaler(t, seed)
		stored, err := autoscalerV2.ToInternal(v2)
		require.NoError(t, err)
		v1, err := autoscalerV1.ToVersioned(stored)
		require.NoError(t, err)
		sent := autoscalerV1.New()
		require.NoError(t, json.Unmarshal([]byte(encode(t, v1)), sent))
		before := sent.DeepCopyObject()
		put, err := autoscalerV1.ToInternal(sent)
		require.NoError(t, err)
		assert.Equal(t, before, sent, "conversion changed its input")
		back, err := autoscalerV2.ToVersioned(put)
		require.NoError(t, err)
		requireSameJSON(t, v2, back)
	})
}

// K93. What kube-apiserver 1.36.3 shows in v1 of the metrics of v2, and what it makes of the same.
