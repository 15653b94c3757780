// Package volumeprotection keeps claims, volumes and classes of their attributes that are deleted until nothing uses them,
// as a client of the API.
package volumeprotection

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// While a deleted object is used, it is looked at again after half the time since its deletion, between minPause and
// maxPause: nothing else tells when the last pod of a claim is gone, as an informer of all pods would cost more memory.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// Controller removes a finalizer from deleted objects that are not used, and adds it to others that lack it. Its work can
// be interrupted at any moment and repeated, also by several controllers at once.
type Controller[T clientv1.Object] struct {
	*controller.Loop // over namespaces, so that their pods are listed once for all claims
	finalizer        string
	// in returns the objects of a namespace, "" for those without.
	in func(namespace string) clientv1.Resource[T]
	// used asks what is used in a namespace.
	used     func(ctx context.Context, client *clientv1.Client, namespace string) (isUsed func(object T) bool, err error)
	informer *cache.SharedInformer[T]
}

// NewClaimController returns a controller of claims, which pods use.
func NewClaimController(config controller.Config) *Controller[*corev1.PersistentVolumeClaim] {
	in := func(namespace string) clientv1.Resource[*corev1.PersistentVolumeClaim] {
		return config.Client.In(namespace).PersistentVolumeClaims()
	}
	return newController("claim protection controller", config, v1.ClaimFinalizer, in, usedByPods)
}

// NewVolumeController returns a controller of volumes, which claims use.
func NewVolumeController(config controller.Config) *Controller[*corev1.PersistentVolume] {
	in := func(string) clientv1.Resource[*corev1.PersistentVolume] { return config.Client.PersistentVolumes() }
	return newController("volume protection controller", config, v1.VolumeFinalizer, in, func(context.Context, *clientv1.Client, string) (func(*corev1.PersistentVolume) bool, error) {
		return func(volume *corev1.PersistentVolume) bool { return volume.Status.Phase == corev1.VolumeBound }, nil
	})
}

// NewClassController returns a controller of classes of attributes, which claims and volumes use.
func NewClassController(config controller.Config) *Controller[*storagev1.VolumeAttributesClass] {
	in := func(string) clientv1.Resource[*storagev1.VolumeAttributesClass] {
		return config.Client.VolumeAttributesClasses()
	}
	return newController("class protection controller", config, v1.AttributesClassFinalizer, in, usedByVolumes)
}

func newController[T clientv1.Object](name string, config controller.Config, finalizer string, in func(string) clientv1.Resource[T],
	used func(context.Context, *clientv1.Client, string) (func(T) bool, error)) *Controller[T] {
	c := &Controller[T]{finalizer: finalizer, in: in, used: used}
	c.Loop = controller.NewLoop(config, name, c.sync)
	c.informer = controller.Own(c.Loop, in("").Everywhere(), 0)
	c.informer.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	controller.Handle(c.Loop, c.informer, cache.OnChange(func(object T) {
		if c.isDue(object) {
			c.Queue.Add(object.GetNamespace())
		}
	}))
	return c
}

// isDue reports whether an object is deleted and has the finalizer, or neither.
func (c *Controller[T]) isDue(object T) bool {
	return slices.Contains(object.GetFinalizers(), c.finalizer) == (object.GetDeletionTimestamp() != nil)
}

// sync asks what is used after it knows what is deleted: as kubelets refuse a deleted claim, it is not used again.
func (c *Controller[T]) sync(ctx context.Context, namespace string) error {
	due := slices.DeleteFunc(c.informer.Store().ByIndex(cache.NamespaceIndex, namespace), func(object T) bool { return !c.isDue(object) })
	if len(due) == 0 {
		return nil
	}
	isUsed, err := c.used(ctx, c.Client, namespace)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range due {
		if deleted := object.GetDeletionTimestamp(); deleted != nil && isUsed(object) {
			c.Queue.AddAfter(namespace, min(max(time.Since(deleted.Time)/2, minPause), maxPause))
			continue
		}
		errs = append(errs, c.toggle(ctx, object))
	}
	return errors.Join(errs...)
}

// toggle adds or removes the finalizer if the object is still as the informer has seen it.
func (c *Controller[T]) toggle(ctx context.Context, object T) error {
	object = object.DeepCopyObject().(T)
	others := slices.DeleteFunc(object.GetFinalizers(), func(finalizer string) bool { return finalizer == c.finalizer })
	if object.GetDeletionTimestamp() == nil {
		others = append(others, c.finalizer)
	}
	object.SetFinalizers(others)
	_, err := c.in(object.GetNamespace()).Update(ctx, object)
	return c.Outrun(object.GetNamespace(), minPause, err)
}

// use is the use of a claim: by any pod, or, if it was made for a pod, by that one.
type use struct {
	claim string
	maker types.UID // "" for any pod
}

// usedByPods asks the server for the pods on nodes, so that none is missed. As today, a pod that has ended uses its
// claims until it is deleted; a claim that was made for it is free once the kubelet has shut it down.
func usedByPods(ctx context.Context, client *clientv1.Client, namespace string) (isUsed func(*corev1.PersistentVolumeClaim) bool, err error) {
	uses := map[use]bool{}
	for pod, err := range client.In(namespace).Pods().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		grace := pod.DeletionGracePeriodSeconds
		isShutDown := pod.DeletionTimestamp != nil && grace != nil && *grace == 0
		for _, volume := range pod.Spec.Volumes {
			switch named := volume.PersistentVolumeClaim; {
			case pod.Spec.NodeName == "":
			case named != nil:
				uses[use{claim: named.ClaimName}] = true
			case volume.Ephemeral != nil && !isShutDown:
				uses[use{pod.Name + "-" + volume.Name, pod.UID}] = true
			}
		}
	}
	return func(claim *corev1.PersistentVolumeClaim) bool {
		maker := metav1.GetControllerOfNoCopy(claim)
		return uses[use{claim: claim.Name}] || maker != nil && uses[use{claim.Name, maker.UID}]
	}, nil
}

// usedByVolumes asks the server for all claims and volumes. A claim also uses the class that it has now, and the one that it
// gets.
func usedByVolumes(ctx context.Context, client *clientv1.Client, _ string) (isUsed func(*storagev1.VolumeAttributesClass) bool, err error) {
	names := map[string]bool{}
	use := func(name *string) {
		if name != nil {
			names[*name] = true
		}
	}
	for claim, err := range client.PersistentVolumeClaims().Everywhere().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		use(claim.Spec.VolumeAttributesClassName)
		use(claim.Status.CurrentVolumeAttributesClassName)
		if changing := claim.Status.ModifyVolumeStatus; changing != nil {
			use(&changing.TargetVolumeAttributesClassName)
		}
	}
	for volume, err := range client.PersistentVolumes().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		use(volume.Spec.VolumeAttributesClassName)
	}
	return func(class *storagev1.VolumeAttributesClass) bool { return names[class.Name] }, nil
}
