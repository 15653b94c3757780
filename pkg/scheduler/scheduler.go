// Package scheduler places pods on nodes. It is a client of the API: it watches pods and nodes,
// chooses a node for each pod that has none, and posts the binding.
package scheduler

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
	"kube2014/pkg/util/pods"
	"kube2014/pkg/util/workqueue"
)

// Config is what a Scheduler needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// Name is the schedulerName of the pods that it places. Empty: default-scheduler, which also
	// has the pods that name none.
	Name string
	// Around is put around the work on one pod, for a trace: the choice of a node, and then the
	// binding. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

const (
	// binders is how many bindings are posted at a time, while the next decisions are made. With a
	// server in memory that places pods a quarter faster than one by one.
	binders = 4
	// lostPause is the pause of a worker after an error, before it sends the next request.
	lostPause = time.Second
)

// Scheduler places pods. It never overcommits a node, and never gives a host port of a node to two
// pods. It only counts what it has placed or seen: two schedulers at a time may together overcommit
// a node. Then only what the server checks holds: a pod that has a node keeps it, and a host port is
// given once.
type Scheduler struct {
	config      Config
	pods        *cache.SharedInformer[*corev1.Pod]
	services    *cache.SharedInformer[*corev1.Service]
	controllers *cache.SharedInformer[*corev1.ReplicationController]
	sets        *cache.SharedInformer[*appsv1.ReplicaSet]
	synced      []func() bool

	cache             *schedulerCache
	queue             *workqueue.Queue // pods to place; one worker handles them in their order
	bindings          *workqueue.Queue // pods that are assumed on nodes
	unschedulablePods *unschedulablePods
	started           atomic.Bool // before that pods are not queued: Run does that, in the order in which they came
}

// New returns a scheduler that has its handlers at the informers. They must be run by the caller.
func New(config Config) *Scheduler {
	config.Name = cmp.Or(config.Name, corev1.DefaultSchedulerName)
	i := config.Informers
	s := &Scheduler{config: config, pods: i.Pods(), services: i.Services(), controllers: i.ReplicationControllers(), sets: i.ReplicaSets(),
		cache: newSchedulerCache(), queue: workqueue.New("scheduler"), bindings: workqueue.New("scheduler: binding")}
	s.unschedulablePods = newUnschedulablePods(s.queue.Add)
	s.services.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	s.controllers.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	s.sets.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	nodes := cache.OnChange(s.nodeSeen)
	nodes.OnDelete = func(node *corev1.Node) { s.cache.removeNode(node.Name) }
	s.synced = []func() bool{s.services.HasSynced, s.controllers.HasSynced, s.sets.HasSynced, i.Nodes().AddEventHandler(nodes),
		s.pods.AddEventHandler(cache.ResourceEventHandler[*corev1.Pod]{
			OnAdd: func(pod *corev1.Pod) { s.podSeen(nil, pod) }, OnUpdate: s.podSeen, OnDelete: s.podGone,
		})}
	return s
}

// Run places pods until the context ends. It is called once.
func (s *Scheduler) Run(ctx context.Context) {
	if !cache.WaitForSync(ctx, s.synced...) {
		return
	}
	s.started.Store(true)
	for _, pod := range inOrder(s.pods.Store().List()) {
		if s.isMine(pod) {
			s.queue.Add(cache.Key(pod))
		}
	}
	var running sync.WaitGroup
	running.Go(func() { s.bindings.Run(ctx, binders, s.around(s.bindOne)) })
	s.queue.Run(ctx, 1, s.around(s.scheduleOne))
	running.Wait()
}

// around returns the work on a key, with a pause if it fails.
func (s *Scheduler) around(work workqueue.Sync) workqueue.Sync {
	return workqueue.Sync(func(ctx context.Context, key string) error {
		err := work(ctx, key)
		if err != nil {
			util.Sleep(ctx, lostPause)
		}
		return err
	}).Inside(s.config.Around)
}

// inOrder sorts pods by age.
func inOrder(pods []*corev1.Pod) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(cache.Key(a), cache.Key(b)))
	})
	return pods
}

// isMine reports whether a pod waits for this scheduler.
func (s *Scheduler) isMine(pod *corev1.Pod) bool {
	name := cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	return name == s.config.Name && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && !pods.HasEnded(pod) && len(pod.Spec.SchedulingGates) == 0
}

// podSeen handles a pod that is new, or has changed.
func (s *Scheduler) podSeen(old, pod *corev1.Pod) {
	switch {
	case pod.Spec.NodeName != "":
		if s.cache.setPod(pod) {
			s.unschedulablePods.changed()
		}
	case s.isMine(pod) && s.started.Load() && (old == nil || !reflect.DeepEqual(old.Spec, pod.Spec)): // the rest is what we wrote ourselves
		s.queue.Add(cache.Key(pod))
	}
}

func (s *Scheduler) podGone(pod *corev1.Pod) {
	key := cache.Key(pod)
	s.unschedulablePods.remove(key)
	if s.cache.remove(key, pod.UID) || pod.Spec.NodeName != "" {
		s.unschedulablePods.changed()
	}
}

func (s *Scheduler) nodeSeen(node *corev1.Node) {
	if s.cache.setNode(node) {
		s.unschedulablePods.changed()
	}
}

// scheduleOne chooses a node for the pod of a key, if it still needs one.
func (s *Scheduler) scheduleOne(ctx context.Context, key string) error {
	pod, exists := s.pods.Store().Get(key)
	if !exists || !s.isMine(pod) {
		s.unschedulablePods.remove(key)
		return nil
	}
	since := s.unschedulablePods.now()
	node, err := s.cache.assume(pod, s.selectorsOf(pod))
	if err != nil {
		return s.unschedulable(ctx, pod, err.Error(), since)
	}
	if node != "" { // else it has one
		s.bindings.Add(key)
	}
	return nil
}

// selectorsOf returns the selectors that select a pod. A replica set's with expressions is none of them.
func (s *Scheduler) selectorsOf(pod *corev1.Pod) (selectors []map[string]string) {
	add := func(selector map[string]string) {
		if pods.Selects(selector, pod.Labels) {
			selectors = append(selectors, selector)
		}
	}
	for _, service := range s.services.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		add(service.Spec.Selector)
	}
	for _, rc := range s.controllers.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		add(rc.Spec.Selector)
	}
	for _, set := range s.sets.Store().ByIndex(cache.NamespaceIndex, pod.Namespace) {
		if len(set.Spec.Selector.MatchExpressions) == 0 {
			add(set.Spec.Selector.MatchLabels)
		}
	}
	return selectors
}
