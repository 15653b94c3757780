// Package apps has the kinds that make pods of templates.
package apps

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = appsv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(controllerrevisions.Rows(b), daemonsets.Rows(b), deployments.Rows(b), replicasets.Rows(b), statefulsets.Rows(b))
}

var controllerrevisions = generic.Kind[*appsv1.ControllerRevision]{
	Row: rest.InNamespaces(group, "ControllerRevision", "controllerrevisions", printers.Printer{}),
}

var daemonsets = generic.Kind[*appsv1.DaemonSet]{
	Row:     rest.InNamespaces(group, "DaemonSet", "daemonsets", printers.Printer{}, "ds").In("all"),
	Spec:    func(o *appsv1.DaemonSet) any { return &o.Spec },
	Status:  func(o *appsv1.DaemonSet) any { return &o.Status },
	Counted: true,
}

var deployments = generic.Kind[*appsv1.Deployment]{
	Row:     rest.InNamespaces(group, "Deployment", "deployments", printers.Printer{}, "deploy").In("all"),
	Spec:    func(o *appsv1.Deployment) any { return &o.Spec },
	Status:  func(o *appsv1.Deployment) any { return &o.Status },
	Counted: true,
}

var replicasets = generic.Kind[*appsv1.ReplicaSet]{
	Row:     rest.InNamespaces(group, "ReplicaSet", "replicasets", printers.Printer{}, "rs").In("all"),
	Spec:    func(o *appsv1.ReplicaSet) any { return &o.Spec },
	Status:  func(o *appsv1.ReplicaSet) any { return &o.Status },
	Counted: true,
}

var statefulsets = generic.Kind[*appsv1.StatefulSet]{
	Row:     rest.InNamespaces(group, "StatefulSet", "statefulsets", printers.Printer{}, "sts").In("all"),
	Spec:    func(o *appsv1.StatefulSet) any { return &o.Spec },
	Status:  func(o *appsv1.StatefulSet) any { return &o.Status },
	Counted: true,
}
