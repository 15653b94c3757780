package printers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	volumeDoc, claimDoc, claimStatusDoc = corev1.PersistentVolumeSpec{}.SwaggerDoc(), corev1.PersistentVolumeClaimSpec{}.SwaggerDoc(), corev1.PersistentVolumeClaimStatus{}.SwaggerDoc()
	volumeStatusDoc                     = corev1.PersistentVolumeStatus{}.SwaggerDoc()
	classDoc, driverDoc                 = storagev1.StorageClass{}.SwaggerDoc(), storagev1.CSIDriverSpec{}.SwaggerDoc()
	attachmentDoc                       = storagev1.VolumeAttachmentSpec{}.SwaggerDoc()
)

// Volumes prints *corev1.PersistentVolume.
var Volumes = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Capacity", volumeDoc["capacity"]),
		text("Access Modes", volumeDoc["accessModes"]),
		text("Reclaim Policy", volumeDoc["persistentVolumeReclaimPolicy"]),
		text("Status", volumeStatusDoc["phase"]),
		text("Claim", volumeDoc["claimRef"]),
		text("StorageClass", "StorageClass of the pv"),
		text("VolumeAttributesClass", "VolumeAttributesClass of the pv"),
		text("Reason", volumeStatusDoc["reason"]),
		ageColumn,
		wide(text("VolumeMode", volumeDoc["volumeMode"])),
	},
	Cells: of(func(volume *corev1.PersistentVolume, now time.Time) []any {
		spec, claim := &volume.Spec, ""
		if ref := spec.ClaimRef; ref != nil {
			claim = ref.Namespace + "/" + ref.Name
		}
		return []any{volume.Name, size(spec.Capacity), modes(spec.AccessModes), string(spec.PersistentVolumeReclaimPolicy),
			phase(volume, string(volume.Status.Phase)), claim, classOf(volume, &spec.StorageClassName), orUnset(spec.VolumeAttributesClassName),
			volume.Status.Reason, since(volume.CreationTimestamp.Time, now), orUnset(spec.VolumeMode)}
	}),
}

// Claims prints *corev1.PersistentVolumeClaim.
var Claims = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Status", claimStatusDoc["phase"]),
		text("Volume", claimDoc["volumeName"]),
		text("Capacity", claimStatusDoc["capacity"]),
		text("Access Modes", claimStatusDoc["accessModes"]),
		text("StorageClass", "StorageClass of the pvc"),
		text("VolumeAttributesClass", "VolumeAttributesClass of the pvc"),
		ageColumn,
		wide(text("VolumeMode", claimDoc["volumeMode"])),
	},
	Cells: of(func(claim *corev1.PersistentVolumeClaim, now time.Time) []any {
		spec, capacity, access := &claim.Spec, "", ""
		if spec.VolumeName != "" {
			capacity, access = size(claim.Status.Capacity), modes(claim.Status.AccessModes)
		}
		return []any{claim.Name, phase(claim, string(claim.Status.Phase)), spec.VolumeName, capacity, access, classOf(claim, spec.StorageClassName),
			orUnset(spec.VolumeAttributesClassName), since(claim.CreationTimestamp.Time, now), orUnset(spec.VolumeMode)}
	}),
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

func orUnset[T ~string](value *T) string { return string(*cmp.Or(value, new(T("<unset>")))) }

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
var StorageClasses = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Provisioner", classDoc["provisioner"]),
		text("ReclaimPolicy", classDoc["reclaimPolicy"]),
		text("VolumeBindingMode", classDoc["volumeBindingMode"]),
		text("AllowVolumeExpansion", classDoc["allowVolumeExpansion"]),
		ageColumn,
	},
	Cells: of(func(class *storagev1.StorageClass, now time.Time) []any {
		name := class.Name
		if class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true" {
			name += " (default)"
		}
		return []any{name, class.Provisioner, string(*cmp.Or(class.ReclaimPolicy, new(corev1.PersistentVolumeReclaimDelete))),
			string(*cmp.Or(class.VolumeBindingMode, new(storagev1.VolumeBindingImmediate))), *cmp.Or(class.AllowVolumeExpansion, new(false)),
			since(class.CreationTimestamp.Time, now)}
	}),
}

// AttributesClasses prints *storagev1.VolumeAttributesClass.
var AttributesClasses = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("DriverName", storagev1.VolumeAttributesClass{}.SwaggerDoc()["driverName"]), ageColumn},
	Cells: of(func(class *storagev1.VolumeAttributesClass, now time.Time) []any {
		return []any{class.Name, class.DriverName, since(class.CreationTimestamp.Time, now)}
	}),
}

// Attachments prints *storagev1.VolumeAttachment.
var Attachments = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		{Name: "Attacher", Type: "string", Format: "name", Description: attachmentDoc["attacher"]},
		text("PV", storagev1.VolumeAttachmentSource{}.SwaggerDoc()["persistentVolumeName"]),
		text("Node", attachmentDoc["nodeName"]),
		truth("Attached", storagev1.VolumeAttachmentStatus{}.SwaggerDoc()["attached"]),
		ageColumn,
	},
	Cells: of(func(attachment *storagev1.VolumeAttachment, now time.Time) []any {
		spec := &attachment.Spec
		return []any{attachment.Name, spec.Attacher, *cmp.Or(spec.Source.PersistentVolumeName, new("")), spec.NodeName, attachment.Status.Attached,
			since(attachment.CreationTimestamp.Time, now)}
	}),
}

// CSINodes prints *storagev1.CSINode.
var CSINodes = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, number("Drivers", "Drivers indicates the number of CSI drivers registered on the node"), ageColumn},
	Cells: of(func(node *storagev1.CSINode, now time.Time) []any {
		return []any{node.Name, int64(len(node.Spec.Drivers)), since(node.CreationTimestamp.Time, now)}
	}),
}

// CSIDrivers prints *storagev1.CSIDriver.
var CSIDrivers = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		truth("AttachRequired", driverDoc["attachRequired"]),
		truth("PodInfoOnMount", driverDoc["podInfoOnMount"]),
		truth("StorageCapacity", driverDoc["storageCapacity"]),
		text("TokenRequests", driverDoc["tokenRequests"]),
		truth("RequiresRepublish", driverDoc["requiresRepublish"]),
		text("Modes", driverDoc["volumeLifecycleModes"]),
		ageColumn,
	},
	Cells: of(func(driver *storagev1.CSIDriver, now time.Time) []any {
		spec, tokens := &driver.Spec, "<unset>"
		var audiences, modes []string
		for _, token := range spec.TokenRequests {
			audiences = append(audiences, token.Audience)
		}
		if spec.TokenRequests != nil {
			tokens = strings.Join(audiences, ",")
		}
		for _, mode := range spec.VolumeLifecycleModes {
			modes = append(modes, string(mode))
		}
		return []any{driver.Name, *cmp.Or(spec.AttachRequired, new(true)), *cmp.Or(spec.PodInfoOnMount, new(false)), *cmp.Or(spec.StorageCapacity, new(false)),
			tokens, *cmp.Or(spec.RequiresRepublish, new(false)), cmp.Or(strings.Join(modes, ","), "<none>"), since(driver.CreationTimestamp.Time, now)}
	}),
}
