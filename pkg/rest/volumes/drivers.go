package volumes

import (
	"cmp"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var drivers = generic.Kind[*storagev1.CSIDriver]{
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
	Rules: func(c *check.Errors, now, old *storagev1.CSIDriver) {
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

var nodes = generic.Kind[*storagev1.CSINode]{
	Row:            rest.ClusterScoped(group, "CSINode", "csinodes", printers.CSINodes),
	AnswersDeleted: true,
	Rules: func(c *check.Errors, now, _ *storagev1.CSINode) {
		for i, driver := range now.Spec.Drivers {
			at := specPath.Child("drivers").Index(i)
			podspec.DriverName(c, driver.Name, at.Child("name"))
			c.Require(at.Child("nodeID"), driver.NodeID)
		}
	},
}

var capacities = generic.Kind[*storagev1.CSIStorageCapacity]{
	Row: rest.InNamespaces(group, "CSIStorageCapacity", "csistoragecapacities", printers.Printer{}),
	Rules: func(c *check.Errors, now, _ *storagev1.CSIStorageCapacity) {
		if now.NodeTopology != nil {
			c.Selector(field.NewPath("nodeTopology"), now.NodeTopology)
		}
		c.Name(field.NewPath("storageClassName"), now.StorageClassName)
		if size := now.Capacity; size != nil {
			c.InvalidIf(size.Sign() < 0, field.NewPath("capacity"), size.String(), "must be greater than or equal to 0")
		}
	},
}
