package versions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
