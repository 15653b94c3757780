// Package devices has the group resource.k8s.io: devices, and the claims for them.
package devices

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = resourcev1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(deviceclasses.Rows(b), resourceclaims.Rows(b), resourceclaimtemplates.Rows(b), resourceslices.Rows(b))
}

var deviceclasses = generic.Kind[*resourcev1.DeviceClass]{
	Row:     rest.ClusterScoped(group, "DeviceClass", "deviceclasses", printers.Printer{}),
	Spec:    func(o *resourcev1.DeviceClass) any { return &o.Spec },
	Counted: true,
}

var resourceclaims = generic.Kind[*resourcev1.ResourceClaim]{
	Row:    rest.InNamespaces(group, "ResourceClaim", "resourceclaims", printers.Printer{}),
	Spec:   func(o *resourcev1.ResourceClaim) any { return &o.Spec },
	Status: func(o *resourcev1.ResourceClaim) any { return &o.Status },
}

var resourceclaimtemplates = generic.Kind[*resourcev1.ResourceClaimTemplate]{
	Row:  rest.InNamespaces(group, "ResourceClaimTemplate", "resourceclaimtemplates", printers.Printer{}),
	Spec: func(o *resourcev1.ResourceClaimTemplate) any { return &o.Spec },
}

var resourceslices = generic.Kind[*resourcev1.ResourceSlice]{
	Row:     rest.ClusterScoped(group, "ResourceSlice", "resourceslices", printers.Printer{}),
	Spec:    func(o *resourcev1.ResourceSlice) any { return &o.Spec },
	Counted: true,
}
