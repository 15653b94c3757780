// Package versions converts the objects of kinds that are served in several versions to the one in which they are stored, and
// back.
package versions

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kube2014/pkg/api/conversion"
)

// storedVersions has the kinds that are served in several versions. The stored version is the internal one of the
// scheme; the other versions are named as in apiVersion.
var storedVersions = func() *conversion.Scheme {
	scheme := conversion.NewScheme()
	scheme.AddKnownTypes(conversion.Internal, autoscalingv2.HorizontalPodAutoscaler{})
	scheme.AddKnownTypes(autoscalingv1.SchemeGroupVersion.String(), autoscalingv1.HorizontalPodAutoscaler{})
	conversion.AddFuncs(scheme, inAutoscaler, outAutoscaler)
	scheme.AddKnownTypes(conversion.Internal, corev1.Event{})
	scheme.AddKnownTypes(eventsv1.SchemeGroupVersion.String(), eventsv1.Event{})
	conversion.AddFuncs(scheme, inEvent, outEvent)
	return scheme
}()

// StoredAs returns the kind as which the objects of a kind are stored: most often itself.
func StoredAs(kind schema.GroupVersionKind, scheme *runtime.Scheme) schema.GroupVersionKind {
	object, err := scheme.New(kind)
	if err != nil || !storedVersions.Recognizes(object) {
		return kind
	}
	stored, err := ToStored(object)
	utilruntime.Must(err) // the conversion of an empty object cannot fail
	kinds, _, err := scheme.ObjectKinds(stored)
	utilruntime.Must(err) // the scheme has all versions of a kind
	return kinds[0]
}

// ToStored converts an object to the version in which its kind is stored. The two share memory.
func ToStored(object runtime.Object) (runtime.Object, error) {
	return toVersion(object, conversion.Internal)
}

// FromStored converts an object of the stored version to another one. The two share memory.
func FromStored(object runtime.Object, version schema.GroupVersion) (runtime.Object, error) {
	return toVersion(object, version.String())
}

func toVersion(object runtime.Object, version string) (runtime.Object, error) {
	converted, err := storedVersions.ConvertToVersion(object, version)
	if err != nil {
		return nil, err
	}
	return converted.(runtime.Object), nil
}

// Others returns the versions, besides its own, in which the objects of a kind are served.
func Others(kind schema.GroupVersionKind, scheme *runtime.Scheme) (others []schema.GroupVersion) {
	for other := range scheme.AllKnownTypes() {
		if other.Kind == kind.Kind && other != kind && StoredAs(other, scheme) == StoredAs(kind, scheme) {
			others = append(others, other.GroupVersion())
		}
	}
	return others
}
