// Package autoscaling has what scales others.
package autoscaling

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var row = rest.InNamespaces(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", "horizontalpodautoscalers", printers.HorizontalPodAutoscalers, "hpa").In("all")

// Resources returns the table of the group. The preferred version, in which the objects are stored, comes first.
func Resources(b rest.Base) []rest.Resource {
	old := row
	old.GroupVersion = autoscalingv1.SchemeGroupVersion
	old.Kind = old.GroupVersion.WithKind(row.Kind.Kind)
	return slices.Concat(horizontalpodautoscalers.Rows(b), generic.RowsIn[*autoscalingv1.HorizontalPodAutoscaler](old, horizontalpodautoscalers, b))
}

var horizontalpodautoscalers = generic.Resource[*autoscalingv2.HorizontalPodAutoscaler]{
	Row: row,
	Default: func(o *autoscalingv2.HorizontalPodAutoscaler) {
		spec := &o.Spec
		spec.MinReplicas = cmp.Or(spec.MinReplicas, new(int32(1)))
		if len(spec.Metrics) == 0 {
			spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))}}}}
		}
		if spec.Behavior != nil {
			all := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}
			few := autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15}
			spec.Behavior.ScaleUp = defaultRules(spec.Behavior.ScaleUp, few, all)
			spec.Behavior.ScaleUp.StabilizationWindowSeconds = cmp.Or(spec.Behavior.ScaleUp.StabilizationWindowSeconds, new(int32(0)))
			spec.Behavior.ScaleDown = defaultRules(spec.Behavior.ScaleDown, all)
		}
	},
	Validate: func(c *check.Errors, now, old *autoscalingv2.HorizontalPodAutoscaler) {
		spec, at, least := &now.Spec, field.NewPath("spec"), int32(1)
		if old != nil && old.Spec.MinReplicas != nil && *old.Spec.MinReplicas == 0 {
			least = 0
		}
		if spec.MinReplicas != nil {
			c.InvalidIf(*spec.MinReplicas < least, at.Child("minReplicas"), *spec.MinReplicas, fmt.Sprintf("must be greater than or equal to %d", least))
		}
		c.RequiredIf(spec.MaxReplicas == 0, at.Child("maxReplicas"), "must be set and greater than 0")
		c.InvalidIf(spec.MaxReplicas < 0, at.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to 1")
		c.InvalidIf(spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas, at.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`")
		reference(c, spec.ScaleTargetRef, at.Child("scaleTargetRef"))
		for i := range spec.Metrics {
			metric(c, &spec.Metrics[i], at.Child("metrics").Index(i))
		}
		c.Forbid(spec.MinReplicas != nil && *spec.MinReplicas == 0 && !slices.ContainsFunc(spec.Metrics, isOuter), at.Child("metrics"),
			"must specify at least one Object or External metric to support scaling to zero replicas")
		if spec.Behavior != nil {
			scalingRules(c, spec.Behavior.ScaleUp, at.Child("behavior", "scaleUp"))
			scalingRules(c, spec.Behavior.ScaleDown, at.Child("behavior", "scaleDown"))
		}
	},
	ValidateStatus: func(c *check.Errors, now, _ *autoscalingv2.HorizontalPodAutoscaler) {
	},
}

// isOuter reports whether a metric can be measured while there are no pods.
func isOuter(metric autoscalingv2.MetricSpec) bool {
	return metric.Type == autoscalingv2.ObjectMetricSourceType || metric.Type == autoscalingv2.ExternalMetricSourceType
}

func defaultRules(rules *autoscalingv2.HPAScalingRules, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
	rules = cmp.Or(rules, &autoscalingv2.HPAScalingRules{})
	rules.SelectPolicy = cmp.Or(rules.SelectPolicy, new(autoscalingv2.MaxChangePolicySelect))
	if rules.Policies == nil {
		rules.Policies = policies
	}
	return rules
}

func reference(c *check.Errors, to autoscalingv2.CrossVersionObjectReference, at *field.Path) {
	segment(c, to.Kind, "", at.Child("kind"))
	segment(c, to.Name, "", at.Child("name"))
	version, err := schema.ParseGroupVersion(to.APIVersion)
	if err == nil && version.Group == "" {
		err = errors.New("apiVersion must specify API group")
	}
	if err != nil && (to.APIVersion != "v1" || to.Kind != "ReplicationController") {
		c.Add(field.Invalid(at.Child("apiVersion"), to.APIVersion, err.Error()))
	}
}

func segment(c *check.Errors, name, missing string, at *field.Path) {
	c.RequiredIf(name == "", at, missing)
	c.Each(at, name, path.IsValidPathSegmentName(name))
}

const maxStabilization, maxPeriod = 3600, 1800 // seconds

func scalingRules(c *check.Errors, rules *autoscalingv2.HPAScalingRules, at *field.Path) {
	if rules == nil {
		return
	}
	if window := rules.StabilizationWindowSeconds; window != nil {
		c.InvalidIf(*window < 0, at.Child("stabilizationWindowSeconds"), *window, "must be greater than or equal to zero")
		c.InvalidIf(*window > maxStabilization, at.Child("stabilizationWindowSeconds"), *window, fmt.Sprintf("must be less than or equal to %d", maxStabilization))
	}
	c.Some(at.Child("policies"), len(rules.Policies), "must specify at least one Policy")
	for i, policy := range rules.Policies {
		at := at.Child("policies").Index(i)
		c.InvalidIf(policy.PeriodSeconds > maxPeriod, at.Child("periodSeconds"), policy.PeriodSeconds, fmt.Sprintf("must be less than or equal to %d", maxPeriod))
	}
	if rules.Tolerance != nil {
		c.InvalidIf(rules.Tolerance.Sign() < 0, at.Child("tolerance"), rules.Tolerance.String(), "must be greater than or equal to 0")
	}
}

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
