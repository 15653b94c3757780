package validation

import (
	"kube2014/pkg/api/v1/validation/check"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Namespace checks the finalizers in the spec of a namespace.
func Namespace(c *check.Errors, now, _ *corev1.Namespace) {
	for _, finalizer := range now.Spec.Finalizers {
		checks{c}.finalizer(finalizer, field.NewPath("spec", "finalizers"))
	}
}

func (c checks) finalizer(name corev1.FinalizerName, at *field.Path) {
	c.Add(apivalidation.ValidateFinalizerName(string(name), at)...)
	c.StandardFinalizer(at, string(name))
}

// NamespaceStatus checks the status: a namespace is terminating if and only if it is deleted.
func NamespaceStatus(c *check.Errors, now, _ *corev1.Namespace) {
	at, isDeleted := field.NewPath("status", "Phase"), now.DeletionTimestamp != nil
	c.InvalidIf(!isDeleted && now.Status.Phase != corev1.NamespaceActive, at, now.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	c.InvalidIf(isDeleted && now.Status.Phase != corev1.NamespaceTerminating, at, now.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
}

// ValidateNamespaceFinalize checks an update of the finalizers in the spec.
func ValidateNamespaceFinalize(now, old *corev1.Namespace) field.ErrorList {
	c := newChecks()
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	for i, finalizer := range now.Spec.Finalizers {
		c.finalizer(finalizer, field.NewPath("spec", "finalizers").Index(i))
	}
	return c.List
}
