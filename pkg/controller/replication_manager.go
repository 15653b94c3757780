// Package controller has the controllers: each watches what there is, and makes it what people
// want. They are clients of the API.
package controller

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// ReplicationManagerConfig is what a ReplicationManager needs.
type ReplicationManagerConfig struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Around is put around the work on one replication controller, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	controllerKind = "ReplicationController"
	inNamespace    = "namespace" // the name of an index
	// againPause is after how long is looked again at what the informers are to show first. They
	// wake the manager when they show it: this is for what comes and goes unseen.
	againPause = time.Second
)

// ReplicationManager keeps as many pods as each replication controller wants.
//
// It never makes more than that, as it knows the controller when it asks for a pod, whatever is
// lost or restarted meanwhile. Pods have counted names: NAME-1, NAME-2 and so on; to make d pods,
// it asks for the d lowest names that no pod has. So a request that is sent again, by this
// manager, by the next one or by another one at the same time, makes no second pod: the name is
// taken. What it has done counts before the informer shows it (see expectations): after creates
// it makes no decision until the informer has got there; a create without an answer keeps its
// name reserved, and is the first to be sent again; a pod that it has deleted does not count; a
// delete without an answer is sent again before anything else. The one exception: a create that a
// manager has sent before its end, and that the server carries out only after the next manager
// has listed the pods; there may be one too many then if a pod that was ending, and had kept a
// lower name taken, has gone in between. It is deleted as soon as it is seen.
type ReplicationManager struct {
	config      ReplicationManagerConfig
	controllers *cache.SharedInformer[*corev1.ReplicationController]
	pods        *cache.SharedInformer[*corev1.Pod]
	synced      []func() bool
	queue       *workqueue.Queue

	mu       sync.Mutex               // guards what follows
	expected map[string]*expectations // by the keys of controllers; the one who works on the key has them
}

// NewReplicationManager returns a manager that has its handlers at the informers. They must be run
// by the caller.
func NewReplicationManager(config ReplicationManagerConfig) *ReplicationManager {
	m := &ReplicationManager{config: config, controllers: config.Informers.ReplicationControllers(), pods: config.Informers.Pods(),
		queue: workqueue.New("replication manager"), expected: map[string]*expectations{}}
	m.controllers.Store().AddIndex(inNamespace, func(rc *corev1.ReplicationController) []string { return []string{rc.Namespace} })
	m.pods.Store().AddIndex(inNamespace, func(pod *corev1.Pod) []string { return []string{pod.Namespace} })
	m.synced = []func() bool{
		m.controllers.AddHandler(cache.Handler[*corev1.ReplicationController]{
			OnAdd:    m.controllerSeen,
			OnUpdate: func(_, rc *corev1.ReplicationController) { m.controllerSeen(rc) },
			OnDelete: m.controllerSeen,
		}),
		m.pods.AddHandler(cache.Handler[*corev1.Pod]{
			OnAdd: func(pod *corev1.Pod) { m.podSeen(nil, pod) }, OnUpdate: m.podSeen,
			OnDelete: func(pod *corev1.Pod) { m.podSeen(pod, pod) },
		}),
	}
	return m
}

// Run works on so many controllers at a time until the context ends. It is called once.
func (m *ReplicationManager) Run(ctx context.Context, workers int) {
	if !cache.WaitForSync(ctx, m.synced...) {
		return
	}
	sync := m.sync
	if m.config.Around != nil {
		sync = m.config.Around(sync)
	}
	m.queue.Run(ctx, workers, sync)
}

func (m *ReplicationManager) controllerSeen(rc *corev1.ReplicationController) {
	m.queue.Add(cache.Key(rc))
}

// podSeen is told of a pod that is new, or has changed or gone.
func (m *ReplicationManager) podSeen(old, pod *corev1.Pod) {
	owner := ownerOf(pod)
	if old != nil {
		if before := ownerOf(old); before != owner {
			m.addOwner(old.Namespace, before)
		}
	}
	if metav1.GetControllerOfNoCopy(pod) != nil {
		m.addOwner(pod.Namespace, owner)
		return
	}
	for _, rc := range m.controllers.Store().ByIndex(inNamespace, pod.Namespace) { // one of them may adopt it
		if selects(rc, pod) {
			m.controllerSeen(rc)
		}
	}
}

// addOwner adds the replication controller of a name; an empty one is none.
func (m *ReplicationManager) addOwner(namespace, name string) {
	if name != "" {
		m.queue.Add(cache.KeyOf(namespace, name))
	}
}

// ownerOf returns the name of the replication controller that a pod belongs to.
func ownerOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != controllerKind || owner.APIVersion != "v1" {
		return ""
	}
	return owner.Name
}

// selects reports whether a controller's selector selects a pod. An empty selector selects none.
func selects(rc *corev1.ReplicationController, pod *corev1.Pod) bool {
	return len(rc.Spec.Selector) > 0 && labels.SelectorFromValidatedSet(rc.Spec.Selector).Matches(labels.Set(pod.Labels))
}

// sync brings one controller's pods to the number that it wants.
func (m *ReplicationManager) sync(ctx context.Context, key string) error {
	rc, exists := m.controllers.Store().Get(key)
	if !exists { // its pods stay
		m.forget(key)
		return nil
	}
	expected := m.expectationsOf(key, rc)
	pods, caughtUp, err := m.view(ctx, rc, expected)
	if err != nil {
		return err
	}
	mine, problem := ownedBy(rc, pods), error(nil)
	switch {
	case rc.DeletionTimestamp != nil:
	case !caughtUp:
		problem = errStale
	default:
		if mine, err = m.claim(ctx, rc, pods); err != nil {
			return m.orAgain(key, err)
		}
		problem = m.manage(ctx, rc, mine, taken(pods), expected)
	}
	if err := m.updateStatus(ctx, rc, mine, problem); err != nil && problem == nil {
		problem = err
	}
	if problem == nil && !expected.isMet() {
		problem = errStale
	}
	return m.orAgain(key, problem)
}

// expectationsOf returns what is expected of a controller's pods. Those of one that had its name
// before are forgotten.
func (m *ReplicationManager) expectationsOf(key string, rc *corev1.ReplicationController) *expectations {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.expected[key]; e != nil && e.owner == rc.UID {
		return e
	}
	e := newExpectations(rc.UID)
	m.expected[key] = e
	return e
}

func (m *ReplicationManager) forget(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.expected, key)
}

// view returns the pods of a controller's namespace, and whether all that was done is seen there.
// If that takes too long they are listed afresh: then nothing that was done before is missing.
func (m *ReplicationManager) view(ctx context.Context, rc *corev1.ReplicationController, expected *expectations) (pods []*corev1.Pod, caughtUp bool, err error) {
	version := m.pods.Version() // first: the pods may be newer
	pods = m.pods.Store().ByIndex(inNamespace, rc.Namespace)
	expected.observe(pods, version)
	if !expected.isOverdue() {
		return pods, expected.isMet(), nil
	}
	list, err := m.config.Client.In(rc.Namespace).Pods().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, false, err
	}
	expected.decide(list.ResourceVersion)
	return list.Items, true, nil
}
