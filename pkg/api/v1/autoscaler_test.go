package v1

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	autoscalerV1 = NewCodec(autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), "horizontalpodautoscalers", Scheme)
	autoscalerV2 = codecOf("HorizontalPodAutoscaler")
)

func TestAKindIsStoredInOneOfItsVersions(t *testing.T) {
	t.Parallel()
	v2 := autoscalerV2.Kind
	assert.Equal(t, v2, StoredAs(autoscalerV1.Kind, Scheme))
	assert.Equal(t, v2, StoredAs(v2, Scheme))
	pod := corev1.SchemeGroupVersion.WithKind("Pod")
	assert.Equal(t, pod, StoredAs(pod, Scheme))
	unknown := schema.GroupVersionKind{Kind: "Unknown"}
	assert.Equal(t, unknown, StoredAs(unknown, Scheme))

	_, err := ToStored(&corev1.Pod{})
	require.EqualError(t, err, "no kind is registered for the type v1.Pod")
	_, err = FromStored(&autoscalingv2.HorizontalPodAutoscaler{}, schema.GroupVersion{Group: "autoscaling", Version: "v7"})
	require.EqualError(t, err, `no kind "HorizontalPodAutoscaler" is registered for version "autoscaling/v7"`)
}

// makeAutoscaler returns an object of v2. A target for the CPU is the last of its metrics: their order does not matter, and
// v1 has another one.
func makeAutoscaler(t testing.TB, seed int64) *autoscalingv2.HorizontalPodAutoscaler {
	v2 := makeV1(t, "HorizontalPodAutoscaler", seed).(*autoscalingv2.HorizontalPodAutoscaler)
	v2.Annotations = withoutV2(v2.Annotations)
	v2.Spec.Metrics = slices.DeleteFunc(v2.Spec.Metrics, isCPUUtilization)
	if len(v2.Status.CurrentMetrics) == 0 {
		v2.Status.CurrentMetrics = nil // null in JSON, which v1 does not tell from none
	}
	if seed%2 == 0 {
		v2.Spec.Metrics = append(v2.Spec.Metrics, cpuUtilization(new(int32(seed))))
	}
	return v2
}

func FuzzAnAutoscalerThatIsPutInV1IsKeptWhole(f *testing.F) {
	for seed := range int64(4 * seeds) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		v2 := makeAutoscaler(t, seed)
		stored, err := autoscalerV2.In(v2)
		require.NoError(t, err)
		v1, err := autoscalerV1.Out(stored)
		require.NoError(t, err)
		sent := autoscalerV1.New()
		require.NoError(t, json.Unmarshal([]byte(encode(t, v1)), sent))
		before := sent.DeepCopyObject()
		put, err := autoscalerV1.In(sent)
		require.NoError(t, err)
		assert.Equal(t, before, sent, "conversion changed its input")
		back, err := autoscalerV2.Out(put)
		require.NoError(t, err)
		requireSameJSON(t, v2, back)
	})
}

// K93. What kube-apiserver 1.36.3 shows in v1 of the metrics of v2, and what it makes of the same.
func TestTheMetricsOfV2AreAnnotationsOfV1(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ v1, v2 string }{
		"a resource":   {`{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":70}}`, `{"type":"Resource","resource":{"name":"memory","target":{"type":"Utilization","averageUtilization":70}}}`},
		"a container":  {`{"type":"ContainerResource","containerResource":{"name":"cpu","targetAverageValue":"1","container":"c"}}`, `{"type":"ContainerResource","containerResource":{"name":"cpu","container":"c","target":{"type":"AverageValue","averageValue":"1"}}}`},
		"pods":         {`{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"2"}}`, `{"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"2"}}}`},
		"an object":    {`{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"3"}}`, `{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},"target":{"type":"Value","value":"3"}}}`},
		"its average":  {`{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m","targetValue":"0","averageValue":"3"}}`, `{"type":"Object","object":{"describedObject":{"kind":"Service","name":"s"},"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"3"}}}`},
		"an outer one": {`{"type":"External","external":{"metricName":"m","metricSelector":{"matchLabels":{"a":"b"}},"targetValue":"4"}}`, `{"type":"External","external":{"metric":{"name":"m","selector":{"matchLabels":{"a":"b"}}},"target":{"type":"Value","value":"4"}}}`},
	} {
		var want autoscalingv2.MetricSpec
		require.NoError(t, json.Unmarshal([]byte(row.v2), &want), name)
		assert.Equal(t, []autoscalingv2.MetricSpec{want}, metricsIn[autoscalingv2.MetricSpec]("["+row.v1+"]", "target"), name)
	}
}

func TestAnnotationsThatSayNothingAreIgnored(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "7", "null", "[null", `{"a":7}`, `[{"resource":{"name":7}}]`} {
		v1 := autoscalingv1.HorizontalPodAutoscaler{}
		v1.Annotations = map[string]string{metricsAnnotation: text, measuredAnnotation: text, conditionsAnnotation: "7", behaviorAnnotation: "[]", "a": "b"}
		v2, err := inAutoscaler(v1)
		require.NoError(t, err)
		assert.Equal(t, autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "b"}}}, v2, text)
	}
}
