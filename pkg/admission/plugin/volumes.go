package plugin

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kube2014/pkg/admission"
	v1 "kube2014/pkg/api/v1"
	podsutil "kube2014/pkg/util/pods"
)

var claims = corev1.Resource("persistentvolumeclaims")

// storageClasses is the part of the plugins that know the classes of storage.
type storageClasses struct {
	scope
	*classes[*storagev1.StorageClass]
}

func newStorageClasses(operations admission.Operations) storageClasses {
	return storageClasses{on(operations, claims), newClasses[*storagev1.StorageClass](storagev1.SchemeGroupVersion.WithKind("StorageClass"), "storageclasses")}
}

type defaultStorageClass struct{ storageClasses }

// NewDefaultStorageClass creates a plugin that gives new claims without a class the one that is marked as default.
var NewDefaultStorageClass = WithoutConfiguration(func() admission.Interface { return &defaultStorageClass{newStorageClasses(onCreate)} })

// The annotations of a default class, and its elder.
const (
	isDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	isDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// Admit implements admission.MutationInterface.
func (d *defaultStorageClass) Admit(_ context.Context, a *admission.Attributes) error {
	claim := a.Object.(*corev1.PersistentVolumeClaim)
	if _, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named || claim.Spec.StorageClassName != nil {
		return nil
	}
	class, err := d.marked(isDefaultClass, isDefaultClassBeta)
	if class != nil {
		claim.Spec.StorageClassName = new(class.Name)
	}
	return err
}

type inUse struct{ scope }

// NewStorageObjectInUseProtection creates a plugin that gives new claims, volumes and classes of their attributes a
// finalizer, so that they stay while they are used. Package volumeprotection removes it.
var NewStorageObjectInUseProtection = WithoutConfiguration(func() admission.Interface {
	return inUse{on(onCreate, claims, corev1.Resource("persistentvolumes"), storagev1.Resource("volumeattributesclasses"))}
})

// Admit implements admission.MutationInterface.
func (inUse) Admit(_ context.Context, a *admission.Attributes) error {
	finalizer := ""
	switch a.Object.(type) {
	case *corev1.PersistentVolumeClaim:
		finalizer = v1.ClaimFinalizer
	case *corev1.PersistentVolume:
		finalizer = v1.VolumeFinalizer
	case *storagev1.VolumeAttributesClass:
		finalizer = v1.AttributesClassFinalizer
	default: // a custom resource of that group
		return nil
	}
	if has := a.Object.GetFinalizers(); !slices.Contains(has, finalizer) {
		a.Object.SetFinalizers(append(has, finalizer))
	}
	return nil
}

type resize struct{ storageClasses }

// NewPersistentVolumeClaimResize creates a plugin that lets claims grow only if they are bound and their class allows it.
var NewPersistentVolumeClaimResize = WithoutConfiguration(func() admission.Interface { return &resize{newStorageClasses(onUpdate)} })

// Validate implements admission.ValidationInterface.
func (r *resize) Validate(_ context.Context, a *admission.Attributes) error {
	claim, old := a.Object.(*corev1.PersistentVolumeClaim), a.OldObject.(*corev1.PersistentVolumeClaim)
	if claim.Spec.Resources.Requests.Storage().Cmp(*old.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.Forbidden(a, errors.New("Only bound persistent volume claims can be expanded")) //lint:ignore ST1005 the words of today's server
	}
	var class *storagev1.StorageClass
	if name := podsutil.ClassOf(claim); name != "" && name == podsutil.ClassOf(old) {
		var err error
		if class, err = r.get(name); err != nil {
			return err
		}
	}
	if class == nil || class.AllowVolumeExpansion == nil || !*class.AllowVolumeExpansion {
		return admission.Forbidden(a, errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
	}
	return nil
}
