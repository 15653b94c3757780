// Package replication creates and deletes the pods of replication controllers and of replica sets, as a client of the
// API.
package replication

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

const (
	// statusPause is the time from a change of a pod that only the status tells of until that is written, together
	// with what has changed meanwhile: many pods become ready at about the same time.
	statusPause = 100 * time.Millisecond

	// burstReplicas is how many pods a sync creates or deletes at most. After that the status is
	// updated, and the wanted number is read again.
	burstReplicas = 500
)

// ReplicationManager gives each replication controller, or each replica set, as many pods as it wants.
type ReplicationManager struct {
	*controller.Loop
	adapter        adapter
	pods           *cache.SharedInformer[*corev1.Pod]
	ownerNameIndex string // the name of an index of the pods: namespace and name of their controllers of this kind
	keyOfOwner     cache.IndexFunc[*corev1.Pod]
	unsettled      sync.Map // by the uid of an object, the name of a pod that was requested without an answer
}

// NewReplicationManager returns a manager of the replication controllers that has its handlers at the informers. They must
// be run by the caller.
func NewReplicationManager(config controller.Config) *ReplicationManager {
	return newManager(config, "replication_manager", replicationControllers(config.Client, config.Informers))
}

// NewReplicaSetController returns a manager of the replica sets, like NewReplicationManager.
func NewReplicaSetController(config controller.Config) *ReplicationManager {
	return newManager(config, "replica set controller", replicaSets(config.Client, config.Informers))
}

func newManager(config controller.Config, name string, adapter adapter) *ReplicationManager {
	m := &ReplicationManager{adapter: adapter, pods: config.Informers.Pods(), keyOfOwner: controller.KeyOfOwner[*corev1.Pod](adapter.controllerKind()),
		ownerNameIndex: "replication: key of the " + adapter.controllerKind().Kind}
	m.Loop = controller.NewLoop(config, name, m.sync)
	m.pods.Store().AddIndex(cache.OwnerIndex, cache.OwnerOf)
	m.pods.Store().AddIndex(cache.OrphanIndex, cache.OrphanOf)
	m.pods.Store().AddIndex(m.ownerNameIndex, m.keyOfOwner)
	m.WaitFor(adapter.addEventHandler(m.Queue.Add, func(uid types.UID) { m.unsettled.Delete(uid) }))
	controller.Handle(m.Loop, m.pods, cache.ResourceEventHandler[*corev1.Pod]{OnAdd: m.podSeen, OnUpdate: m.podChanged, OnDelete: m.podDeleted})
	return m
}

func (m *ReplicationManager) podChanged(old, pod *corev1.Pod) {
	if old.ResourceVersion == pod.ResourceVersion { // a resync: the objects have one of their own
		return
	}
	before, after := uidOfOwner(old), uidOfOwner(pod)
	if before == after && controller.IsActive(old) == controller.IsActive(pod) && maps.Equal(old.Labels, pod.Labels) {
		m.statusChanged(pod)
		return
	}
	if before != "" && before != after {
		m.podSeen(old)
	}
	m.podSeen(pod)
}

func (m *ReplicationManager) podDeleted(pod *corev1.Pod) {
	if !controller.IsActive(pod) {
		m.statusChanged(pod)
		return
	}
	m.podSeen(pod)
}

func uidOfOwner(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// statusChanged queues the controller of a pod that counts as before.
func (m *ReplicationManager) statusChanged(pod *corev1.Pod) {
	for _, key := range m.keyOfOwner(pod) {
		m.Queue.AddAfter(key, statusPause)
	}
}

// podSeen queues the controller of a pod, or all that may adopt it.
func (m *ReplicationManager) podSeen(pod *corev1.Pod) {
	if metav1.GetControllerOfNoCopy(pod) != nil {
		for _, key := range m.keyOfOwner(pod) {
			m.Queue.Add(key)
		}
		return
	}
	for _, s := range m.adapter.cachedIn(pod.Namespace) {
		if s.selects(pod) {
			m.Queue.Add(cache.Key(s))
		}
	}
}

// sync gives the object of a key the pods that it wants, and updates its status.
func (m *ReplicationManager) sync(ctx context.Context, key string) error {
	s := m.adapter.cached(key)
	if s == nil || s.template == nil || s.selector.Empty() {
		return nil
	}
	var managed error
	if s.GetDeletionTimestamp() == nil {
		managed = m.manage(ctx, s)
	}
	err := m.updateStatus(ctx, s, managed)
	if errors.Is(managed, controller.ErrStale) || errors.Is(err, controller.ErrStale) {
		m.Queue.AddAfter(key, controller.StalePause)
	}
	return errors.Join(unlessStale(managed), unlessStale(err))
}

func unlessStale(err error) error {
	if errors.Is(err, controller.ErrStale) {
		return nil
	}
	return err
}

// manage claims the pods of an object, and creates or deletes some.
func (m *ReplicationManager) manage(ctx context.Context, s *set) error {
	if err := m.claim(ctx, s); err != nil {
		return err
	}
	if err := m.lookAhead(s); err != nil {
		return err
	}
	active, names, err := m.plan(s)
	if err != nil {
		return err
	}
	surplus := len(active) - s.replicas
	if len(names) == 0 && surplus <= 0 {
		return nil
	}
	if err := m.confirm(ctx, s); err != nil {
		return err
	}
	switch {
	case surplus > 0:
		return m.deletePods(ctx, s, m.victims(s, active, min(surplus, burstReplicas)))
	case !s.makesItsOwn(): // as June 2014 allows: its pods would not count, so it would create more without end
		m.Recorder.Eventf(s.Object, corev1.EventTypeWarning, failedCreate, "Error creating: `selector` does not match template `labels`")
		return nil
	}
	return m.createPods(ctx, s, names)
}

// confirm checks with the server that an object exists, and wants what the cache says. Nothing
// would collect pods that were created for a deleted one.
func (m *ReplicationManager) confirm(ctx context.Context, s *set) error {
	current, err := m.adapter.confirm(ctx, s)
	if err == nil && s.hasChanged(current) {
		return controller.ErrStale
	}
	return err
}

// lookAhead returns controller.ErrStale if the object has changed in the cache meanwhile.
func (m *ReplicationManager) lookAhead(s *set) error {
	if current := m.adapter.cached(cache.Key(s)); current == nil || s.hasChanged(current) {
		return controller.ErrStale
	}
	return nil
}

// claim adopts the pods that a controller selects and that have no controller, or a deleted one of the
// same name. It releases its own that it does not select any more. Pods that are being deleted, or have ended, stay as they
// are. After an error, the number of its pods is unknown.
func (m *ReplicationManager) claim(ctx context.Context, s *set) error {
	owners := controller.Claims(m.pods.Store(), s, m.adapter.controllerKind(), controller.IsActive, s.selects)
	for _, pod := range m.pods.Store().ByIndex(m.ownerNameIndex, cache.Key(s)) { // as kubectl replace --force leaves them
		if deleted := metav1.GetControllerOfNoCopy(pod).UID; deleted != s.GetUID() && controller.IsActive(pod) && s.selects(pod) {
			others := controller.WithoutOwner(controller.WithoutOwner(pod.OwnerReferences, s.GetUID()), deleted)
			owners[pod] = append(others, m.controllerReference(s))
		}
	}
	if len(owners) == 0 {
		return nil
	}
	if err := m.confirm(ctx, s); err != nil {
		return err
	}
	return controller.SetOwners(ctx, m.Client.In(s.GetNamespace()).Pods().Resource, m.pods, owners)
}

// controllerReference refers to the controller of a pod.
func (m *ReplicationManager) controllerReference(s *set) metav1.OwnerReference {
	return *metav1.NewControllerRef(s, m.adapter.controllerKind())
}
