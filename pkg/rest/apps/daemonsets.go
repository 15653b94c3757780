package apps

import (
	"cmp"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var daemonsets = generic.Kind[*appsv1.DaemonSet]{
	Row:      rest.InNamespaces(group, "DaemonSet", "daemonsets", printers.DaemonSets, "ds").In("all"),
	Counted:  true,
	Warnings: warnings.DaemonSet,
	Prepare:  countTemplates,
	Default: func(o *appsv1.DaemonSet) {
		spec, strategy := &o.Spec, &o.Spec.UpdateStrategy
		spec.RevisionHistoryLimit = cmp.Or(spec.RevisionHistoryLimit, new(int32(10)))
		strategy.Type = cmp.Or(strategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
		if strategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
			strategy.RollingUpdate = cmp.Or(strategy.RollingUpdate, &appsv1.RollingUpdateDaemonSet{})
			strategy.RollingUpdate.MaxUnavailable = cmp.Or(strategy.RollingUpdate.MaxUnavailable, new(intstr.FromInt32(1)))
			strategy.RollingUpdate.MaxSurge = cmp.Or(strategy.RollingUpdate.MaxSurge, new(intstr.FromInt32(0)))
		}
		defaults.PodSpec(&spec.Template.Spec)
	},
	Rules: func(c *check.Errors, now, _ *appsv1.DaemonSet) {
		spec := &now.Spec
		matching(c, spec.Selector, &spec.Template)
		notEmpty(c, spec.Selector, "daemonset")
		validation.PodTemplate(c, &spec.Template, templatePath)
		running(c, &spec.Template.Spec, "DaemonSet")
		daemonStrategy(c, &spec.UpdateStrategy, specPath.Child("updateStrategy"))
	},
}

// countTemplates counts the changes of the template in the annotation that is left of an older API.
func countTemplates(now, old *appsv1.DaemonSet) {
	generation := 1
	if old != nil {
		generation, _ = strconv.Atoi(old.Annotations[appsv1.DeprecatedTemplateGeneration]) // 0 for what is no number
		if !check.Same(now.Spec.Template, old.Spec.Template) {
			generation++
		}
	}
	annotations := map[string]string{appsv1.DeprecatedTemplateGeneration: strconv.Itoa(generation)}
	for name, value := range now.Annotations {
		if name != appsv1.DeprecatedTemplateGeneration {
			annotations[name] = value
		}
	}
	now.Annotations = annotations
}

func daemonStrategy(c *check.Errors, strategy *appsv1.DaemonSetUpdateStrategy, at *field.Path) {
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		return
	}
	rolling, at := strategy.RollingUpdate, at.Child("rollingUpdate")
	if rolling == nil {
		c.Add(field.Required(at, ""))
		return
	}
	unavailable, surge := c.Share(at.Child("maxUnavailable"), rolling.MaxUnavailable), c.Share(at.Child("maxSurge"), rolling.MaxSurge)
	c.AtMostAll(at.Child("maxUnavailable"), rolling.MaxUnavailable)
	c.AtMostAll(at.Child("maxSurge"), rolling.MaxSurge)
	c.InvalidIf(unavailable != 0 && surge != 0, at.Child("maxSurge"), rolling.MaxSurge, "may not be set when maxUnavailable is non-zero")
	c.RequiredIf(unavailable == 0 && surge == 0, at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0")
}
