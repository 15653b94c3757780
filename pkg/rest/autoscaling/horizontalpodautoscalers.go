package autoscaling

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/rest/generic"
)

var horizontalpodautoscalers = generic.Kind[*autoscalingv2.HorizontalPodAutoscaler]{
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
	Rules: func(c *check.Errors, now, old *autoscalingv2.HorizontalPodAutoscaler) {
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
	StatusRules: func(c *check.Errors, now, _ *autoscalingv2.HorizontalPodAutoscaler) {
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
