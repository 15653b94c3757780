// Package volumes has volumes, the claims for them, and what their drivers need.
package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group, coreGroup = storagev1.SchemeGroupVersion, corev1.SchemeGroupVersion

// Resources returns the table of the group, and the kinds of the group without a name that belong to it.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(claims.Rows(b), volumes.Rows(b), csidrivers.Rows(b), csinodes.Rows(b), csistoragecapacities.Rows(b), storageclasses.Rows(b), volumeattachments.Rows(b), volumeattributesclasses.Rows(b))
}

var csidrivers = generic.Kind[*storagev1.CSIDriver]{
	Row:     rest.ClusterScoped(group, "CSIDriver", "csidrivers", printers.Printer{}),
	Spec:    func(o *storagev1.CSIDriver) any { return &o.Spec },
	Counted: true,
}

var csinodes = generic.Kind[*storagev1.CSINode]{
	Row:  rest.ClusterScoped(group, "CSINode", "csinodes", printers.Printer{}),
	Spec: func(o *storagev1.CSINode) any { return &o.Spec },
}

var csistoragecapacities = generic.Kind[*storagev1.CSIStorageCapacity]{
	Row: rest.InNamespaces(group, "CSIStorageCapacity", "csistoragecapacities", printers.Printer{}),
}

var storageclasses = generic.Kind[*storagev1.StorageClass]{
	Row: rest.ClusterScoped(group, "StorageClass", "storageclasses", printers.Printer{}, "sc"),
}

var volumeattachments = generic.Kind[*storagev1.VolumeAttachment]{
	Row:    rest.ClusterScoped(group, "VolumeAttachment", "volumeattachments", printers.Printer{}),
	Spec:   func(o *storagev1.VolumeAttachment) any { return &o.Spec },
	Status: func(o *storagev1.VolumeAttachment) any { return &o.Status },
}

var volumeattributesclasses = generic.Kind[*storagev1.VolumeAttributesClass]{
	Row: rest.ClusterScoped(group, "VolumeAttributesClass", "volumeattributesclasses", printers.Printer{}, "vac"),
}

var claims = generic.Kind[*corev1.PersistentVolumeClaim]{
	Row:            rest.InNamespaces(coreGroup, "PersistentVolumeClaim", "persistentvolumeclaims", printers.Printer{}, "pvc"),
	Spec:           func(o *corev1.PersistentVolumeClaim) any { return &o.Spec },
	Status:         func(o *corev1.PersistentVolumeClaim) any { return &o.Status },
	AnswersDeleted: true,
}

var volumes = generic.Kind[*corev1.PersistentVolume]{
	Row:            rest.ClusterScoped(coreGroup, "PersistentVolume", "persistentvolumes", printers.Printer{}, "pv"),
	Spec:           func(o *corev1.PersistentVolume) any { return &o.Spec },
	Status:         func(o *corev1.PersistentVolume) any { return &o.Status },
	AnswersDeleted: true,
}
