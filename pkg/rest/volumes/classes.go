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
	Row: rest.ClusterScoped(group, "StorageClass", "storageclasses", printers.StorageClasses, "sc"),
	Default: func(o *storagev1.StorageClass) {
		o.ReclaimPolicy = cmp.Or(o.ReclaimPolicy, new(corev1.PersistentVolumeReclaimDelete))
		o.VolumeBindingMode = cmp.Or(o.VolumeBindingMode, new(storagev1.VolumeBindingImmediate))
	},
	Rules: func(c *check.Errors, now, old *storagev1.StorageClass) {
		if old != nil {
			for _, part := range []struct {
				name     string
				now, old any
			}{{"parameters", now.Parameters, old.Parameters}, {"provisioner", now.Provisioner, old.Provisioner},
				{"reclaimPolicy", now.ReclaimPolicy, old.ReclaimPolicy}, {"volumeBindingMode", now.VolumeBindingMode, old.VolumeBindingMode}} {
				c.Immutable(field.NewPath(part.name), part.now, part.old)
			}
			return
		}
		plugin(c, field.NewPath("provisioner"), now.Provisioner)
		parameters(c, now.Parameters)
		if policy := now.ReclaimPolicy; policy != nil && *policy != "" {
			check.Supported(c, field.NewPath("reclaimPolicy"), *policy, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
		}
		check.IfSupported(c, field.NewPath("volumeBindingMode"), now.VolumeBindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
		for i, term := range now.AllowedTopologies {
			at, keys := field.NewPath("allowedTopologies").Index(i).Child("matchLabelExpressions"), check.Unique{}
			for j, label := range term.MatchLabelExpressions {
				c.Some(at.Index(j).Child("values"), len(label.Values), "")
				c.LabelName(at.Index(j).Child("key"), label.Key)
				keys.Check(c, at.Index(j).Child("key"), label.Key)
			}
		}
	},
}

var attributesClasses = generic.Kind[*storagev1.VolumeAttributesClass]{
	Row: rest.ClusterScoped(group, "VolumeAttributesClass", "volumeattributesclasses", printers.AttributesClasses, "vac"),
	Rules: func(c *check.Errors, now, old *storagev1.VolumeAttributesClass) {
		plugin(c, field.NewPath("driverName"), now.DriverName)
		parameters(c, now.Parameters)
		c.Some(field.NewPath("parameters"), len(now.Parameters), "must contain at least one key/value pair")
		if old != nil {
			c.Forbid(now.DriverName != old.DriverName, field.NewPath("driverName"), "updates to driverName are forbidden.")
			c.Forbid(!check.Same(now.Parameters, old.Parameters), field.NewPath("parameters"), "updates to parameters are forbidden.")
		}
	},
}
