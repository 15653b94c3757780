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
	name      string // of the kind as plugins know it
	resource  string
	mayCreate bool // an update creates what is not there
	pointer   func(value interface{}) api.Object
	value     func(pointer api.Object) interface{}
	validate  func(pointer api.Object) error
	rules     // of today's API
}

// rules complete and check an object as today's API does.
type rules struct {
	keepStatus  func(object, before admission.Object)
	setDefaults func(object admission.Object)
	check       func(object admission.Object) field.ErrorList
}

var kinds = map[string]kind{
	"tasks": kindOf(api.TaskKind, "Pod", "pods", false, api.ValidateTask, rulesOf(keepPodStatus, setPodDefaults, validation.ValidatePodCreate)),
	"replicationControllers": kindOf(api.ControllerKind, "ReplicationController", "replicationcontrollers", true, api.ValidateReplicationController,
		rulesOf(keepControllerStatus, defaults.ReplicationController, validation.ValidateReplicationController)),
	"services": kindOf(api.ServiceKind, "Service", "services", true, api.ValidateService, rulesOf(keepServiceStatus, defaults.Service, validation.ValidateService)),
}

func (k kind) converter() v1.Converter {
	return v1.NewConverter(corev1.SchemeGroupVersion.WithKind(k.name), k.internal, v1.Scheme)
}

// keepPodStatus keeps where a pod is, too.
func keepPodStatus(pod, before *corev1.Pod) {
	pod.Status, pod.Spec.NodeName = before.Status, before.Spec.NodeName
}

func setPodDefaults(pod *corev1.Pod) {
	defaults.Pod(pod)
	pod.Status.QOSClass = defaults.QOSClass(pod)
}

func keepControllerStatus(rc, before *corev1.ReplicationController) { rc.Status = before.Status }

func keepServiceStatus(service, before *corev1.Service) { service.Status = before.Status }

func kindOf[T any, P interface {
	*T
	api.Object
}](internal api.Kind, name, resource string, mayCreate bool, validate func(T) error, today rules) kind {
	return kind{internal, name, resource, mayCreate,
		func(value interface{}) api.Object { own := value.(T); return P(&own) },
		func(pointer api.Object) interface{} { return *pointer.(P) },
		func(pointer api.Object) error { return validate(*pointer.(P)) },
		today,
	}
}

func rulesOf[P admission.Object](keepStatus func(object, before P), setDefaults func(P), check func(P) field.ErrorList) rules {
	return rules{
		func(object, before admission.Object) { keepStatus(object.(P), before.(P)) },
		func(object admission.Object) { setDefaults(object.(P)) },
		func(object admission.Object) field.ErrorList { return check(object.(P)) },
	}
}

// keep keeps what no plugin changes: what only the server says of an object. What ends stays so: only
// the second door lets it go.
func (k kind) keep(after, before admission.Object) {
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
	k.keepStatus(after, before)
}

// complete sets what plugins have left out in an object, and returns an error if they have broken a rule
// of today's API. What the client itself may say in June 2014's is no error.
func (k kind) complete(after, before admission.Object) error {
	before = before.DeepCopyObject().(admission.Object)
	k.setDefaults(before)
	broken := map[string]bool{}
	for _, err := range k.check(before) {
		broken[err.Error()] = true
	}
	k.setDefaults(after)
	errs := slices.DeleteFunc(k.check(after), func(err *field.Error) bool { return broken[err.Error()] })
	if len(errs) > 0 {
		return rest.Invalid(corev1.SchemeGroupVersion.WithKind(k.name).GroupKind(), after.GetName(), errs)
	}
	return nil
}
