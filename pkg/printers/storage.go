package printers

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Volumes prints *corev1.PersistentVolume.
var Volumes = table[corev1.PersistentVolume](name,
	with(text("Capacity", "spec.capacity"), size), with(text("Access Modes", "spec.accessModes"), modes), text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
	with(text("Status", "status.phase"), func(o *corev1.PersistentVolume) string { return phase(o, string(o.Status.Phase)) }),
	with(text("Claim", "spec.claimRef").or(""), func(to *corev1.ObjectReference) string { return to.Namespace + "/" + to.Name }),
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
		return strings.Join(each(all, func(token *storagev1.TokenRequest) string { return token.Audience }), ",")
	}),
	truth("RequiresRepublish", "spec.requiresRepublish"),
	with(text("Modes", "spec.volumeLifecycleModes"), func(all []storagev1.VolumeLifecycleMode) string {
		return cmp.Or(strings.Join(each(all, func(mode *storagev1.VolumeLifecycleMode) string { return string(*mode) }), ","), "<none>")
	}), age)

// ResourceClaims prints *resourcev1.ResourceClaim.
var ResourceClaims = table[resourcev1.ResourceClaim](name, with(text("State", "", "A summary of the current state (allocated, pending, reserved, etc.)."), claimState), age)

func claimState(claim *resourcev1.ResourceClaim) string {
	var states []string
	deleted, allocated := claim.DeletionTimestamp != nil, claim.Status.Allocation != nil
	for _, state := range []struct {
		in   bool
		name string
	}{{deleted, "deleted"}, {!allocated && !deleted, "pending"}, {allocated, "allocated"}, {allocated && len(claim.Status.ReservedFor) > 0, "reserved"}} {
		if state.in {
			states = append(states, state.name)
		}
	}
	return strings.Join(states, ",")
}

// ResourceSlices prints *resourcev1.ResourceSlice.
var ResourceSlices = table[resourcev1.ResourceSlice](name, text("Node", "spec.nodeName"), text("Driver", "spec.driver"), text("Pool", "spec.pool.name"), age)
