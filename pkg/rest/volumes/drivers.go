package volumes

import (
	"cmp"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var drivers = generic.Kind[*storagev1.CSIDriver]{
	Row: rest.ClusterScoped(group, "CSIDriver", "csidrivers", printers.CSIDrivers),
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
		check.IfSupported(c, specPath.Child("fsGroupPolicy"), spec.FSGroupPolicy, storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
		audiences := check.Unique{}
		for i, token := range spec.TokenRequests {
			at := specPath.Child("tokenRequests").Index(i)
			audiences.Check(c, at.Child("audience"), token.Audience)
			if seconds, at := token.ExpirationSeconds, at.Child("expirationSeconds"); seconds != nil {
				c.InvalidIf(*seconds < 600, at, *seconds, "may not specify a duration less than 10 minutes")
				c.InvalidIf(*seconds > 1<<32, at, *seconds, "may not specify a duration larger than 2^32 seconds")
			}
		}
		for _, mode := range spec.VolumeLifecycleModes {
			check.Supported(c, specPath.Child("volumeLifecycleModes"), mode, storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)
		}
		if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil {
			c.InvalidIf(*period < 10, specPath.Child("nodeAllocatableUpdatePeriodSeconds"), *period, "must be greater than or equal to 10 seconds")
		}
		secrets := spec.ServiceAccountTokenInSecrets
		c.InvalidIf(secrets != nil && len(spec.TokenRequests) == 0, specPath.Child("serviceAccountTokenInSecrets"), secrets, "serviceAccountTokenInSecrets is set but no tokenRequests are specified")
		if old != nil {
			c.Immutable(specPath.Child("attachedRequired"), spec.AttachRequired, old.Spec.AttachRequired)
			c.Immutable(specPath.Child("volumeLifecycleModes"), spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes)
		}
	},
}

// longestNodeID bounds what a driver calls a node.
const longestNodeID = 256

var nodes = generic.Kind[*storagev1.CSINode]{
	Row: rest.ClusterScoped(group, "CSINode", "csinodes", printers.CSINodes),
	Rules: func(c *check.Errors, now, old *storagev1.CSINode) {
		for i, driver := range now.Spec.Drivers {
			at := specPath.Child("drivers").Index(i)
			podspec.DriverName(c, driver.Name, at.Child("name"))
			c.Require(at.Child("nodeID"), driver.NodeID)
			c.InvalidIf(len(driver.NodeID) > longestNodeID, at.Child("nodeID"), driver.NodeID, fmt.Sprintf("must be %d characters or less", longestNodeID))
			if driver.Allocatable != nil {
				check.IfNonnegative(c, at.Child("allocatable", "count"), driver.Allocatable.Count)
			}
			keys := check.Unique{}
			for _, key := range driver.TopologyKeys {
				c.Require(at, key)
				keys.Check(c, at, key)
				c.Qualified(at, key)
			}
		}
		if old == nil {
			return
		}
		before := map[string]storagev1.CSINodeDriver{}
		for _, driver := range old.Spec.Drivers {
			before[driver.Name] = driver
		}
		for _, driver := range now.Spec.Drivers {
			if had, there := before[driver.Name]; there {
				driver.Allocatable, had.Allocatable = nil, nil // the limit may change
				c.Immutable(specPath.Child("drivers"), driver, had)
			}
		}
	},
}

var capacities = generic.Kind[*storagev1.CSIStorageCapacity]{
	Row: rest.InNamespaces(group, "CSIStorageCapacity", "csistoragecapacities", printers.Printer{}),
	Rules: func(c *check.Errors, now, old *storagev1.CSIStorageCapacity) {
		if old != nil {
			c.Immutable(field.NewPath("nodeTopology"), now.NodeTopology, old.NodeTopology)
			c.Immutable(field.NewPath("storageClassName"), now.StorageClassName, old.StorageClassName)
			return
		}
		if now.NodeTopology != nil {
			c.Selector(field.NewPath("nodeTopology"), now.NodeTopology)
		}
		c.Name(field.NewPath("storageClassName"), now.StorageClassName, false)
		if size := now.Capacity; size != nil {
			c.InvalidIf(size.Sign() < 0, field.NewPath("capacity"), size.String(), "must be greater than or equal to 0")
		}
	},
}
