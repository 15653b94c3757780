package volumes

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var classes = generic.Kind[*storagev1.StorageClass]{
	Row:            rest.ClusterScoped(group, "StorageClass", "storageclasses", printers.StorageClasses, "sc"),
	AnswersDeleted: true,
	Default: func(o *storagev1.StorageClass) {
		o.ReclaimPolicy = cmp.Or(o.ReclaimPolicy, new(corev1.PersistentVolumeReclaimDelete))
		o.VolumeBindingMode = cmp.Or(o.VolumeBindingMode, new(storagev1.VolumeBindingImmediate))
	},
	Rules: func(c *check.Errors, now, _ *storagev1.StorageClass) {
		plugin(c, field.NewPath("provisioner"), now.Provisioner)
	},
}

var attributesClasses = generic.Kind[*storagev1.VolumeAttributesClass]{
	Row:            rest.ClusterScoped(group, "VolumeAttributesClass", "volumeattributesclasses", printers.AttributesClasses, "vac"),
	AnswersDeleted: true,
	Rules: func(c *check.Errors, now, old *storagev1.VolumeAttributesClass) {
		plugin(c, field.NewPath("driverName"), now.DriverName)
		c.Some(field.NewPath("parameters"), len(now.Parameters), "must contain at least one key/value pair")
		if old != nil {
			c.Forbid(now.DriverName != old.DriverName, field.NewPath("driverName"), "updates to driverName are forbidden.")
			c.Forbid(!check.Same(now.Parameters, old.Parameters), field.NewPath("parameters"), "updates to parameters are forbidden.")
		}
	},
}
