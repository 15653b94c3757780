// Package apps has the kinds that make pods of templates.
package apps

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = appsv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(controllerrevisions.Rows(b), daemonsets.Rows(b), deployments.Rows(b), replicasets.Rows(b), statefulsets.Rows(b))
}
