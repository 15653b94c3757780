package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"kube2014/pkg/admission"
	v1 "kube2014/pkg/api/v1"
)

var claims = corev1.Resource("persistentvolumeclaims")

// storageClasses is the part of the plugins that know the classes of storage.
type storageClasses struct {
	scope
	*classes[*storagev1.StorageClass]
}

func newStorageClasses(operations []admission.Operation) storageClasses {
	return storageClasses{on(operations, claims), newClasses[*storagev1.StorageClass](storagev1.SchemeGroupVersion.WithKind("StorageClass"), "storageclasses")}
}

type defaultStorageClass struct{ storageClasses }

// NewDefaultStorageClass creates a plugin that gives new claims without a class the one that is marked as default. It is
// an admission.Factory.
func NewDefaultStorageClass(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(&defaultStorageClass{newStorageClasses(onCreate)}, configuration)
}

// The annotations of a default class, and its elder.
const (
	isDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	isDefaultClassBeta = "storageclass.beta.kubernetes.io/is-default-class"
)

// Admit implements admission.MutationInterface.
func (d *defaultStorageClass) Admit(_ context.Context, a *admission.Attributes) error {
	claim, isClaim := a.Object.(*corev1.PersistentVolumeClaim)
	if !isClaim || claim.Spec.StorageClassName != nil {
		return nil
	}
	if _, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named {
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
// finalizer, so that they stay while they are used. Package volumeprotection removes it. It is an admission.Factory.
func NewStorageObjectInUseProtection(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(inUse{on(onCreate, claims, corev1.Resource("persistentvolumes"), storagev1.Resource("volumeattributesclasses"))}, configuration)
}

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
	default:
		return nil
	}
	if has := a.Object.GetFinalizers(); !slices.Contains(has, finalizer) {
		a.Object.SetFinalizers(append(has, finalizer))
	}
	return nil
}

type resize struct{ storageClasses }

// NewPersistentVolumeClaimResize creates a plugin that lets claims grow only if they are bound and their class allows it.
// It is an admission.Factory.
func NewPersistentVolumeClaimResize(configuration json.RawMessage) (admission.Interface, error) {
	return WithoutConfiguration(&resize{newStorageClasses(onUpdate)}, configuration)
}

// Validate implements admission.ValidationInterface.
func (r *resize) Validate(_ context.Context, a *admission.Attributes) error {
	claim, isClaim := a.Object.(*corev1.PersistentVolumeClaim)
	old, wasClaim := a.OldObject.(*corev1.PersistentVolumeClaim)
	if !isClaim || !wasClaim || claim.Spec.Resources.Requests.Storage().Cmp(*old.Spec.Resources.Requests.Storage()) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.Forbidden(a, errors.New("Only bound persistent volume claims can be expanded")) //lint:ignore ST1005 the words of today's server
	}
	var class *storagev1.StorageClass
	if name := classOf(claim); name != "" && name == classOf(old) {
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

// classOf returns the name of a claim's class, "" for none.
func classOf(claim *corev1.PersistentVolumeClaim) string {
	if name, named := claim.Annotations[corev1.BetaStorageClassAnnotation]; named {
		return name
	}
	return *cmp.Or(claim.Spec.StorageClassName, new(""))
}
