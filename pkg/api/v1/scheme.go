// Package v1 has today's API: the types of k8s.io/api, and their conversions to and from the internal
// objects. The part of an object that June 2014 cannot express is its remainder.
package v1

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1/defaults"
)

// Version is the name of this version of the API.
const Version = "v1"

// Scheme has the types of today's API. It is read-only.
var Scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(AddToScheme(scheme))
	return scheme
}()

// AddToScheme registers the types of today's API, and their defaults.
func AddToScheme(scheme *runtime.Scheme) error {
	groups := runtime.NewSchemeBuilder(corev1.AddToScheme, rbacv1.AddToScheme, discoveryv1.AddToScheme, admissionregistrationv1.AddToScheme, autoscalingv1.AddToScheme,
		authenticationv1.AddToScheme, authorizationv1.AddToScheme, networkingv1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme,
		batchv1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme, eventsv1.AddToScheme, flowcontrolv1.AddToScheme,
		nodev1.AddToScheme, policyv1.AddToScheme, resourcev1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme, apiextensionsv1.AddToScheme,
		apiregistrationv1.AddToScheme)
	addDefaults(scheme, defaults.Pod)
	addDefaults(scheme, defaults.ReplicationController)
	addDefaults(scheme, defaults.Service)
	addDefaults(scheme, defaults.Endpoints)
	addDefaults(scheme, defaults.LimitRange)
	addDefaults(scheme, defaults.Node)
	addDefaults(scheme, defaults.Namespace)
	addDefaults(scheme, defaults.Secret)
	addDefaults(scheme, defaults.PodTemplate)
	addDefaults(scheme, defaults.RoleBinding)
	addDefaults(scheme, defaults.ClusterRoleBinding)
	return groups.AddToScheme(scheme)
}

func addDefaults[Type any, Pointer interface {
	*Type
	runtime.Object
}](scheme *runtime.Scheme, setDefaults func(Pointer)) {
	scheme.AddTypeDefaultingFunc(Pointer(new(Type)), func(object any) { setDefaults(object.(Pointer)) })
}

// twoVersions has the kinds that June 2014 knows too.
var twoVersions = func() *conversion.Scheme {
	scheme := conversion.NewScheme()
	AddConversions(scheme)
	return scheme
}()

// AddConversions registers the kinds that June 2014 knows too, and their conversions.
func AddConversions(scheme *conversion.Scheme) {
	scheme.AddKnownTypes(conversion.Internal, api.Task{}, api.ReplicationController{}, api.Service{}, api.Endpoints{})
	scheme.AddKnownTypes(Version, corev1.Pod{}, corev1.ReplicationController{}, corev1.Service{}, corev1.Endpoints{})
	conversion.AddFuncs(scheme, inPod, outPod)
	conversion.AddFuncs(scheme, inController, outController)
	conversion.AddFuncs(scheme, inService, outService)
	conversion.AddFuncs(scheme, inEndpoints, outEndpoints)
}
