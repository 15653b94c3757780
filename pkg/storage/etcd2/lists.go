package etcd2

import (
	"bytes"
	"cmp"
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
	full    map[string]fullList // by machine
}

// fullList is a list to which etcd has refused an addition.
type fullList struct {
	version uint64 // of the list
	refused int    // the size of the smallest list that was refused in its place, in bytes
}

// listWriter writes the list of one machine.
type listWriter struct {
	*lists
	machine string
	waiting []*waitingChange // guarded by the mutex of all lists
	writing chan struct{}    // holds an element while a request writes
	written uint64           // version of the last list that this process wrote; of who writes
}

type waitingChange struct {
	listChange
	taskID  string
	refused error      // the error of the change for the list that is written
	done    chan error // gets the outcome
}

// change changes the list of a machine for a task. What was seen of the machine may
// be stale; if it is not, it saves a read. It may be nil.
func (l *lists) change(machine, taskID string, seen *cache.Machine, change listChange) error {
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
			seen = nil // others came first
		}
		writer.write(seen, batch)
	}
}

// take returns the waiting changes, for the caller to write: only the first of
// those for one task, because each relies on what is stored of the task.
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

// write applies the changes of a batch one after the other and swaps the list; it
// retries while other apiservers change the list first. It sends each change its
// result, even after a panic: then the outcome is unknown.
func (w *listWriter) write(seen *cache.Machine, batch []*waitingChange) {
	var err error = &api.Error{Kind: api.Unavailable,
		Message: "writing the list of manifests of machine " + w.machine + " was interrupted; try again"}
	defer func() {
		for _, one := range batch {
			one.done <- cmp.Or(err, one.refused)
		}
	}()
	err = w.swapInTime(seen, batch)
}

func (w *listWriter) swapInTime(seen *cache.Machine, batch []*waitingChange) (err error) {
	for end := w.clock.now().Add(swapTime); w.clock.now().Before(end); seen = nil {
		mayBeStale := seen != nil
		if !mayBeStale {
			if seen, err = w.cache.ReadMachine(w.machine); err != nil {
				return err
			}
		}
		manifests, refused := applyAll(seen, batch)
		if errors.Is(refused, errStale) || (refused != nil && mayBeStale) {
			continue // nothing is refused for what may have changed
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

// applyAll returns the list that the changes make, nil when none changes it, and
// why one of them refused: errStale if one asks for what is newer.
func applyAll(seen *cache.Machine, batch []*waitingChange) (manifests []cache.Manifest, refused error) {
	next := *seen
	for _, one := range batch {
		var made []cache.Manifest
		made, one.refused = one.listChange(&next)
		switch {
		case errors.Is(one.refused, errStale):
			return nil, errStale
		case one.refused != nil:
			refused = one.refused
		case made != nil:
			manifests, next.Manifests = made, made
		}
	}
	return manifests, refused
}

// swap replaces the list if it has not changed since it was read (D23).
func (w *listWriter) swap(seen *cache.Machine, manifests []cache.Manifest) error {
	if seen.Broken != nil {
		return seen.Broken.Err
	}
	value := listValue(manifests)
	own := &cache.Change{Key: cache.KubeletKey(w.machine), Manifests: manifests}
	err := w.cache.Put(own, value, seen.ListVersion)
	switch {
	case err == nil:
		w.written = own.Version
	case cache.HasCode(err, cache.AlreadyExists, cache.CompareFailed, cache.NotFound):
		return errStale
	case cache.HasCode(err, cache.FormTooLarge): // another machine may do
		w.noteFull(seen, len(value))
		return tooLarge(w.machine, err)
	}
	return cache.Failed("change the list of manifests of machine "+w.machine, err)
}

func listValue(manifests []cache.Manifest) string {
	raw := make([][]byte, len(manifests))
	for i, manifest := range manifests {
		raw[i] = manifest.Raw
	}
	return "[" + string(bytes.Join(raw, []byte(","))) + "]"
}

// noteFull notes that etcd has refused a list of this size in the place of a machine's.
func (l *lists) noteFull(m *cache.Machine, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.full[m.Name]; ok && known.version == m.ListVersion {
		size = min(size, known.refused)
	}
	l.full[m.Name] = fullList{version: m.ListVersion, refused: size}
}

// refusedSize returns the size of the smallest list that etcd has refused in the place of
// a machine's, 0 if there is none.
func (l *lists) refusedSize(m *cache.Machine) int {
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
