package validation

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateNamespace checks a new namespace.
func ValidateNamespace(namespace *corev1.Namespace) field.ErrorList {
	c := newChecks()
	c.Metadata(&namespace.ObjectMeta, false, apivalidation.ValidateNamespaceName)
	for _, finalizer := range namespace.Spec.Finalizers {
		c.finalizer(finalizer, field.NewPath("spec", "finalizers"))
	}
	return c.List
}

func (c checks) finalizer(name corev1.FinalizerName, at *field.Path) {
	c.Add(apivalidation.ValidateFinalizerName(string(name), at)...)
	c.StandardFinalizer(at, string(name))
}

// ValidateNamespaceUpdate checks an update of a namespace.
func ValidateNamespaceUpdate(now, old *corev1.Namespace) field.ErrorList {
	return append(ValidateNamespace(now), metadataUpdate(now, old)...)
}

// ValidateNamespaceStatus checks an update of the status: a namespace is terminating if and only if it is deleted.
func ValidateNamespaceStatus(now, old *corev1.Namespace) field.ErrorList {
	c, at := newChecks(), field.NewPath("status", "Phase")
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	if now.DeletionTimestamp == nil {
		c.InvalidIf(now.Status.Phase != corev1.NamespaceActive, at, now.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")
	} else {
		c.InvalidIf(now.Status.Phase != corev1.NamespaceTerminating, at, now.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
	}
	return c.List
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
