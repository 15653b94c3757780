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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// While a deleted object is used, it is looked at again after half the time since its deletion, between minPause and
// maxPause: nothing else tells when the last pod of a claim is gone, as an informer of all pods would cost more memory.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// Config is what the controllers need.
type Config struct {
	Client *clientv1.Client
	// Around is put around the work on one namespace, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// Controller removes a finalizer from deleted objects that are not used, and adds it to others that lack it. Its work can
// be interrupted at any moment and repeated, also by several controllers at once.
type Controller[T clientv1.Object] struct {
	config    Config
	finalizer string
	// in returns the objects of a namespace, "" for those without.
	in func(namespace string) clientv1.Resource[T]
	// used asks what is used in a namespace.
	used     func(ctx context.Context, namespace string) (isUsed func(object T) bool, err error)
	informer *cache.SharedInformer[T]
	synced   func() bool
	queue    *workqueue.Queue // of namespaces, so that their pods are listed once for all claims
}

// NewClaimController returns a controller of claims, which pods use.
func NewClaimController(config Config) *Controller[*corev1.PersistentVolumeClaim] {
	in := func(namespace string) clientv1.Resource[*corev1.PersistentVolumeClaim] {
		return config.Client.In(namespace).PersistentVolumeClaims()
	}
	return newController("claim protection controller", config, v1.ClaimFinalizer, in, config.usedByPods)
}

// NewVolumeController returns a controller of volumes, which claims use.
func NewVolumeController(config Config) *Controller[*corev1.PersistentVolume] {
	in := func(string) clientv1.Resource[*corev1.PersistentVolume] { return config.Client.PersistentVolumes() }
	return newController("volume protection controller", config, v1.VolumeFinalizer, in, func(context.Context, string) (func(*corev1.PersistentVolume) bool, error) {
		return func(volume *corev1.PersistentVolume) bool { return volume.Status.Phase == corev1.VolumeBound }, nil
	})
}

// NewClassController returns a controller of classes of attributes, which claims and volumes use.
func NewClassController(config Config) *Controller[*storagev1.VolumeAttributesClass] {
	in := func(string) clientv1.Resource[*storagev1.VolumeAttributesClass] {
		return config.Client.VolumeAttributesClasses()
	}
	return newController("class protection controller", config, v1.AttributesClassFinalizer, in, config.usedByVolumes)
}

func newController[T clientv1.Object](name string, config Config, finalizer string, in func(string) clientv1.Resource[T], used func(context.Context, string) (func(T) bool, error)) *Controller[T] {
	c := &Controller[T]{config: config, finalizer: finalizer, in: in, used: used, queue: workqueue.New(name)}
	c.informer = cache.NewSharedInformer(name, in("").Everywhere(), 0)
	c.informer.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	add := func(object T) {
		if c.isDue(object) {
			c.queue.Add(object.GetNamespace())
		}
	}
	c.synced = c.informer.AddHandler(cache.Handler[T]{OnAdd: add, OnUpdate: func(_, object T) { add(object) }})
	return c
}

// Run works with a number of workers until the context ends. It is called once.
func (c *Controller[T]) Run(ctx context.Context, workers int) {
	go c.informer.Run(ctx)
	if cache.WaitForSync(ctx, c.synced) {
		c.queue.Run(ctx, workers, workqueue.Sync(c.sync).Inside(c.config.Around))
	}
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
	isUsed, err := c.used(ctx, namespace)
	if err != nil {
		return err
	}
	var errs []error
	for _, object := range due {
		if deleted := object.GetDeletionTimestamp(); deleted != nil && isUsed(object) {
			c.queue.AddAfter(namespace, min(max(time.Since(deleted.Time)/2, minPause), maxPause))
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
	switch {
	case apierrors.IsConflict(err):
		c.queue.AddAfter(object.GetNamespace(), minPause)
	case !apierrors.IsNotFound(err):
		return err
	}
	return nil
}

// use is the use of a claim: by any pod, or, if it was made for a pod, by that one.
type use struct {
	claim string
	maker types.UID // "" for any pod
}

// usedByPods asks the server for the pods on nodes, so that none is missed. As today, a pod that has ended uses its
// claims until it is deleted; a claim that was made for it is free once the kubelet has shut it down.
func (c Config) usedByPods(ctx context.Context, namespace string) (isUsed func(*corev1.PersistentVolumeClaim) bool, err error) {
	uses := map[use]bool{}
	for pod, err := range c.Client.In(namespace).Pods().All(ctx, metav1.ListOptions{}) {
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
func (c Config) usedByVolumes(ctx context.Context, _ string) (isUsed func(*storagev1.VolumeAttributesClass) bool, err error) {
	names := map[string]bool{}
	use := func(name *string) {
		if name != nil {
			names[*name] = true
		}
	}
	for claim, err := range c.Client.PersistentVolumeClaims().Everywhere().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		use(claim.Spec.VolumeAttributesClassName)
		use(claim.Status.CurrentVolumeAttributesClassName)
		if changing := claim.Status.ModifyVolumeStatus; changing != nil {
			use(&changing.TargetVolumeAttributesClassName)
		}
	}
	for volume, err := range c.Client.PersistentVolumes().All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return nil, err
		}
		use(volume.Spec.VolumeAttributesClassName)
	}
	return func(class *storagev1.VolumeAttributesClass) bool { return names[class.Name] }, nil
}
