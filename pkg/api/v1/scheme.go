// Package v1 has the API of today, as far as June 2014's objects reach: how the types of
// k8s.io/api are converted to and from the internal objects. What June 2014 cannot say of
// an object is its remainder.
package v1

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/conversion"
)

// Version is the name of this version of the API.
const Version = "v1"

// Scheme knows the objects of this version, and the internal ones.
var Scheme = scheme()

func scheme() *conversion.Scheme {
	scheme := conversion.NewScheme()
	AddToScheme(scheme)
	return scheme
}

// AddToScheme registers the objects of this version, their conversions and defaults.
func AddToScheme(scheme *conversion.Scheme) {
	scheme.AddKnownTypes(conversion.Internal, api.Task{}, api.ReplicationController{}, api.Service{}, api.Endpoints{}, api.Node{}, api.Event{})
	scheme.AddKnownTypes(Version, corev1.Pod{}, corev1.ReplicationController{}, corev1.Service{}, corev1.Endpoints{}, corev1.Node{}, corev1.Event{})
	scheme.AddKnownTypes(conversion.Internal, api.Role{}, api.RoleBinding{}, api.ClusterRole{}, api.ClusterRoleBinding{})
	scheme.AddKnownTypes(Version, rbacv1.Role{}, rbacv1.RoleBinding{}, rbacv1.ClusterRole{}, rbacv1.ClusterRoleBinding{})
	conversion.AddFuncs(scheme, inPod, outPod)
	conversion.AddFuncs(scheme, inController, outController)
	conversion.AddFuncs(scheme, inService, outService)
	conversion.AddFuncs(scheme, inEndpoints, outEndpoints)
	conversion.AddFuncs(scheme, inNode, outNode)
	conversion.AddFuncs(scheme, inEvent, outEvent)
	conversion.AddFuncs(scheme, inRole, outRole)
	conversion.AddFuncs(scheme, inRoleBinding, outRoleBinding)
	conversion.AddFuncs(scheme, inClusterRole, outClusterRole)
	conversion.AddFuncs(scheme, inClusterRoleBinding, outClusterRoleBinding)
	conversion.AddDefaults(scheme, defaults.Pod)
	conversion.AddDefaults(scheme, defaults.ReplicationController)
	conversion.AddDefaults(scheme, defaults.Service)
	conversion.AddDefaults(scheme, defaults.Endpoints)
	conversion.AddDefaults(scheme, defaults.Node)
	conversion.AddDefaults(scheme, defaults.RoleBinding)
	conversion.AddDefaults(scheme, defaults.ClusterRoleBinding)
}
