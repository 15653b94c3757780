package printers

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Volumes prints *corev1.PersistentVolume.
var Volumes = table[corev1.PersistentVolume](name,
	with(text("Capacity", "spec.capacity"), size), with(text("Access Modes", "spec.accessModes"), modes), text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
	with(text("Status", "status.phase"), func(o *corev1.PersistentVolume) string { return phase(o, string(o.Status.Phase)) }),
	with(text("Claim", "spec.claimRef"), func(to *corev1.ObjectReference) string {
		if to == nil {
			return ""
		}
		return to.Namespace + "/" + to.Name
	}),
	with(text("StorageClass", "", "StorageClass of the pv"), func(o *corev1.PersistentVolume) string { return classOf(o, &o.Spec.StorageClassName) }),
	text("VolumeAttributesClass", "spec.volumeAttributesClassName", "VolumeAttributesClass of the pv").or("<unset>"),
	text("Reason", "status.reason"), age, wide(text("VolumeMode", "spec.volumeMode").or("<unset>")))

// Claims prints *corev1.PersistentVolumeClaim.
var Claims = table[corev1.PersistentVolumeClaim](name,
	with(text("Status", "status.phase"), func(o *corev1.PersistentVolumeClaim) string { return phase(o, string(o.Status.Phase)) }),
	text("Volume", "spec.volumeName"),
	with(text("Capacity", "status.capacity"), func(o *corev1.PersistentVolumeClaim) string { return ifBound(o, size(o.Status.Capacity)) }),
	with(text("Access Modes", "status.accessModes"), func(o *corev1.PersistentVolumeClaim) string { return ifBound(o, modes(o.Status.AccessModes)) }),
	with(text("StorageClass", "", "StorageClass of the pvc"), func(o *corev1.PersistentVolumeClaim) string { return classOf(o, o.Spec.StorageClassName) }),
	text("VolumeAttributesClass", "spec.volumeAttributesClassName", "VolumeAttributesClass of the pvc").or("<unset>"),
	age, wide(text("VolumeMode", "spec.volumeMode").or("<unset>")))

func ifBound(claim *corev1.PersistentVolumeClaim, text string) string {
	if claim.Spec.VolumeName == "" {
		return ""
	}
	return text
}

func size(of corev1.ResourceList) string {
	storage := of[corev1.ResourceStorage]
	return storage.String()
}

func phase(object metav1.Object, phase string) string {
	if object.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	return phase
}

// classOf returns the class of a volume or claim, which an old annotation may name.
func classOf(object metav1.Object, class *string) string {
	if old, there := object.GetAnnotations()[corev1.BetaStorageClassAnnotation]; there {
		return old
	}
	return *cmp.Or(class, new(""))
}

// modes returns the short names of access modes.
func modes(of []corev1.PersistentVolumeAccessMode) string {
	var short []string
	for _, mode := range []struct {
		mode corev1.PersistentVolumeAccessMode
		name string
	}{{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"}} {
		if slices.Contains(of, mode.mode) {
			short = append(short, mode.name)
		}
	}
	return strings.Join(short, ",")
}

// StorageClasses prints *storagev1.StorageClass.
var StorageClasses = table[storagev1.StorageClass](
	withDefault(name, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"),
	text("Provisioner", "provisioner"), text("ReclaimPolicy", "reclaimPolicy").or("Delete"), text("VolumeBindingMode", "volumeBindingMode").or("Immediate"),
	text("AllowVolumeExpansion", "allowVolumeExpansion"), age)

// AttributesClasses prints *storagev1.VolumeAttributesClass.
var AttributesClasses = table[storagev1.VolumeAttributesClass](name, text("DriverName", "driverName"), age)

// Attachments prints *storagev1.VolumeAttachment.
var Attachments = table[storagev1.VolumeAttachment](name, text("Attacher", "spec.attacher").as("name"), text("PV", "spec.source.persistentVolumeName"),
	text("Node", "spec.nodeName"), truth("Attached", "status.attached"), age)

// CSINodes prints *storagev1.CSINode.
var CSINodes = table[storagev1.CSINode](name, count(number("Drivers", "spec.drivers", "Drivers indicates the number of CSI drivers registered on the node")), age)

// CSIDrivers prints *storagev1.CSIDriver.
var CSIDrivers = table[storagev1.CSIDriver](name,
	truth("AttachRequired", "spec.attachRequired").or(true), truth("PodInfoOnMount", "spec.podInfoOnMount"), truth("StorageCapacity", "spec.storageCapacity"),
	with(text("TokenRequests", "spec.tokenRequests"), func(all []storagev1.TokenRequest) string {
		if all == nil {
			return "<unset>"
		}
		var audiences []string
		for _, token := range all {
			audiences = append(audiences, token.Audience)
		}
		return strings.Join(audiences, ",")
	}),
	truth("RequiresRepublish", "spec.requiresRepublish"),
	with(text("Modes", "spec.volumeLifecycleModes"), func(all []storagev1.VolumeLifecycleMode) string {
		var modes []string
		for _, mode := range all {
			modes = append(modes, string(mode))
		}
		return cmp.Or(strings.Join(modes, ","), "<none>")
	}), age)
