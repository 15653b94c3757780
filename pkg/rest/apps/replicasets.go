package apps

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var replicasets = generic.Kind[*appsv1.ReplicaSet]{
	Row:      rest.InNamespaces(group, "ReplicaSet", "replicasets", printers.ReplicaSets, "rs").In("all"),
	Counted:  true,
	Warnings: warnings.ReplicaSet,
	Scale: func(o *appsv1.ReplicaSet) (**int32, int32, string) {
		return &o.Spec.Replicas, o.Status.Replicas, line(o.Spec.Selector)
	},
	Default: func(o *appsv1.ReplicaSet) {
		o.Spec.Replicas = cmp.Or(o.Spec.Replicas, new(int32(1)))
		defaults.PodSpec(&o.Spec.Template.Spec)
	},
	Rules: func(c *check.Errors, now, _ *appsv1.ReplicaSet) {
		spec := &now.Spec
		selected(c, spec.Selector, &spec.Template, "deployment") // not the name of this kind in today's server either
		running(c, &spec.Template.Spec, "ReplicaSet")
	},
	StatusRules: func(c *check.Errors, now, _ *appsv1.ReplicaSet) {
		s := &now.Status
		replicas(c, s.Replicas, count{"fullyLabeledReplicas", s.FullyLabeledReplicas}, count{"readyReplicas", s.ReadyReplicas},
			count{"availableReplicas", s.AvailableReplicas})
	},
}
