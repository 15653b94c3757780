package validation

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// Metadata checks the metadata of a new object of any kind. A kind may have stricter rules.
func Metadata(object metav1.Object, namespaced bool) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(object, namespaced, segmentName, field.NewPath("metadata"))
}

// MetadataUpdate checks the metadata of an update of an object of any kind.
var MetadataUpdate = updates(func(c checks, now, old metav1.Object) { c.Add(metadataUpdate(now, old)...) })

// metadataUpdate checks that immutable metadata do not change, and that the others are valid.
func metadataUpdate(now, old metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessorUpdate(now, old, field.NewPath("metadata"))
}

// Create returns the errors of a new object: those of its metadata, and those of the rules of its kind, which may be nil. A
// nil rule for names means DNS subdomains.
func Create[T metav1.Object](object T, namespaced bool, name apivalidation.ValidateNameFunc, rules func(c *check.Errors, now, old T)) field.ErrorList {
	if name == nil {
		name = apivalidation.NameIsDNSSubdomain
	}
	c := newChecks()
	c.Metadata(MetaOf(object), namespaced, name)
	if rules != nil {
		var none T
		rules(c.Errors, object, none)
	}
	return c.List
}

// Update returns the errors of an object that replaces an old one, except those that the old one has too.
func Update[T metav1.Object](now, old T, rules func(c *check.Errors, now, old T)) field.ErrorList {
	return update(now, old, func(c checks, now, old T) {
		c.MetadataUpdate(MetaOf(now), MetaOf(old))
		if rules != nil {
			rules(c.Errors, now, old)
		}
	})
}

// MetaOf returns the metadata of an object of a Go type, not a copy.
func MetaOf(object metav1.Object) *metav1.ObjectMeta {
	return object.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
}

// segmentName is the rule for names that no stricter rule bounds, such as those of roles and events: they
// must be segments of paths. Their length is bounded because they are also parts of keys (K39).
func segmentName(name string, prefix bool) []string {
	wrong := path.ValidatePathSegmentName(name, prefix)
	if len(name) > utilvalidation.DNS1123SubdomainMaxLength {
		wrong = append(wrong, utilvalidation.MaxLenError(utilvalidation.DNS1123SubdomainMaxLength))
	}
	if !utf8.ValidString(name) {
		wrong = append(wrong, "must be valid UTF-8")
	}
	return wrong
}

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
