package validation

import (
	"unicode/utf8"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Metadata checks the metadata of a new object of any kind. A kind may have stricter rules.
func Metadata(object metav1.Object, namespaced bool) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(object, namespaced, segmentName, field.NewPath("metadata"))
}

// MetadataUpdate checks the metadata of an update of an object of any kind.
func MetadataUpdate(now, old metav1.Object) field.ErrorList {
	return update(now, old, func(c checks, now, old metav1.Object) { c.Add(metadataUpdate(now, old)...) })
}

// metadataUpdate checks that immutable metadata do not change, and that the others are valid.
func metadataUpdate(now, old metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessorUpdate(now, old, field.NewPath("metadata"))
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
