package autoscaling

import (
	"maps"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// metric checks one metric of an autoscaler: the source of its type, and that there is no other.
func metric(c *check.Errors, spec *autoscalingv2.MetricSpec, at *field.Path) {
	const eitherValue, eitherUse = "must set either a target value or averageValue", "must set either a target raw value or a target utilization"
	sources := map[autoscalingv2.MetricSourceType]string{autoscalingv2.ObjectMetricSourceType: "object", autoscalingv2.PodsMetricSourceType: "pods",
		autoscalingv2.ResourceMetricSourceType: "resource", autoscalingv2.ExternalMetricSourceType: "external",
		autoscalingv2.ContainerResourceMetricSourceType: "containerResource"}
	present := map[string]bool{"object": spec.Object != nil, "pods": spec.Pods != nil, "resource": spec.Resource != nil,
		"external": spec.External != nil, "containerResource": spec.ContainerResource != nil}
	own, known := sources[spec.Type]
	c.RequiredIf(spec.Type == "", at.Child("type"), "must specify a metric source type")
	if !known {
		c.Add(field.NotSupported(at.Child("type"), spec.Type, check.SortedKeys(sources)))
	}
	if source, at := spec.Object, at.Child("object"); source != nil {
		segment(c, source.DescribedObject.Kind, "", at.Child("describedObject", "kind"))
		segment(c, source.DescribedObject.Name, "", at.Child("describedObject", "name"))
		segment(c, source.Metric.Name, "must specify a metric name", at.Child("metric", "name"))
		target(c, &source.Target, at.Child("target"))
		c.RequiredIf(source.Target.Value == nil && source.Target.AverageValue == nil, at.Child("target", "averageValue"), eitherValue)
	}
	if source, at := spec.External, at.Child("external"); source != nil {
		segment(c, source.Metric.Name, "must specify a metric name", at.Child("metric", "name"))
		target(c, &source.Target, at.Child("target"))
		c.RequiredIf(source.Target.Value == nil && source.Target.AverageValue == nil, at.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target")
		c.Forbid(source.Target.Value != nil && source.Target.AverageValue != nil, at.Child("target", "value"), "may not set both a target value for metric and a per-pod target")
	}
	if source, at := spec.Pods, at.Child("pods"); source != nil {
		segment(c, source.Metric.Name, "must specify a metric name", at.Child("metric", "name"))
		target(c, &source.Target, at.Child("target"))
		c.RequiredIf(source.Target.AverageValue == nil, at.Child("target", "averageValue"), "must specify a positive target averageValue")
	}
	use := func(name string, of *autoscalingv2.MetricTarget, at *field.Path) {
		c.RequiredIf(name == "", at.Child("name"), "must specify a resource name")
		target(c, of, at.Child("target"))
		c.RequiredIf(of.AverageUtilization == nil && of.AverageValue == nil, at.Child("target", "averageUtilization"), eitherUse)
		c.Forbid(of.AverageUtilization != nil && of.AverageValue != nil, at.Child("target", "averageValue"), "may not set both a target raw value and a target utilization")
	}
	if source := spec.Resource; source != nil {
		use(string(source.Name), &source.Target, at.Child("resource"))
	}
	if source := spec.ContainerResource; source != nil {
		c.RequiredIf(source.Container == "", at.Child("containerResource", "container"), "must specify a container")
		use(string(source.Name), &source.Target, at.Child("containerResource"))
	}
	c.RequiredIf(known && !present[own], at.Child(own), "must populate information for the given metric source")
	maps.DeleteFunc(present, func(_ string, isPresent bool) bool { return !isPresent })
	for _, name := range check.SortedKeys(present) {
		c.Forbid(len(present) > 1 && name != own, at.Child(name), "must populate the given metric source only")
	}
}

func target(c *check.Errors, of *autoscalingv2.MetricTarget, at *field.Path) {
	c.RequiredIf(of.Type == "", at.Child("type"), "must specify a metric target type")
	switch of.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		c.Add(field.Invalid(at.Child("type"), of.Type, "must be either Utilization, Value, or AverageValue"))
	}
	c.InvalidIf(of.Value != nil && of.Value.Sign() != 1, at.Child("value"), of.Value, "must be positive")
	c.InvalidIf(of.AverageValue != nil && of.AverageValue.Sign() != 1, at.Child("averageValue"), of.AverageValue, "must be positive")
	c.InvalidIf(of.AverageUtilization != nil && *of.AverageUtilization < 1, at.Child("averageUtilization"), of.AverageUtilization, "must be greater than 0")
}
