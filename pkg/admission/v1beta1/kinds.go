package v1beta1

import (
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

// keepStatus keeps the status of an object, and the machine of a pod.
func keepStatus(after, before admission.Object) {
	switch after := after.(type) {
	case *corev1.Pod:
		pod := before.(*corev1.Pod)
		after.Status, after.Spec.NodeName = pod.Status, pod.Spec.NodeName
	case *corev1.ReplicationController:
		after.Status = before.(*corev1.ReplicationController).Status
	case *corev1.Service:
		after.Status = before.(*corev1.Service).Status
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

// keep restores the fields that only the server may set. An object that is being deleted stays so: only the
// second door removes its finalizers.
func keep(after, before admission.Object) {
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	after.SetGeneration(before.GetGeneration())
	after.SetGenerateName(before.GetGenerateName())
	after.SetManagedFields(before.GetManagedFields())
	after.SetSelfLink(before.GetSelfLink())
	after.SetDeletionTimestamp(before.GetDeletionTimestamp())
	after.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	if before.GetDeletionTimestamp() != nil {
		after.SetFinalizers(before.GetFinalizers())
	}
	keepStatus(after, before)
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
