package versions

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The annotations in which autoscaling/v1 has what only v2 can say. Their JSON is that of kube-apiserver.
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
	measuredAnnotation   = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
)

// withoutV2 returns annotations without those of v2, which are no part of an object of v2.
func withoutV2(annotations map[string]string) map[string]string {
	isV2 := func(name, _ string) bool {
		return slices.Contains([]string{metricsAnnotation, behaviorAnnotation, measuredAnnotation, conditionsAnnotation}, name)
	}
	own := maps.Clone(annotations)
	maps.DeleteFunc(own, isV2)
	return own
}

// inAutoscaler ignores annotations that it cannot read, as kube-apiserver does.
func inAutoscaler(v1 autoscalingv1.HorizontalPodAutoscaler) (autoscalingv2.HorizontalPodAutoscaler, error) {
	said, spec, status := v1.Annotations, v1.Spec, v1.Status
	v2 := autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: v1.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(spec.ScaleTargetRef),
			MinReplicas: spec.MinReplicas, MaxReplicas: spec.MaxReplicas},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{ObservedGeneration: status.ObservedGeneration, LastScaleTime: status.LastScaleTime,
			CurrentReplicas: status.CurrentReplicas, DesiredReplicas: status.DesiredReplicas},
	}
	v2.Annotations = withoutV2(said)
	v2.Spec.Metrics = metricsIn[autoscalingv2.MetricSpec](said[metricsAnnotation], "target")
	if spec.TargetCPUUtilizationPercentage != nil {
		v2.Spec.Metrics = append(v2.Spec.Metrics, cpuUtilization(spec.TargetCPUUtilizationPercentage))
	}
	v2.Spec.Behavior = read[*autoscalingv2.HorizontalPodAutoscalerBehavior](said[behaviorAnnotation])
	v2.Status.Conditions = read[[]autoscalingv2.HorizontalPodAutoscalerCondition](said[conditionsAnnotation])
	v2.Status.CurrentMetrics = metricsIn[autoscalingv2.MetricStatus](said[measuredAnnotation], "current")
	if measured := status.CurrentCPUUtilizationPercentage; measured != nil && v2.Status.CurrentMetrics == nil {
		v2.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricStatus{
			Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: measured}}}}
	}
	return v2, nil
}

// outAutoscaler shows the first target for the CPU as a field, which comes back as the last metric.
func outAutoscaler(v2 autoscalingv2.HorizontalPodAutoscaler) (autoscalingv1.HorizontalPodAutoscaler, error) {
	spec, status := v2.Spec, v2.Status
	v1 := autoscalingv1.HorizontalPodAutoscaler{
		ObjectMeta: v2.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(spec.ScaleTargetRef),
			MinReplicas: spec.MinReplicas, MaxReplicas: spec.MaxReplicas},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{ObservedGeneration: status.ObservedGeneration, LastScaleTime: status.LastScaleTime,
			CurrentReplicas: status.CurrentReplicas, DesiredReplicas: status.DesiredReplicas},
	}
	metrics := slices.Clone(spec.Metrics)
	if i := slices.IndexFunc(metrics, isCPUUtilization); i >= 0 {
		v1.Spec.TargetCPUUtilizationPercentage = metrics[i].Resource.Target.AverageUtilization
		metrics = slices.Delete(metrics, i, i+1)
	}
	for _, metric := range status.CurrentMetrics {
		if resource := metric.Resource; resource != nil && resource.Name == corev1.ResourceCPU && resource.Current.AverageUtilization != nil {
			v1.Status.CurrentCPUUtilizationPercentage = resource.Current.AverageUtilization
		}
	}
	said := map[string]string{}
	maps.Copy(said, withoutV2(v2.Annotations))
	var failed error
	say := func(name string, isSaid bool, value any) {
		if !isSaid {
			return
		}
		text, err := json.Marshal(value)
		said[name], failed = string(text), errors.Join(failed, err)
	}
	say(metricsAnnotation, len(metrics) > 0, metricsOut(metrics, "target"))
	say(behaviorAnnotation, spec.Behavior != nil, spec.Behavior)
	say(measuredAnnotation, len(status.CurrentMetrics) > 0, metricsOut(status.CurrentMetrics, "current"))
	say(conditionsAnnotation, len(status.Conditions) > 0, status.Conditions)
	if v1.Annotations = said; len(said) == 0 {
		v1.Annotations = nil
	}
	return v1, failed
}

func cpuUtilization(percent *int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent}}}
}

func isCPUUtilization(metric autoscalingv2.MetricSpec) bool {
	return metric.Resource != nil && metric.Resource.Target.AverageUtilization != nil &&
		equality.Semantic.DeepEqual(metric, cpuUtilization(metric.Resource.Target.AverageUtilization))
}

// read returns what a text says in JSON, nothing if it is none.
func read[T any](text string) (value T) {
	if json.Unmarshal([]byte(text), &value) != nil {
		return *new(T)
	}
	return value
}

// metricNames are the fields of v1 and their paths in v2, for each source of metrics. The sign % stands for "target" in a
// spec, for "current" in a status. valueNames are those of all sources. The type of a target
// follows from its values; only this server writes targetType if it does not.
var (
	metricNames = map[string][][2]string{
		"resource":          {{"name", "name"}, {"%AverageValue", "%.averageValue"}},
		"containerResource": {{"name", "name"}, {"container", "container"}, {"%AverageValue", "%.averageValue"}},
		"pods":              {{"metricName", "metric.name"}, {"selector", "metric.selector"}, {"%AverageValue", "%.averageValue"}},
		"object":            {{"target", "describedObject"}, {"metricName", "metric.name"}, {"selector", "metric.selector"}, {"averageValue", "%.averageValue"}},
		"external":          {{"metricName", "metric.name"}, {"metricSelector", "metric.selector"}, {"%AverageValue", "%.averageValue"}},
	}
	valueNames = [][2]string{{"%Type", "%.type"}, {"%Value", "%.value"}, {"%AverageUtilization", "%.averageUtilization"}}
)

// metricsOut returns metrics of v2 in the form of v1.
func metricsOut[T any](metrics []T, part string) []map[string]any {
	text, _ := json.Marshal(metrics) // numbers and strings: it cannot fail
	return renamed(read[[]map[string]any](string(text)), func(v2, v1 map[string]any, source string) {
		for _, names := range slices.Concat(metricNames[source], valueNames) {
			if value, there, _ := unstructured.NestedFieldNoCopy(v2, pathOf(names[1], part)...); there {
				v1[strings.Replace(names[0], "%", part, 1)] = value
			}
		}
		if v1["targetType"] == targetType(v1) {
			delete(v1, "targetType")
		}
	})
}

// metricsIn returns metrics of v2 from their form in v1.
func metricsIn[T any](text, part string) []T {
	metrics := renamed(read[[]map[string]any](text), func(v1, v2 map[string]any, source string) {
		if part == "target" && v1["targetType"] == nil {
			v1["targetType"] = targetType(v1)
			if v1["averageValue"] != nil && v1["targetValue"] == "0" { // how v1 says none
				delete(v1, "targetValue")
			}
		}
		for _, names := range slices.Concat(metricNames[source], valueNames) {
			if value, there := v1[strings.Replace(names[0], "%", part, 1)]; there {
				_ = unstructured.SetNestedField(v2, value, pathOf(names[1], part)...) // what was there is only of this function
			}
		}
	})
	if metrics == nil {
		return nil
	}
	inV2, _ := json.Marshal(metrics) // it came from JSON
	return read[[]T](string(inV2))
}

func targetType(v1 map[string]any) string {
	switch {
	case v1["targetAverageUtilization"] != nil:
		return string(autoscalingv2.UtilizationMetricType)
	case v1["targetValue"] != nil && v1["averageValue"] == nil:
		return string(autoscalingv2.ValueMetricType)
	}
	return string(autoscalingv2.AverageValueMetricType)
}

func pathOf(name, part string) []string {
	return strings.Split(strings.Replace(name, "%", part, 1), ".")
}

// renamed returns metrics with the fields of their sources renamed.
func renamed(metrics []map[string]any, rename func(from, to map[string]any, source string)) []map[string]any {
	for _, metric := range metrics {
		for source := range metricNames {
			if from, ok := metric[source].(map[string]any); ok {
				to := map[string]any{}
				rename(from, to, source)
				metric[source] = to
			}
		}
	}
	return metrics
}
