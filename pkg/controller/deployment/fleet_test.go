package deployment_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util/workqueue"
)

// fleet plays the replica set controller and the kubelets. It has pods, and tells the server only how many.
type fleet struct {
	t      testing.TB
	client *clientv1.Client
	sets   *cache.SharedInformer[*appsv1.ReplicaSet]
	queue  *workqueue.Queue

	mu sync.Mutex // guards what follows
	// startup is the time until a pod is ready.
	startup time.Duration
	// lag is the time from a change of a replica set until its pods follow, and again until its status does.
	lag func() time.Duration
	// terminating is how many pods of a replica set are said to be being deleted.
	terminating map[types.UID]int32
	// broken is the image whose pods are never ready.
	broken string
	born   map[types.UID][]time.Time // of the pods of a replica set
	// most is how many pods there may be in all, and least how many available ones a deletion must leave.
	most, least int
	highest     int // number of pods in all, so far
}

func newFleet(t testing.TB, client *clientv1.Client) *fleet {
	return &fleet{t: t, client: client, queue: workqueue.New("fleet"), born: map[types.UID][]time.Time{}, terminating: map[types.UID]int32{}, startup: time.Second,
		lag: func() time.Duration { return 10 * time.Millisecond }, most: 1 << 30}
}

func (f *fleet) run(ctx context.Context) {
	shared := informers.New(f.client, 0)
	f.sets = shared.ReplicaSets()
	add := func(set *appsv1.ReplicaSet) { f.queue.Add(cache.Key(set)) }
	synced := f.sets.AddEventHandler(cache.ResourceEventHandler[*appsv1.ReplicaSet]{OnAdd: add, OnUpdate: func(_, set *appsv1.ReplicaSet) { add(set) },
		OnDelete: func(set *appsv1.ReplicaSet) {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.born, set.UID)
		}})
	shared.Run(ctx)
	if cache.WaitForSync(ctx, synced) {
		f.queue.Run(ctx, 4, f.sync)
	}
}

func (f *fleet) sync(ctx context.Context, key string) error {
	set, exists := f.sets.Store().Get(key)
	if !exists || set.DeletionTimestamp != nil {
		return nil
	}
	time.Sleep(f.lagNow())
	updated := set.DeepCopy()
	updated.Status = f.follow(set)
	time.Sleep(f.lagNow())
	if f.tells(set.Status, updated.Status) {
		if _, err := f.client.In(set.Namespace).ReplicaSets().UpdateStatus(ctx, updated); err != nil {
			f.queue.AddAfter(key, 10*time.Millisecond)
		}
	}
	return nil
}

func (f *fleet) lagNow() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lag()
}

func (f *fleet) tells(before, after appsv1.ReplicaSetStatus) bool {
	return before.Replicas != after.Replicas || before.AvailableReplicas != after.AvailableReplicas || before.ObservedGeneration != after.ObservedGeneration ||
		*cmp.Or(before.TerminatingReplicas, new(int32)) != *after.TerminatingReplicas
}

// follow creates and deletes the pods of a replica set, and returns its status.
func (f *fleet) follow(set *appsv1.ReplicaSet) appsv1.ReplicaSetStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, wanted := time.Now(), int(*set.Spec.Replicas)
	wait := f.startup + time.Duration(set.Spec.MinReadySeconds)*time.Second
	if set.Spec.Template.Spec.Containers[0].Image == f.broken {
		wait = 1000 * time.Hour
	}
	pods := f.born[set.UID]
	for len(pods) < wanted {
		pods = append(pods, now)
		f.born[set.UID] = pods
		f.countLocked()
	}
	slices.SortFunc(pods, time.Time.Compare)
	available := func() int {
		return len(slices.DeleteFunc(slices.Clone(pods), func(born time.Time) bool { return now.Sub(born) < wait }))
	}
	for len(pods) > wanted {
		isLoss := available() == len(pods)
		pods = pods[:len(pods)-1]
		f.born[set.UID] = pods
		if isLoss {
			f.checkLocked(wait)
		}
	}
	status := appsv1.ReplicaSetStatus{Replicas: int32(len(pods)), ReadyReplicas: int32(available()), AvailableReplicas: int32(available()),
		ObservedGeneration: set.Generation, TerminatingReplicas: new(f.terminating[set.UID]), Conditions: set.Status.Conditions}
	if next := available(); next < len(pods) {
		f.queue.AddAfter(cache.Key(set), wait-now.Sub(pods[next]))
	}
	return status
}

// countLocked checks that there are not too many pods.
func (f *fleet) countLocked() {
	total := 0
	for _, pods := range f.born {
		total += len(pods)
	}
	f.highest = max(f.highest, total)
	assert.LessOrEqual(f.t, total, f.most, "pods")
}

// checkLocked checks that enough pods are available after one is deleted. The time that makes one available is that of all: the
// broken ones are younger than it.
func (f *fleet) checkLocked(wait time.Duration) {
	total := 0
	for _, pods := range f.born {
		for _, born := range pods {
			if time.Since(born) >= wait {
				total++
			}
		}
	}
	assert.GreaterOrEqual(f.t, total, f.least, "available pods")
}

// expect sets what is checked from now on.
func (f *fleet) expect(most, least int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.most, f.least, f.highest = most, least, 0
}

// change changes how the pods behave.
func (f *fleet) change(change func(f *fleet)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// terminate lets a replica set say how many of its pods are being deleted.
func (f *fleet) terminate(set *appsv1.ReplicaSet, count int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.terminating[set.UID] = count
	f.queue.Add(cache.Key(set))
}

// lose makes pods of a replica set new ones, which are not ready yet.
func (f *fleet) lose(set *appsv1.ReplicaSet, count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range count {
		f.born[set.UID][i] = time.Now()
	}
	f.queue.Add(cache.Key(set))
}
