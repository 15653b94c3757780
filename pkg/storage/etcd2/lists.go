package etcd2

import (
	"errors"
	"slices"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/cache"
)

// listChange returns the new list of a machine for what etcd has about it: nil to
// leave the list as it is, errStale to be called again with what is newer, another
// error to refuse. It is also called again after each swap that fails because of
// another apiserver; its earlier results do not count then.
type listChange func(*cache.Machine) ([]cache.Manifest, error)

// errStale means that what was seen of a machine is stale, so that the swap of its
// list failed.
var errStale = errors.New("the list of manifests has changed")

// lists changes the lists of manifests. One request of the process at a time writes
// the list of a machine: its own change and those of all waiting requests, in one
// swap. So requests for one machine do not make each other's swaps fail.
type lists struct {
	cache *cache.Cache
	clock *clock

	mu      sync.Mutex // guards what follows
	writers map[string]*listWriter
	full    map[string]uint64 // machine → version of a list that cannot grow
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
	refused error      // the error of the change for the list that is written
	done    chan error // gets the outcome
}

func (l *lists) writerOf(name string) *listWriter {
	l.mu.Lock()
	defer l.mu.Unlock()
	writer := l.writers[name]
	if writer == nil {
		writer = &listWriter{writing: make(chan struct{}, 1)}
		l.writers[name] = writer
	}
	return writer
}

// change changes the list of a machine for a task. What was seen of the machine may
// be stale; if it is not, it saves a read. It may be nil.
func (l *lists) change(name, taskID string, seen *cache.Machine, change listChange) error {
	writer := l.writerOf(name)
	own := &waitingChange{listChange: change, taskID: taskID, done: make(chan error, 1)}
	writer.mu.Lock()
	writer.waiting = append(writer.waiting, own)
	writer.mu.Unlock()

	select {
	case err := <-own.done: // another request has written it
		return err
	case writer.writing <- struct{}{}:
	case <-l.clock.after(writerPatience):
		if writer.giveUp(own) {
			return tooBusy(name)
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
		if len(batch) > 1 || batch[0] != own || (seen != nil && seen.Index < written) {
			seen = nil // others came first
		}
		writer.note(l.write(name, seen, batch))
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

// write applies all changes of the batch to the list in one swap, and sends each its
// result, even after a panic: then the outcome is unknown. It returns the index of
// the list that it wrote, 0 for none.
func (l *lists) write(name string, seen *cache.Machine, batch []*waitingChange) (written uint64) {
	var err error = &api.Error{Kind: api.Unavailable,
		Message: "writing the list of manifests of machine " + name + " was interrupted; try again"}
	defer func() {
		for _, one := range batch {
			if err != nil {
				one.done <- err
			} else {
				one.done <- one.refused
			}
		}
	}()
	written, err = l.swapInTime(name, seen, batch)
	return written
}
