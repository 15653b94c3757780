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
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
)

var deployments = generic.Resource[*appsv1.Deployment]{
	Row:           rest.InNamespaces(group, "Deployment", "deployments", printers.Deployments, "deploy").In("all"),
	HasGeneration: true,
	Warnings:      warnings.Deployment,
	Scale: func(o *appsv1.Deployment) (**int32, int32, string) {
		return &o.Spec.Replicas, o.Status.Replicas, line(o.Spec.Selector)
	},
	Prepare: func(now, old *appsv1.Deployment) {
		if old != nil && !check.Same(now.Annotations, old.Annotations) { // its controller copies them to the replica sets
			now.Generation = old.Generation + 1
		}
	},
	Default: func(o *appsv1.Deployment) {
		spec, strategy := &o.Spec, &o.Spec.Strategy
		spec.Replicas = cmp.Or(spec.Replicas, new(int32(1)))
		spec.RevisionHistoryLimit = cmp.Or(spec.RevisionHistoryLimit, new(int32(10)))
		spec.ProgressDeadlineSeconds = cmp.Or(spec.ProgressDeadlineSeconds, new(int32(600)))
		strategy.Type = cmp.Or(strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
		if strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			strategy.RollingUpdate = cmp.Or(strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
			quarter := intstr.FromString("25%")
			strategy.RollingUpdate.MaxUnavailable = cmp.Or(strategy.RollingUpdate.MaxUnavailable, new(quarter))
			strategy.RollingUpdate.MaxSurge = cmp.Or(strategy.RollingUpdate.MaxSurge, new(quarter))
		}
		defaults.PodSpec(&spec.Template.Spec)
	},
	Validate: func(c *check.Errors, now, _ *appsv1.Deployment) {
		spec := &now.Spec
		selected(c, spec.Selector, &spec.Template, "deployment")
		running(c, &spec.Template.Spec, "ReplicaSet")
		deploymentStrategy(c, &spec.Strategy, specPath.Child("strategy"))
		if deadline, at := spec.ProgressDeadlineSeconds, specPath.Child("progressDeadlineSeconds"); deadline != nil {
			c.InvalidIf(*deadline <= spec.MinReadySeconds, at, *deadline, "must be greater than minReadySeconds")
		}
	},
	PrepareStatus: func(now, old *appsv1.Deployment) { now.Labels = old.Labels },
	StatusResets:  fieldmanager.Fields{"metadata.labels"},
	ValidateStatus: func(c *check.Errors, now, _ *appsv1.Deployment) {
		s := &now.Status
		replicas(c, s.Replicas, count{"updatedReplicas", s.UpdatedReplicas}, count{"readyReplicas", s.ReadyReplicas},
			count{"availableReplicas", s.AvailableReplicas})
	},
}

func deploymentStrategy(c *check.Errors, strategy *appsv1.DeploymentStrategy, at *field.Path) {
	rolling, atRolling := strategy.RollingUpdate, at.Child("rollingUpdate")
	switch strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		c.Forbid(rolling != nil, atRolling, "may not be specified when strategy `type` is 'Recreate'")
	case appsv1.RollingUpdateDeploymentStrategyType:
		if rolling == nil {
			c.Add(field.Required(atRolling, "this should be defaulted and never be nil"))
			return
		}
		unavailable, surge := c.Share(atRolling.Child("maxUnavailable"), rolling.MaxUnavailable), c.Share(atRolling.Child("maxSurge"), rolling.MaxSurge)
		c.InvalidIf(unavailable == 0 && surge == 0, atRolling.Child("maxUnavailable"), rolling.MaxUnavailable, "may not be 0 when `maxSurge` is 0")
		c.AtMostAll(atRolling.Child("maxUnavailable"), rolling.MaxUnavailable)
	}
}

var replicasets = generic.Resource[*appsv1.ReplicaSet]{
	Row:           rest.InNamespaces(group, "ReplicaSet", "replicasets", printers.ReplicaSets, "rs").In("all"),
	HasGeneration: true,
	Warnings:      warnings.ReplicaSet,
	Scale: func(o *appsv1.ReplicaSet) (**int32, int32, string) {
		return &o.Spec.Replicas, o.Status.Replicas, line(o.Spec.Selector)
	},
	Default: func(o *appsv1.ReplicaSet) {
		o.Spec.Replicas = cmp.Or(o.Spec.Replicas, new(int32(1)))
		defaults.PodSpec(&o.Spec.Template.Spec)
	},
	Validate: func(c *check.Errors, now, _ *appsv1.ReplicaSet) {
		spec := &now.Spec
		selected(c, spec.Selector, &spec.Template, "deployment") // not the name of this kind in today's server either
		running(c, &spec.Template.Spec, "ReplicaSet")
	},
	ValidateStatus: func(c *check.Errors, now, _ *appsv1.ReplicaSet) {
		s := &now.Status
		replicas(c, s.Replicas, count{"fullyLabeledReplicas", s.FullyLabeledReplicas}, count{"readyReplicas", s.ReadyReplicas},
			count{"availableReplicas", s.AvailableReplicas})
	},
}

var daemonsets = generic.Resource[*appsv1.DaemonSet]{
	Row:           rest.InNamespaces(group, "DaemonSet", "daemonsets", printers.DaemonSets, "ds").In("all"),
	HasGeneration: true,
	Warnings:      warnings.DaemonSet,
	Prepare:       countTemplates,
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
	Validate: func(c *check.Errors, now, _ *appsv1.DaemonSet) {
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
