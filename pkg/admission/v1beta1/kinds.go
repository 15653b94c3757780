package v1beta1

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
)

// kind is a kind of object of the first door.
type kind struct {
	internal  api.Kind
	name      string // of the kind in today's API
	resource  string
	mayCreate bool // an update creates a missing object
	pointer   func(value interface{}) api.Object
	value     func(pointer api.Object) interface{}
	validate  func(pointer api.Object) error
}

var kinds = map[string]kind{
	"tasks":                  kindOf(api.TaskKind, "Pod", "pods", false, api.ValidateTask),
	"replicationControllers": kindOf(api.ControllerKind, "ReplicationController", "replicationcontrollers", true, api.ValidateReplicationController),
	"services":               kindOf(api.ServiceKind, "Service", "services", true, api.ValidateService),
}

func (k kind) converter() v1.Converter {
	return v1.NewConverter(corev1.SchemeGroupVersion.WithKind(k.name), k.internal, v1.Scheme)
}

func kindOf[T any, P interface {
	*T
	api.Object
}](internal api.Kind, name, resource string, mayCreate bool, validate func(T) error) kind {
	return kind{internal, name, resource, mayCreate,
		func(value interface{}) api.Object { own := value.(T); return P(&own) },
		func(pointer api.Object) interface{} { return *pointer.(P) },
		func(pointer api.Object) error { return validate(*pointer.(P)) },
	}
}

// check sets the defaults of an object and validates it by the rules of today's API.
func check(object admission.Object) field.ErrorList {
	v1.Scheme.Default(object)
	switch object := object.(type) {
	case *corev1.Pod:
		object.Status.QOSClass = defaults.QOSClass(object)
		return validation.ValidatePodCreate(object)
	case *corev1.ReplicationController:
		return validation.ValidateReplicationController(object)
	default:
		return validation.ValidateService(object.(*corev1.Service))
	}
}

// keep restores what only the server may set: the status, most of the metadata, and the machine of a pod. An object that is being
// deleted stays so: only the second door removes its finalizers.
func keep(after, before admission.Object) {
	own, kept := validation.MetaOf(after), *validation.MetaOf(before)
	kept.Name, kept.Namespace = own.Name, own.Namespace
	kept.Labels, kept.Annotations, kept.OwnerReferences = own.Labels, own.Annotations, own.OwnerReferences
	if kept.DeletionTimestamp == nil {
		kept.Finalizers = own.Finalizers
	}
	*own = kept
	reflect.ValueOf(after).Elem().FieldByName("Status").Set(reflect.ValueOf(before).Elem().FieldByName("Status"))
	if pod, isPod := after.(*corev1.Pod); isPod {
		pod.Spec.NodeName = before.(*corev1.Pod).Spec.NodeName
	}
}

// complete sets the defaults of an object, and returns an error if plugins have broken a rule of today's API.
// It ignores errors that the client's own object has, as June 2014's API may allow them.
func (k kind) complete(after, before admission.Object) error {
	known := map[string]bool{}
	for _, err := range check(before.DeepCopyObject().(admission.Object)) {
		known[err.Error()] = true
	}
	errs := slices.DeleteFunc(check(after), func(err *field.Error) bool { return known[err.Error()] })
	if len(errs) > 0 {
		return rest.Invalid(corev1.SchemeGroupVersion.WithKind(k.name).GroupKind(), after.GetName(), errs)
	}
	return nil
}
