// Package volumes has volumes, the claims for them, and what their drivers need.
package volumes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var (
	group, coreGroup = storagev1.SchemeGroupVersion, corev1.SchemeGroupVersion
	specPath         = field.NewPath("spec")
)

// Resources returns the table of the group, and the kinds of the group without a name that belong to it.
func Resources(b rest.Base) []rest.Resource {
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

var classes = generic.Resource[*storagev1.StorageClass]{
	Row:            rest.ClusterScoped(group, "StorageClass", "storageclasses", printers.StorageClasses, "sc"),
	AnswersDeleted: true,
	Default: func(o *storagev1.StorageClass) {
		o.ReclaimPolicy = cmp.Or(o.ReclaimPolicy, new(corev1.PersistentVolumeReclaimDelete))
		o.VolumeBindingMode = cmp.Or(o.VolumeBindingMode, new(storagev1.VolumeBindingImmediate))
	},
	Validate: func(c *check.Errors, now, _ *storagev1.StorageClass) {
		plugin(c, field.NewPath("provisioner"), now.Provisioner)
	},
}

var attributesClasses = generic.Resource[*storagev1.VolumeAttributesClass]{
	Row:            rest.ClusterScoped(group, "VolumeAttributesClass", "volumeattributesclasses", printers.AttributesClasses, "vac"),
	AnswersDeleted: true,
	Validate: func(c *check.Errors, now, old *storagev1.VolumeAttributesClass) {
		plugin(c, field.NewPath("driverName"), now.DriverName)
		c.Some(field.NewPath("parameters"), len(now.Parameters), "must contain at least one key/value pair")
		if old != nil {
			c.Forbid(now.DriverName != old.DriverName, field.NewPath("driverName"), "updates to driverName are forbidden.")
			c.Forbid(!check.Same(now.Parameters, old.Parameters), field.NewPath("parameters"), "updates to parameters are forbidden.")
		}
	},
}

var attachments = generic.Resource[*storagev1.VolumeAttachment]{
	Row:            rest.ClusterScoped(group, "VolumeAttachment", "volumeattachments", printers.Attachments),
	AnswersDeleted: true,
	StatusOnly:     true,
	Validate: func(c *check.Errors, now, _ *storagev1.VolumeAttachment) {
		spec := &now.Spec
		podspec.DriverName(c, spec.Attacher, specPath.Child("attacher"))
		c.Name(specPath.Child("nodeName"), spec.NodeName)
		inline, volume, at := spec.Source.InlineVolumeSpec, spec.Source.PersistentVolumeName, specPath.Child("source")
		c.RequiredIf(inline == nil && volume == nil, at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		c.Forbid(inline != nil && volume != nil, at, "must specify exactly one of inlineVolumeSpec and persistentVolumeName")
		if volume != nil {
			c.Name(at.Child("persistentVolumeName"), *volume)
		}
	},
}

var drivers = generic.Resource[*storagev1.CSIDriver]{
	Row:            rest.ClusterScoped(group, "CSIDriver", "csidrivers", printers.CSIDrivers),
	AnswersDeleted: true,
	Prepare: func(now, old *storagev1.CSIDriver) {
		now.Spec.PreventPodSchedulingIfMissing = nil // an alpha field
		if old != nil && !check.Same(now.Spec, old.Spec) {
			now.Generation = old.Generation + 1 // a new driver has none
		}
	},
	Default: func(o *storagev1.CSIDriver) {
		spec := &o.Spec
		spec.AttachRequired = cmp.Or(spec.AttachRequired, new(true))
		for _, flag := range []**bool{&spec.PodInfoOnMount, &spec.StorageCapacity, &spec.RequiresRepublish, &spec.SELinuxMount} {
			*flag = cmp.Or(*flag, new(false))
		}
		spec.FSGroupPolicy = cmp.Or(spec.FSGroupPolicy, new(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy))
		if len(spec.VolumeLifecycleModes) == 0 {
			spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
		}
	},
	Validate: func(c *check.Errors, now, old *storagev1.CSIDriver) {
		spec := &now.Spec
		for i, token := range spec.TokenRequests {
			if seconds, at := token.ExpirationSeconds, specPath.Child("tokenRequests").Index(i).Child("expirationSeconds"); seconds != nil {
				c.InvalidIf(*seconds < 600, at, *seconds, "may not specify a duration less than 10 minutes")
			}
		}
		if old != nil {
			c.Immutable(specPath.Child("attachedRequired"), spec.AttachRequired, old.Spec.AttachRequired) // as today's server calls it
		}
	},
}

var nodes = generic.Resource[*storagev1.CSINode]{
	Row:            rest.ClusterScoped(group, "CSINode", "csinodes", printers.CSINodes),
	AnswersDeleted: true,
	Validate: func(c *check.Errors, now, _ *storagev1.CSINode) {
		for i, driver := range now.Spec.Drivers {
			at := specPath.Child("drivers").Index(i)
			podspec.DriverName(c, driver.Name, at.Child("name"))
			c.Require(at.Child("nodeID"), driver.NodeID)
		}
	},
}

var capacities = generic.Resource[*storagev1.CSIStorageCapacity]{
	Row: rest.InNamespaces(group, "CSIStorageCapacity", "csistoragecapacities", printers.Printer{}),
	Validate: func(c *check.Errors, now, _ *storagev1.CSIStorageCapacity) {
		if now.NodeTopology != nil {
			c.Selector(field.NewPath("nodeTopology"), now.NodeTopology)
		}
		c.Name(field.NewPath("storageClassName"), now.StorageClassName)
		if size := now.Capacity; size != nil {
			c.InvalidIf(size.Sign() < 0, field.NewPath("capacity"), size.String(), "must be greater than or equal to 0")
		}
	},
}
