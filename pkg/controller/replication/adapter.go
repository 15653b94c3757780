package replication

import (
	"cmp"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller"
)

// set is what a replication controller and a replica set have in common. It only reads the object.
type set struct {
	clientv1.Object
	replicas int
	selector labels.Selector         // an empty one selects nothing
	template *corev1.PodTemplateSpec // may be nil
	minReady time.Duration
	status   appsv1.ReplicaSetStatus
}

func (s *set) selects(pod *corev1.Pod) bool {
	return !s.selector.Empty() && s.selector.Matches(labels.Set(pod.Labels))
}

// makesItsOwn reports whether the pods of the template would count.
func (s *set) makesItsOwn() bool {
	return s.selects(&corev1.Pod{ObjectMeta: s.template.ObjectMeta})
}

// hasChanged reports whether an object is another one now, or wants something else.
func (s *set) hasChanged(current *set) bool {
	return current.GetUID() != s.GetUID() || current.GetDeletionTimestamp() != nil || current.GetGeneration() != s.GetGeneration()
}

// adapter lets a manager keep objects of one kind.
type adapter interface {
	// controllerKind is for references to an owner.
	controllerKind() schema.GroupVersionKind
	// addEventHandler calls functions for each object that there is or that changes, and for each that is deleted.
	addEventHandler(seen func(key string), deleted func(types.UID)) (hasSynced func() bool)
	// cached returns the object of a key in the cache, nil if there is none.
	cached(key string) *set
	// cachedIn returns the objects of a namespace in the cache, in no order.
	cachedIn(namespace string) []*set
	// confirm returns an object as the server has it, like controller.Confirm.
	confirm(ctx context.Context, s *set) (*set, error)
	// writeStatus writes the status, if that has changed, and waits until the cache shows it. Otherwise the server
	// would refuse the next one. The error is controller.ErrStale if the object has changed meanwhile.
	writeStatus(ctx context.Context, s *set, status appsv1.ReplicaSetStatus) error
}

// adapterOf implements adapter.
type adapterOf[T clientv1.Object] struct {
	schema.GroupVersionKind
	informer  *cache.SharedInformer[T]
	in        func(namespace string) clientv1.Resource[T]
	view      func(T) *set
	setStatus func(T, appsv1.ReplicaSetStatus)
}

func replicationControllers(c *clientv1.Client, i *informers.Informers) adapter {
	return adapterOf[*corev1.ReplicationController]{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ReplicationController"),
		informer:         i.ReplicationControllers(),
		in: func(namespace string) clientv1.Resource[*corev1.ReplicationController] {
			return c.In(namespace).ReplicationControllers().Resource
		},
		view: func(rc *corev1.ReplicationController) *set {
			return newSet(rc, rc.Spec.Replicas, labels.SelectorFromSet(rc.Spec.Selector), rc.Spec.Template, rc.Spec.MinReadySeconds, replicaSetStatus(rc.Status))
		},
		setStatus: func(rc *corev1.ReplicationController, status appsv1.ReplicaSetStatus) {
			rc.Status = replicationControllerStatus(status)
		},
	}
}

func replicaSets(c *clientv1.Client, i *informers.Informers) adapter {
	return adapterOf[*appsv1.ReplicaSet]{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		informer:         i.ReplicaSets(),
		in:               func(namespace string) clientv1.Resource[*appsv1.ReplicaSet] { return c.In(namespace).ReplicaSets() },
		view: func(rs *appsv1.ReplicaSet) *set {
			selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
			if err != nil || rs.Spec.Selector == nil { // no server takes it
				selector = labels.Everything()
			}
			return newSet(rs, rs.Spec.Replicas, selector, &rs.Spec.Template, rs.Spec.MinReadySeconds, rs.Status)
		},
		setStatus: func(rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) { rs.Status = status },
	}
}

func newSet(object clientv1.Object, replicas *int32, selector labels.Selector, template *corev1.PodTemplateSpec, minReadySeconds int32, status appsv1.ReplicaSetStatus) *set {
	return &set{Object: object, replicas: int(*cmp.Or(replicas, new(int32(1)))), selector: selector, template: template,
		minReady: time.Duration(minReadySeconds) * time.Second, status: status}
}

func (a adapterOf[T]) controllerKind() schema.GroupVersionKind { return a.GroupVersionKind }

func (a adapterOf[T]) addEventHandler(seen func(key string), deleted func(types.UID)) (hasSynced func() bool) {
	a.informer.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	handler := cache.OnChange(func(object T) { seen(cache.Key(object)) })
	handler.OnDelete = func(object T) { deleted(object.GetUID()) }
	return a.informer.AddEventHandler(handler)
}

func (a adapterOf[T]) cached(key string) *set {
	object, exists := a.informer.Store().Get(key)
	if !exists {
		return nil
	}
	return a.view(object)
}

func (a adapterOf[T]) cachedIn(namespace string) (all []*set) {
	for _, object := range a.informer.Store().ByIndex(cache.NamespaceIndex, namespace) {
		all = append(all, a.view(object))
	}
	return all
}

func (a adapterOf[T]) confirm(ctx context.Context, s *set) (*set, error) {
	object, err := controller.Confirm(ctx, a.in(s.GetNamespace()), s.Object.(T))
	if err != nil {
		return nil, err
	}
	return a.view(object), nil
}

func (a adapterOf[T]) writeStatus(ctx context.Context, s *set, status appsv1.ReplicaSetStatus) error {
	updated := s.DeepCopyObject().(T)
	a.setStatus(updated, status)
	if equality.Semantic.DeepEqual(a.view(updated).status, s.status) {
		return nil
	}
	written, err := a.in(s.GetNamespace()).UpdateStatus(ctx, updated)
	if err != nil {
		return controller.OrStale(err)
	}
	return controller.Await(ctx, controller.Shows(a.informer, written))
}

// replicaSetStatus returns the status of a replication controller as that of a replica set, which has more fields.
func replicaSetStatus(s corev1.ReplicationControllerStatus) appsv1.ReplicaSetStatus {
	status := appsv1.ReplicaSetStatus{Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas,
		AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration}
	for _, c := range s.Conditions {
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return status
}

func replicationControllerStatus(s appsv1.ReplicaSetStatus) corev1.ReplicationControllerStatus {
	status := corev1.ReplicationControllerStatus{Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas,
		AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration}
	for _, c := range s.Conditions {
		status.Conditions = append(status.Conditions, corev1.ReplicationControllerCondition{Type: corev1.ReplicationControllerConditionType(c.Type), Status: c.Status,
			LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	return status
}
