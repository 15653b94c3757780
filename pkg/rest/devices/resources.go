// Package devices has the group resource.k8s.io: devices, and the claims for them. The scheduler and the controller of
// claims need their defaults, and that specs stay; other rules are not checked.
package devices

import (
	"cmp"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var (
	group    = resourcev1.SchemeGroupVersion
	specPath = field.NewPath("spec")
)

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	return slices.Concat(classes.Rows(b), claims.Rows(b), templates.Rows(b), resourceSlices.Rows(b))
}

var classes = generic.Resource[*resourcev1.DeviceClass]{
	Row:            rest.ClusterScoped(group, "DeviceClass", "deviceclasses", printers.Named),
	AnswersDeleted: true,
	HasGeneration:  true,
}

var claims = generic.Resource[*resourcev1.ResourceClaim]{
	Row:            rest.InNamespaces(group, "ResourceClaim", "resourceclaims", printers.ResourceClaims),
	AnswersDeleted: true,
	Default: func(o *resourcev1.ResourceClaim) {
		defaultRequests(&o.Spec.Devices)
		if given := o.Status.Allocation; given != nil {
			for i := range given.Devices.Results {
				defaultTolerations(given.Devices.Results[i].Tolerations)
			}
		}
	},
	Validate: func(c *check.Errors, now, _ *resourcev1.ResourceClaim) {
		requests(c, now.Spec.Devices.Requests, specPath.Child("devices", "requests"))
	},
	StatusOnly: true,
	ValidateStatus: func(c *check.Errors, now, old *resourcev1.ResourceClaim) {
		if old.Status.Allocation != nil && now.Status.Allocation != nil {
			c.Immutable(field.NewPath("status", "allocation"), now.Status.Allocation, old.Status.Allocation)
		}
		at := field.NewPath("status", "reservedFor")
		c.Forbid(len(now.Status.ReservedFor) > 0 && now.Status.Allocation == nil, at, "may not be specified when `allocated` is not set")
		users := check.Unique{}
		for i, by := range now.Status.ReservedFor {
			users.Check(c, at.Index(i), string(by.UID))
		}
	},
}

var templates = generic.Resource[*resourcev1.ResourceClaimTemplate]{
	Row:            rest.InNamespaces(group, "ResourceClaimTemplate", "resourceclaimtemplates", printers.Named),
	AnswersDeleted: true,
	Default:        func(o *resourcev1.ResourceClaimTemplate) { defaultRequests(&o.Spec.Spec.Devices) },
	Validate: func(c *check.Errors, now, _ *resourcev1.ResourceClaimTemplate) {
		requests(c, now.Spec.Spec.Devices.Requests, specPath.Child("spec", "devices", "requests"))
	},
}

// defaultRequests lets requests want one device.
func defaultRequests(of *resourcev1.DeviceClaim) {
	one := func(mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
		*mode = cmp.Or(*mode, resourcev1.DeviceAllocationModeExactCount)
		if *mode == resourcev1.DeviceAllocationModeExactCount {
			*count = cmp.Or(*count, 1)
		}
		defaultTolerations(tolerations)
	}
	for i := range of.Requests {
		request := &of.Requests[i]
		if request.Exactly != nil {
			one(&request.Exactly.AllocationMode, &request.Exactly.Count, request.Exactly.Tolerations)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			one(&sub.AllocationMode, &sub.Count, sub.Tolerations)
		}
	}
}

func defaultTolerations(tolerations []resourcev1.DeviceToleration) {
	for i := range tolerations {
		tolerations[i].Operator = cmp.Or(tolerations[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

func requests(c *check.Errors, all []resourcev1.DeviceRequest, path *field.Path) {
	for i, request := range all {
		at := path.Index(i)
		c.Label(at.Child("name"), request.Name)
		if exact := request.Exactly; exact != nil {
			c.Needs(at, "exactly.deviceClassName", exact.DeviceClassName)
		}
		if request.Exactly == nil && len(request.FirstAvailable) == 0 {
			c.Add(field.Required(at, "exactly one of `exactly` or `firstAvailable` is required"))
		}
	}
}

var resourceSlices = generic.Resource[*resourcev1.ResourceSlice]{
	Row:            rest.ClusterScoped(group, "ResourceSlice", "resourceslices", printers.ResourceSlices),
	AnswersDeleted: true,
	HasGeneration:  true,
	Fields: func(o *resourcev1.ResourceSlice) fields.Set {
		return fields.Set{resourcev1.ResourceSliceSelectorNodeName: *cmp.Or(o.Spec.NodeName, new("")), resourcev1.ResourceSliceSelectorDriver: o.Spec.Driver}
	},
	Validate: func(c *check.Errors, now, old *resourcev1.ResourceSlice) {
		podspec.DriverName(c, now.Spec.Driver, specPath.Child("driver"))
		spec := &now.Spec
		c.Needs(specPath, "pool.name", spec.Pool.Name)
		nowhere := spec.NodeName == nil && spec.NodeSelector == nil && spec.AllNodes == nil && spec.PerDeviceNodeSelection == nil
		c.RequiredIf(nowhere, specPath, "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required")
	},
}
