package check

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Metadata checks the metadata of a new object.
func (c *Errors) Metadata(meta *metav1.ObjectMeta, namespaced bool, name apivalidation.ValidateNameFunc) {
	path := field.NewPath("metadata")
	c.Add(apivalidation.ValidateObjectMeta(meta, namespaced, name, path)...)
	c.finalizers(meta, path)
}

// MetadataUpdate checks the metadata of an update.
func (c *Errors) MetadataUpdate(now, old *metav1.ObjectMeta) {
	path := field.NewPath("metadata")
	c.Add(apivalidation.ValidateObjectMetaUpdate(now, old, path)...)
	c.finalizers(now, path)
}

// LabelsAndAnnotations checks the labels and annotations of a template.
func (c *Errors) LabelsAndAnnotations(meta *metav1.ObjectMeta, at *field.Path) {
	c.Add(metavalidation.ValidateLabels(meta.Labels, at.Child("labels"))...)
	c.Add(apivalidation.ValidateAnnotations(meta.Annotations, at.Child("annotations"))...)
}

func (c *Errors) finalizers(meta *metav1.ObjectMeta, path *field.Path) {
	standard := []string{"kubernetes", metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	for i, name := range meta.Finalizers {
		c.InvalidIf(!strings.Contains(name, "/") && !slices.Contains(standard, name), path.Child("finalizers").Index(i), name,
			"name is neither a standard finalizer name nor is it fully qualified")
	}
}
