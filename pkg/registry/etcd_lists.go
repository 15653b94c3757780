package registry

import (
	"errors"
	"slices"
	"sync"
	"time"

	"kube2014/pkg/api"
)

// listChange returns the new list of a machine for its state in etcd: nil to
// leave the list as it is, errChanged to be called again with a newer state,
// another error to refuse. It is also called again after each swap that fails
// because of another apiserver; its earlier results do not count then.
type listChange func(*machineState) ([]manifestEntry, error)

// listWriters lets one request of the process at a time write the list of a
// machine: its own change and those of all waiting requests, in one swap. So
// requests for one machine do not make each other's swaps fail.
type listWriters struct {
	mu       sync.Mutex // guards machines
	machines map[string]*listWriter
}

type listWriter struct {
	writing chan struct{} // holds an element while a request writes

	mu      sync.Mutex // guards what follows
	waiting []*waitingChange
	written uint64 // etcd's index of the last list that this process wrote
}

type waitingChange struct {
	listChange
	taskID  string
	refused error      // the error of the change for the state that is written
	done    chan error // gets the outcome
}

const (
	// swapTime bounds how long the swap of a list or of an object is retried while
	// other apiservers keep changing it.
	swapTime = 2 * time.Second
	// writerPatience bounds how long a request waits for others: it may take 5
	// seconds in all when etcd hangs.
	writerPatience = 2 * time.Second
)

func (writers *listWriters) of(machine string) *listWriter {
	writers.mu.Lock()
	defer writers.mu.Unlock()
	writer := writers.machines[machine]
	if writer == nil {
		writer = &listWriter{writing: make(chan struct{}, 1)}
		writers.machines[machine] = writer
	}
	return writer
}

// changeList changes the list of a machine for a task. The state may be stale;
// if it is not, it saves a read. It may be nil.
func (registry *EtcdRegistry) changeList(machine, taskID string, state *machineState, change listChange) error {
	writer := registry.writers.of(machine)
	own := &waitingChange{listChange: change, taskID: taskID, done: make(chan error, 1)}
	writer.mu.Lock()
	writer.waiting = append(writer.waiting, own)
	writer.mu.Unlock()

	select {
	case err := <-own.done: // another request has written it
		return err
	case writer.writing <- struct{}{}:
	case <-registry.after(writerPatience):
		if writer.giveUp(own) {
			return tooBusy(machine)
		}
		return <-own.done
	}
	defer func() { <-writer.writing }()
	for {
		select {
		case err := <-own.done:
			return err
		default:
		}
		batch, written := writer.take()
		if len(batch) > 1 || batch[0] != own || (state != nil && state.index < written) {
			state = nil // others came first
		}
		writer.note(registry.writeList(machine, state, batch))
	}
}

// take returns the waiting changes, for the caller to write: only the first of
// those for one task, because each relies on what is stored of the task.
func (writer *listWriter) take() (batch []*waitingChange, written uint64) {
	writer.mu.Lock()
	defer writer.mu.Unlock()
	var later []*waitingChange
	taken := map[string]bool{}
	for _, one := range writer.waiting {
		if taken[one.taskID] {
			later = append(later, one)
			continue
		}
		taken[one.taskID] = true
		batch = append(batch, one)
	}
	writer.waiting = later
	return batch, writer.written
}

// note remembers the index of a list that was written, 0 for none.
func (writer *listWriter) note(written uint64) {
	writer.mu.Lock()
	defer writer.mu.Unlock()
	writer.written = max(writer.written, written)
}

// giveUp withdraws a change; it returns false if the change is being written.
func (writer *listWriter) giveUp(change *waitingChange) bool {
	writer.mu.Lock()
	defer writer.mu.Unlock()
	i := slices.Index(writer.waiting, change)
	if i < 0 {
		return false
	}
	writer.waiting = slices.Delete(writer.waiting, i, i+1)
	return true
}

// writeList applies all changes of the batch to the list in one swap, and sends
// each its result, even after a panic: then the outcome is unknown. It returns
// the index of the list that it wrote, 0 for none.
func (registry *EtcdRegistry) writeList(machine string, state *machineState, batch []*waitingChange) (written uint64) {
	var err error = &api.Error{Kind: api.Unavailable,
		Message: "writing the list of manifests of machine " + machine + " was interrupted; try again"}
	defer func() {
		for _, one := range batch {
			if err != nil {
				one.done <- err
			} else {
				one.done <- one.refused
			}
		}
	}()
	written, err = registry.swapInTime(machine, state, batch)
	return written
}

// swapInTime applies the changes one after the other and swaps the list; it
// retries while other apiservers change the list first.
func (registry *EtcdRegistry) swapInTime(machine string, state *machineState, batch []*waitingChange) (written uint64, err error) {
	err = errChanged
	for end := registry.now().Add(swapTime); registry.now().Before(end); state = nil {
		mayBeOld := state != nil
		if !mayBeOld {
			if state, err = registry.readMachine(machine); err != nil {
				break
			}
		}
		entries, refused := applyAll(state, batch)
		if errors.Is(refused, errChanged) || (refused != nil && mayBeOld) {
			err = errChanged // nothing is refused for what may have changed
			continue
		}
		if err = nil; entries != nil {
			if !registry.now().Before(end) {
				err = errChanged // not necessarily, but there is no time left
				break
			}
			written, err = registry.swapList(state, entries)
		}
		if !errors.Is(err, errChanged) {
			break
		}
	}
	if errors.Is(err, errChanged) {
		err = tooBusy(machine)
	}
	return written, err
}

// applyAll returns the list that the changes make, nil when none changes it, and
// why one of them refused: errChanged if one asks for a newer state.
func applyAll(state *machineState, batch []*waitingChange) (entries []manifestEntry, refused error) {
	next := *state
	for _, one := range batch {
		var made []manifestEntry
		made, one.refused = one.listChange(&next)
		switch {
		case errors.Is(one.refused, errChanged):
			return nil, errChanged
		case one.refused != nil:
			refused = one.refused
		case made != nil:
			entries, next.entries = made, made
		}
	}
	return entries, refused
}

func tooBusy(machine string) error {
	return &api.Error{Kind: api.Unavailable, Message: "the list of manifests of machine " + machine +
		" could not be changed: other requests keep changing it, or the store is slow; try again"}
}
