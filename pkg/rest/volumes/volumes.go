package volumes

import (
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// volumes returns the kind of volumes. Their status has the time at which its phase changed.
func volumes(now func() time.Time) generic.Kind[*corev1.PersistentVolume] {
	changed := func() *metav1.Time { return new(metav1.Time{Time: now().UTC()}.Rfc3339Copy()) }
	return generic.Kind[*corev1.PersistentVolume]{
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
		Default: defaults.PersistentVolume,
		Rules:   volumeRules,
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
