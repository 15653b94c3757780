package etcd2

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/manifestlist"
	"kube2014/pkg/storage/etcd2/mirror"
)

// listChange returns the new list of a machine, given its state in etcd: nil leaves
// the list as it is, errStale requests another call with newer state, another error
// refuses the change. It is also called again after each swap that fails because of
// another apiserver; its earlier results are then void.
type listChange func(*mirror.Machine) ([]manifestlist.Manifest, error)

// errStale means that the known state of a machine is stale, so that the swap of its
// list failed.
var errStale = errors.New("the list of manifests has changed")

// lists changes the lists of manifests. One request of the process at a time writes
// the list of a machine: its own change and those of all waiting requests, in one
// swap. So requests for one machine do not make each other's swaps fail.
type lists struct {
	mirror *mirror.Mirror
	clock  *clock

	mu      sync.Mutex // guards the fields below
	writers map[string]*listWriter
	full    map[string]fullList // by machine
}

// fullList is a list to which etcd has refused an addition.
type fullList struct {
	version uint64 // of the list
	refused int    // the size of the smallest refused replacement, in bytes
}

// listWriter writes the list of one machine.
type listWriter struct {
	*lists
	machine string
	waiting []*waitingChange // guarded by lists.mu
	writing chan struct{}    // holds an element while a request writes
	written uint64           // version of the last list that this process wrote; guarded by writing
}

type waitingChange struct {
	listChange
	taskID  string
	refused error      // the error of listChange for the list being written
	done    chan error // receives the outcome
}

// change changes the list of a machine for a task. seen is the known state of the
// machine: it may be nil or stale, but saves a read if it is not.
func (l *lists) change(machine, taskID string, seen *mirror.Machine, change listChange) error {
	own := &waitingChange{listChange: change, taskID: taskID, done: make(chan error, 1)}
	l.mu.Lock()
	writer := l.writers[machine]
	if writer == nil {
		writer = &listWriter{lists: l, machine: machine, writing: make(chan struct{}, 1)}
		l.writers[machine] = writer
	}
	writer.waiting = append(writer.waiting, own)
	l.mu.Unlock()

	select {
	case err := <-own.done: // another request has written it
		return err
	case writer.writing <- struct{}{}:
	case <-l.clock.after(writerPatience):
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
		batch := writer.take()
		if len(batch) > 1 || batch[0] != own || (seen != nil && seen.Version < writer.written) {
			seen = nil // other changes came first
		}
		writer.write(seen, batch)
	}
}

// take removes and returns the waiting changes: only the first one for each task,
// because a change relies on the stored state of its task.
func (w *listWriter) take() (batch []*waitingChange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := map[string]bool{}
	w.waiting = slices.DeleteFunc(w.waiting, func(one *waitingChange) bool {
		if taken[one.taskID] {
			return false
		}
		taken[one.taskID] = true
		batch = append(batch, one)
		return true
	})
	return batch
}

// giveUp withdraws a change; it returns false if the change is being written.
func (w *listWriter) giveUp(change *waitingChange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := len(w.waiting)
	w.waiting = slices.DeleteFunc(w.waiting, func(one *waitingChange) bool { return one == change })
	return len(w.waiting) < waiting
}

// write applies the changes of a batch in order and swaps the list; it retries while
// other apiservers change the list first. It sends each change its result, even
// after a panic, when the outcome is unknown.
func (w *listWriter) write(seen *mirror.Machine, batch []*waitingChange) {
	var err error = &api.Error{Kind: api.Unavailable,
		Message: "writing the list of manifests of machine " + w.machine + " was interrupted; try again"}
	defer func() {
		for _, one := range batch {
			one.done <- cmp.Or(err, one.refused)
		}
	}()
	err = w.swapInTime(seen, batch)
}

func (w *listWriter) swapInTime(seen *mirror.Machine, batch []*waitingChange) (err error) {
	for end := w.clock.now().Add(swapTime); w.clock.now().Before(end); seen = nil {
		mayBeStale := seen != nil
		if !mayBeStale {
			if seen, err = w.mirror.ReadMachine(w.machine); err != nil {
				return err
			}
		}
		manifests, refused := applyAll(seen, batch)
		if errors.Is(refused, errStale) || (refused != nil && mayBeStale) {
			continue // do not refuse a change because of stale state
		}
		if manifests == nil {
			return nil
		}
		if !w.clock.now().Before(end) {
			break
		}
		if err := w.swap(seen, manifests); !errors.Is(err, errStale) {
			return err
		}
	}
	return tooBusy(w.machine)
}

// applyAll returns the list after the changes, nil if none changes it, and the error
// of one that refuses: errStale if any requests newer state.
func applyAll(seen *mirror.Machine, batch []*waitingChange) (manifests []manifestlist.Manifest, refused error) {
	next := *seen
	for _, one := range batch {
		var changed []manifestlist.Manifest
		changed, one.refused = one.listChange(&next)
		switch {
		case errors.Is(one.refused, errStale):
			return nil, errStale
		case one.refused != nil:
			refused = one.refused
		case changed != nil:
			manifests, next.Manifests = changed, changed
		}
	}
	return manifests, refused
}

// swap replaces the list if it has not changed since it was read (D23).
func (w *listWriter) swap(seen *mirror.Machine, manifests []manifestlist.Manifest) error {
	if seen.Broken != nil {
		return seen.Broken.Err
	}
	value := manifestlist.Encode(manifests)
	own := &mirror.Change{Key: mirror.KubeletKey(w.machine), Manifests: manifests}
	err := w.mirror.Put(own, value, seen.ListVersion)
	switch {
	case err == nil:
		w.written = own.Version
	case mirror.HasCode(err, mirror.AlreadyExists, mirror.CompareFailed, mirror.NotFound):
		return errStale
	case mirror.HasCode(err, mirror.FormTooLarge): // another machine may have room
		w.noteFull(seen, len(value))
		return tooLarge(w.machine, err)
	}
	return mirror.Failed("change the list of manifests of machine "+w.machine, err)
}

// noteFull records that etcd has refused to replace a machine's list by one of this size, in bytes.
func (l *lists) noteFull(m *mirror.Machine, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.full[m.Name]; ok && known.version == m.ListVersion {
		size = min(size, known.refused)
	}
	l.full[m.Name] = fullList{version: m.ListVersion, refused: size}
}

// refusedSize returns the size of the smallest list by which etcd has refused to replace
// a machine's, in bytes, 0 if there is none.
func (l *lists) refusedSize(m *mirror.Machine) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full := l.full[m.Name]; full.version == m.ListVersion {
		return full.refused
	}
	return 0
}

func tooLarge(machine string, cause error) error {
	return &api.Error{Kind: api.HostPortTaken, Message: "the list of manifests of machine " + machine + " is too large for etcd", Err: cause}
}

func tooBusy(machine string) error {
	return &api.Error{Kind: api.Unavailable, Message: "the list of manifests of machine " + machine +
		" could not be changed: other requests keep changing it, or the store is slow; try again"}
}
