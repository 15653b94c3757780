// Package volumes has volumes, the claims for them, and what their drivers need.
package volumes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var (
	group, coreGroup = storagev1.SchemeGroupVersion, corev1.SchemeGroupVersion
	specPath         = field.NewPath("spec")
)

// Resources returns the table of the group, and the kinds of the group without a name that belong to it.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(claims.Rows(b), volumes(b.Now).Rows(b), drivers.Rows(b), nodes.Rows(b), capacities.Rows(b), classes.Rows(b), attachments.Rows(b), attributesClasses.Rows(b))
}

// accessModes checks those of a volume or a claim.
func accessModes(c *check.Errors, modes []corev1.PersistentVolumeAccessMode, missing string) {
	at := specPath.Child("accessModes")
	c.Some(at, len(modes), missing)
	for _, mode := range modes {
		check.Supported(c, at, mode, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
	}
	alone := slices.Contains(modes, corev1.ReadWriteOncePod)
	others := slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool { return mode != corev1.ReadWriteOncePod })
	c.Forbid(alone && others, at, "may not use ReadWriteOncePod with other access modes")
}

// plugin requires the name of a provisioner or of a driver.
func plugin(c *check.Errors, at *field.Path, name string) {
	if c.Require(at, name) {
		c.Qualified(at, strings.ToLower(name))
	}
}
