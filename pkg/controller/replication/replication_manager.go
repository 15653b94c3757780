// Package replication creates and deletes the pods of replication controllers, as a client of the API.
package replication

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/pods"
	"kube2014/pkg/util/workqueue"
)

// Config is what a ReplicationManager needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Around is put around the work on one replication controller, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	// stalePause is the pause before a retry with a stale cache, unless a change of the controller
	// or of its pods comes first.
	stalePause = time.Second

	// burstReplicas is how many pods a sync creates or deletes at most. After that the status is
	// updated, and the wanted number is read again.
	burstReplicas = 500

	ownerIndex     = "replication manager: uid of the controller"
	ownerNameIndex = "replication manager: namespace and name of the controller"
	orphanIndex    = "replication manager: namespace of what has no controller"
)

// errStale reports that the server has something newer than the cache. The sync is retried, and
// nothing is logged.
var errStale = errors.New("the copy is behind")

// ReplicationManager gives each replication controller as many pods as it wants.
type ReplicationManager struct {
	config      Config
	controllers *cache.SharedInformer[*corev1.ReplicationController]
	pods        *cache.SharedInformer[*corev1.Pod]
	synced      []func() bool
	queue       *workqueue.Queue
	unsettled   sync.Map // by the uid of a controller, the name of a pod that was requested without an answer
}

// NewReplicationManager returns a manager that has its handlers at the informers. They must be run
// by the caller.
func NewReplicationManager(config Config) *ReplicationManager {
	m := &ReplicationManager{config: config, controllers: config.Informers.ReplicationControllers(), pods: config.Informers.Pods(),
		queue: workqueue.New("replication_manager")}
	m.controllers.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	m.pods.Store().AddIndex(ownerIndex, func(pod *corev1.Pod) []string {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			return []string{string(owner.UID)}
		}
		return nil
	})
	m.pods.Store().AddIndex(ownerNameIndex, func(pod *corev1.Pod) []string {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "ReplicationController" {
			return []string{cache.KeyOf(pod.Namespace, owner.Name)}
		}
		return nil
	})
	m.pods.Store().AddIndex(orphanIndex, func(pod *corev1.Pod) []string {
		if metav1.GetControllerOfNoCopy(pod) == nil {
			return []string{pod.Namespace}
		}
		return nil
	})
	add := func(rc *corev1.ReplicationController) { m.queue.Add(cache.Key(rc)) }
	m.synced = []func() bool{
		m.controllers.AddHandler(cache.Handler[*corev1.ReplicationController]{
			OnAdd: add, OnUpdate: func(_, rc *corev1.ReplicationController) { add(rc) },
			OnDelete: func(rc *corev1.ReplicationController) { m.unsettled.Delete(rc.UID) },
		}),
		m.pods.AddHandler(cache.Handler[*corev1.Pod]{OnAdd: m.podSeen, OnUpdate: m.podChanged, OnDelete: m.podSeen}),
	}
	return m
}

// Run syncs controllers with a number of workers until the context ends. It is called once.
func (m *ReplicationManager) Run(ctx context.Context, workers int) {
	if !cache.WaitForSync(ctx, m.synced...) {
		return
	}
	m.queue.Run(ctx, workers, workqueue.Sync(m.sync).Inside(m.config.Around))
}

func (m *ReplicationManager) podChanged(old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion { // a resync: the controllers have one of their own
		return
	}
	if before, after := metav1.GetControllerOfNoCopy(old), metav1.GetControllerOfNoCopy(pod); before != nil && (after == nil || after.UID != before.UID) {
		m.podSeen(old)
	}
	m.podSeen(pod)
}

// podSeen queues the controller of a pod, or all that may adopt it.
func (m *ReplicationManager) podSeen(pod *corev1.Pod) {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		if owner.Kind == "ReplicationController" {
			m.queue.Add(cache.KeyOf(pod.Namespace, owner.Name))
		}
		return
	}
	for _, rc := range m.controllers.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if pods.Selects(rc.Spec.Selector, pod.Labels) {
			m.queue.Add(cache.Key(rc))
		}
	}
}

// isActive reports whether a pod counts.
func isActive(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !pods.HasEnded(pod)
}

// sync gives the controller of a key the pods that it wants, and updates its status.
func (m *ReplicationManager) sync(ctx context.Context, key string) error {
	rc, exists := m.controllers.Store().Get(key)
	if !exists || rc.DeletionTimestamp != nil || rc.Spec.Template == nil || len(rc.Spec.Selector) == 0 {
		return nil
	}
	managed := m.manage(ctx, rc)
	err := m.updateStatus(ctx, rc)
	if errors.Is(managed, errStale) || errors.Is(err, errStale) {
		m.queue.AddAfter(key, stalePause)
	}
	return errors.Join(unlessStale(managed), unlessStale(err))
}

func unlessStale(err error) error {
	if errors.Is(err, errStale) {
		return nil
	}
	return err
}

// manage claims the pods of a controller, and creates or deletes some.
func (m *ReplicationManager) manage(ctx context.Context, rc *corev1.ReplicationController) error {
	if err := m.claim(ctx, rc); err != nil {
		return err
	}
	if err := m.lookAhead(rc); err != nil {
		return err
	}
	active, names, err := m.plan(rc)
	if err != nil {
		return err
	}
	surplus := len(active) - wantedReplicas(rc)
	if len(names) == 0 && surplus <= 0 {
		return nil
	}
	if err := m.confirm(ctx, rc); err != nil {
		return err
	}
	switch {
	case surplus > 0:
		return m.deletePods(ctx, rc, victims(active, min(surplus, burstReplicas)))
	case !pods.Selects(rc.Spec.Selector, rc.Spec.Template.Labels): // as June 2014 allows: its pods would not count, so it would create more without end
		m.config.Recorder.Eventf(rc, corev1.EventTypeWarning, "FailedCreate", "Error creating: `selector` does not match template `labels`")
		return nil
	}
	return m.createPods(ctx, rc, names)
}

func wantedReplicas(rc *corev1.ReplicationController) int {
	if rc.Spec.Replicas == nil {
		return 1
	}
	return int(*rc.Spec.Replicas)
}

// confirm checks with the server that a controller exists, and wants what the cache says. Nothing
// would collect pods that were created for a deleted controller.
func (m *ReplicationManager) confirm(ctx context.Context, rc *corev1.ReplicationController) error {
	current, err := m.config.Client.In(rc.Namespace).ReplicationControllers().Get(ctx, rc.Name)
	if apierrors.IsNotFound(err) {
		return errStale
	}
	if err == nil && hasChanged(rc, current) {
		return errStale
	}
	return err
}

// lookAhead returns errStale if the controller has changed in the cache meanwhile.
func (m *ReplicationManager) lookAhead(rc *corev1.ReplicationController) error {
	if current, exists := m.controllers.Store().Get(cache.Key(rc)); !exists || hasChanged(rc, current) {
		return errStale
	}
	return nil
}

// hasChanged reports whether a controller is another one now, or wants something else.
func hasChanged(rc, current *corev1.ReplicationController) bool {
	return current.UID != rc.UID || current.DeletionTimestamp != nil || current.Generation != rc.Generation
}
