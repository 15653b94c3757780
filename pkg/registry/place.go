package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// placeTime is the age after which no further attempt is made to place a task. Each
// attempt on etcd takes a bounded time, and the answer must be sent
// within 10 seconds.
const placeTime = 5 * time.Second

// maxRefusals bounds how often one machine may refuse a task: a scheduler that ignores
// host ports may choose it again and again.
const maxRefusals = 3

// attempts counts the attempts to place one task. The registry decides about host ports:
// another task may have taken them since the scheduler chose the machine.
type attempts struct {
	began    time.Time
	refusals map[string]int // by machine
}

// goOn reports whether to make another attempt after the outcome of one. If not, it
// returns the final outcome.
func (a *attempts) goOn(taskID, machine string, outcome error, now time.Time) (bool, error) {
	if api.KindOf(outcome) != api.HostPortTaken {
		return false, outcome
	}
	if a.refusals == nil {
		a.refusals = map[string]int{}
	}
	if a.refusals[machine]++; a.refusals[machine] == maxRefusals {
		return false, outcome
	}
	if now.Sub(a.began) >= placeTime {
		return false, &api.Error{Kind: api.Unavailable, Message: "task " + api.Quote(taskID) +
			" could not be placed: other requests keep taking its host ports, or the store is slow; try again"}
	}
	return true, nil
}

// PodPlacer places the pods of the second door. Unlike a task of the first one, a pod for
// which no machine is free is stored without a machine, and placed later.
type PodPlacer struct {
	store     storage.Interface
	scheduler Scheduler // nil if another process places pods
	now       func() time.Time
}

// MakePodPlacer returns a placer of the pods in a store. Without a scheduler it leaves
// all pods without a machine.
func MakePodPlacer(store storage.Interface, scheduler Scheduler) *PodPlacer {
	return &PodPlacer{store: store, scheduler: scheduler, now: time.Now}
}

// Create stores a new pod, on a machine if one is free.
func (p *PodPlacer) Create(task *api.Task) (stored *storage.Object, err error) {
	if p.scheduler == nil || task.Held || task.CurrentState.Host != "" {
		return storage.CommitOne(p.store, storage.Create(task))
	}
	stored, err = p.place(*task, storage.Absent)
	switch api.KindOf(err) {
	case api.Conflict, api.HostPortTaken: // no machine is free
		return storage.CommitOne(p.store, storage.Create(task))
	}
	return stored, err
}

// place writes a pod of the expected version on a machine that takes it.
func (p *PodPlacer) place(pod api.Task, expected uint64) (*storage.Object, error) {
	for tries := (attempts{began: p.now()}); ; {
		machine, err := p.scheduler.Schedule(pod)
		if err != nil {
			return nil, err
		}
		placed := pod.DeepCopy()
		placed.CurrentState.Host = machine
		stored, err := storage.CommitOne(p.store, storage.Update(&placed, expected))
		if again, err := tries.goOn(pod.ID, machine, err, p.now()); !again {
			return stored, err
		}
	}
}

// PlacePending places the pods without a machine. Call it when a machine may have become
// free. A failure of one pod does not stop the others: the error joins all failures.
func (p *PodPlacer) PlacePending() error {
	if p.scheduler == nil {
		return nil
	}
	pods, err := p.store.Cached().List(storage.Selection{Kind: api.TaskKind}) // a stale version is not placed
	if err != nil {
		return fmt.Errorf("placing pods: %w", err)
	}
	var failures []error
	for _, object := range pods.Items {
		pod := object.Object.(*api.Task)
		if !pod.IsPod || pod.Held || pod.CurrentState.Host != "" {
			continue
		}
		_, err := p.place(*pod, object.Version())
		switch api.KindOf(err) {
		case "", api.Conflict, api.HostPortTaken, api.NotFound: // placed, still waiting, changed or deleted
		default:
			failures = append(failures, fmt.Errorf("placing pod %s: %w", pod.ID, err))
		}
	}
	return errors.Join(failures...)
}

// Changes returns a channel that receives a value at first, and after changes of tasks that
// this process sees, until the context ends.
func (p *PodPlacer) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	if p.scheduler != nil {
		go watchForever(ctx, p.store.Cached(), storage.Selection{Kind: api.TaskKind}, changes)
	}
	return changes
}
