package volumes

import (
	"cmp"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// volumes returns the kind of volumes. Their status has the time at which its phase changed.
func volumes(now func() time.Time) generic.Resource[*corev1.PersistentVolume] {
	changed := func() *metav1.Time { return new(metav1.Time{Time: now().UTC()}.Rfc3339Copy()) }
	return generic.Resource[*corev1.PersistentVolume]{
		Row:            rest.ClusterScoped(coreGroup, "PersistentVolume", "persistentvolumes", printers.Volumes, "pv"),
		AnswersDeleted: true,
		Fields:         func(o *corev1.PersistentVolume) fields.Set { return fields.Set{"name": o.Name} },
		Prepare: func(volume, old *corev1.PersistentVolume) {
			if old == nil {
				volume.Status.LastPhaseTransitionTime = changed()
			}
		},
		PrepareStatus: func(volume, old *corev1.PersistentVolume) {
			told, before := &volume.Status, &old.Status
			switch isOld := told.LastPhaseTransitionTime.Equal(before.LastPhaseTransitionTime); {
			case told.Phase == before.Phase && told.LastPhaseTransitionTime == nil:
				told.LastPhaseTransitionTime = before.LastPhaseTransitionTime
			case told.Phase != before.Phase && (told.LastPhaseTransitionTime == nil || isOld):
				told.LastPhaseTransitionTime = changed()
			}
		},
		Default:  defaults.PersistentVolume,
		Validate: volumeRules,
	}
}

func volumeRules(c *check.Errors, now, old *corev1.PersistentVolume) {
	spec := &now.Spec
	accessModes(c, spec.AccessModes, "")
	at := specPath.Child("capacity")
	c.Some(at, len(spec.Capacity), "")
	if _, there := spec.Capacity[corev1.ResourceStorage]; !there || len(spec.Capacity) > 1 {
		c.Add(field.NotSupported(at, spec.Capacity, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range check.SortedKeys(spec.Capacity) {
		size := spec.Capacity[name]
		c.InvalidIf(size.Sign() <= 0, at.Key(string(name)), size.String(), "must be greater than zero")
	}
	reclaim, atReclaim := spec.PersistentVolumeReclaimPolicy, specPath.Child("persistentVolumeReclaimPolicy")
	atAffinity := specPath.Child("nodeAffinity")
	if affinity := spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		podspec.NodeSelector(c, affinity.Required, atAffinity.Child("required"))
	} else if affinity != nil {
		c.Add(field.Required(atAffinity.Child("required"), "must specify required node constraints"))
	}
	podspec.PersistentSource(c, &spec.PersistentVolumeSource, specPath)
	c.RequiredIf(spec.Local != nil && spec.NodeAffinity == nil, atAffinity, "Local volume requires node affinity")
	c.Forbid(reclaim == corev1.PersistentVolumeReclaimRecycle && spec.HostPath != nil && path.Clean(spec.HostPath.Path) == "/", atReclaim, "may not be 'recycle' for a hostPath mount of '/'")
	c.OptionalName(specPath.Child("storageClassName"), spec.StorageClassName)
	if class, at := spec.VolumeAttributesClassName, specPath.Child("volumeAttributesClassName"); class != nil {
		c.RequiredIf(*class == "", at, "an empty string is disallowed")
		c.OptionalName(at, *class)
		c.RequiredIf(spec.CSI == nil, specPath.Child("csi"), "has to be specified when using volumeAttributesClassName")
	}
	if old != nil {
		volumeUpdate(c, spec, &old.Spec)
	}
}

// volumeUpdate lets the source of a volume stay. Only a missing secret for its expansion may be added.
func volumeUpdate(c *check.Errors, now, old *corev1.PersistentVolumeSpec) {
	source := *now.PersistentVolumeSource.DeepCopy()
	if source.CSI != nil && old.CSI != nil && old.CSI.ControllerExpandSecretRef == nil {
		source.CSI.ControllerExpandSecretRef = nil
	}
	if !check.Same(source, old.PersistentVolumeSource) {
		c.Add(field.Forbidden(specPath.Child("persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+diff.Diff(old.PersistentVolumeSource, source)))
	}
	c.Immutable(field.NewPath("volumeMode"), now.VolumeMode, old.VolumeMode)
	if old.NodeAffinity != nil {
		c.InvalidIf(!check.Same(now.NodeAffinity, old.NodeAffinity), field.NewPath("nodeAffinity"), now.NodeAffinity, "field is immutable, except for updating from beta label to GA")
	}
	c.Forbid(old.VolumeAttributesClassName != nil && now.VolumeAttributesClassName == nil, specPath.Child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden")
}

var claims = generic.Resource[*corev1.PersistentVolumeClaim]{
	Row:            rest.InNamespaces(coreGroup, "PersistentVolumeClaim", "persistentvolumeclaims", printers.Claims, "pvc"),
	AnswersDeleted: true,
	Fields:         func(o *corev1.PersistentVolumeClaim) fields.Set { return fields.Set{"name": o.Name} },
	Prepare: func(now, old *corev1.PersistentVolumeClaim) {
		spec := &now.Spec
		if hadData := old != nil && (old.Spec.DataSource != nil || old.Spec.DataSourceRef != nil); !hadData && spec.DataSourceRef == nil && !isCopied(spec.DataSource) {
			spec.DataSource = nil // today's server drops it without a word
		}
		copySource(spec)
	},
	Default:  defaults.PersistentVolumeClaim,
	Validate: claimRules,
	Warnings: warnings.PersistentVolumeClaim,
}

// isCopied reports whether the data of a claim come from another claim or from a snapshot.
func isCopied(from *corev1.TypedLocalObjectReference) bool {
	if from == nil {
		return false
	}
	kind := schema.GroupKind{Group: *cmp.Or(from.APIGroup, new("")), Kind: from.Kind}
	return kind == schema.GroupKind{Kind: "PersistentVolumeClaim"} || kind == schema.GroupKind{Group: "snapshot.storage.k8s.io", Kind: "VolumeSnapshot"}
}

// copySource sets the newer of the two references to the data of a claim to the older one, or the older to the newer, if
// only one is set.
func copySource(spec *corev1.PersistentVolumeClaimSpec) {
	older, newer := spec.DataSource, spec.DataSourceRef
	switch {
	case older != nil && newer == nil:
		spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: older.APIGroup, Kind: older.Kind, Name: older.Name}
	case older == nil && newer != nil && *cmp.Or(newer.Namespace, new("")) == "":
		spec.DataSource = &corev1.TypedLocalObjectReference{APIGroup: newer.APIGroup, Kind: newer.Kind, Name: newer.Name}
	}
}

func claimRules(c *check.Errors, now, old *corev1.PersistentVolumeClaim) {
	spec := &now.Spec
	accessModes(c, spec.AccessModes, "at least 1 access mode is required")
	if spec.Selector != nil {
		c.Selector(specPath.Child("selector"), spec.Selector)
	}
	podspec.StorageRequest(c, &spec.Resources, specPath.Child("resources"))
	c.OptionalName(specPath.Child("storageClassName"), *cmp.Or(spec.StorageClassName, new("")))
	c.OptionalName(specPath.Child("volumeAttributesClassName"), *cmp.Or(spec.VolumeAttributesClassName, new("")))
	if old != nil {
		claimUpdate(c, now, old)
	}
}

// claimUpdate lets the volume be named once. A bound claim may grow, and change its class of attributes.
func claimUpdate(c *check.Errors, now, old *corev1.PersistentVolumeClaim) {
	spec, before := now.Spec.DeepCopy(), old.Spec.DeepCopy()
	copySource(before)
	if before.VolumeName == "" {
		before.VolumeName = spec.VolumeName
	}
	if before.StorageClassName == nil && spec.StorageClassName != nil {
		before.StorageClassName = spec.StorageClassName // the claim is older than the default class
	}
	if now.Status.Phase == corev1.ClaimBound {
		if spec.Resources.Requests != nil {
			spec.Resources.Requests[corev1.ResourceStorage] = before.Resources.Requests[corev1.ResourceStorage]
		}
		spec.VolumeAttributesClassName = before.VolumeAttributesClassName
	}
	if !check.Same(spec, before) {
		c.Add(field.Forbidden(specPath, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"+diff.Diff(*before, *spec)))
	}
	c.Immutable(field.NewPath("volumeMode"), now.Spec.VolumeMode, old.Spec.VolumeMode)
	size, had, has := now.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage], old.Status.Capacity[corev1.ResourceStorage]
	c.Forbid(size.Cmp(had) < 0 && size.Cmp(has) <= 0, specPath.Child("resources", "requests", "storage"), "field can not be less than status.capacity")
	if class := now.Spec.VolumeAttributesClassName; old.Status.CurrentVolumeAttributesClassName != nil {
		at := specPath.Child("volumeAttributesClassName")
		c.Forbid(class == nil, at, "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
		c.Forbid(class != nil && *class == "", at, "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
	}
}
