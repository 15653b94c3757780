package etcd2

import (
	"bytes"
	"errors"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/cache"
)

// swapInTime applies the changes one after the other and swaps the list; it
// retries while other apiservers change the list first.
func (l *lists) swapInTime(name string, seen *cache.Machine, batch []*waitingChange) (written uint64, err error) {
	err = errStale
	for end := l.clock.now().Add(swapTime); l.clock.now().Before(end); seen = nil {
		mayBeStale := seen != nil
		if !mayBeStale {
			if seen, err = l.readMachine(name); err != nil {
				break
			}
		}
		manifests, refused := applyAll(seen, batch)
		if errors.Is(refused, errStale) || (refused != nil && mayBeStale) {
			err = errStale // nothing is refused for what may have changed
			continue
		}
		if err = nil; manifests != nil {
			if !l.clock.now().Before(end) {
				err = errStale // not necessarily, but there is no time left
				break
			}
			written, err = l.swap(seen, manifests)
		}
		if !errors.Is(err, errStale) {
			break
		}
	}
	if errors.Is(err, errStale) {
		err = tooBusy(name)
	}
	return written, err
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

// swap replaces the list if it has not changed since it was read, and returns the
// index of the new one (D23).
func (l *lists) swap(seen *cache.Machine, manifests []cache.Manifest) (uint64, error) {
	if seen.Broken != nil {
		return 0, seen.Broken.Err
	}
	raw := make([][]byte, len(manifests))
	for i, manifest := range manifests {
		raw[i] = manifest.Raw
	}
	value := "[" + string(bytes.Join(raw, []byte(","))) + "]"
	own := &cache.Change{Key: cache.KubeletKey(seen.Name), Manifests: manifests}
	err := l.cache.Write(own, func() (*etcd.Response, error) {
		if seen.ListVersion == 0 {
			return l.cache.Client.Create(own.Key, value, 0)
		}
		return l.cache.Client.CompareAndSwap(own.Key, value, 0, "", seen.ListVersion)
	})
	if cache.HasCode(err, cache.AlreadyExists, cache.CompareFailed, cache.NotFound) {
		return 0, errStale
	}
	if cache.HasCode(err, cache.FormTooLarge) { // another machine may do
		l.setFull(seen)
		return 0, &api.Error{Kind: api.HostPortTaken, Message: "the list of manifests of machine " + seen.Name + " is too large for etcd", Err: err}
	}
	if err != nil {
		return 0, cache.Failed("change the list of manifests of machine "+seen.Name, err)
	}
	return own.Index, nil
}

func (l *lists) setFull(m *cache.Machine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full[m.Name] = m.ListVersion
}

// isFull reports whether the machine's list was too large for etcd when somebody
// wanted to add a manifest.
func (l *lists) isFull(m *cache.Machine) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	version, full := l.full[m.Name]
	return full && version == m.ListVersion
}

func tooBusy(name string) error {
	return &api.Error{Kind: api.Unavailable, Message: "the list of manifests of machine " + name +
		" could not be changed: other requests keep changing it, or the store is slow; try again"}
}

// readMachine reads the tasks and the list of a machine, as of one moment.
func (l *lists) readMachine(name string) (*cache.Machine, error) {
	directory, index, err := l.cache.Read(cache.HostKey(name), true)
	if err != nil {
		return nil, cache.Failed("read machine "+name, err)
	}
	machine := cache.DecodeMachine(name, directory, index, l.cache.Machine(name))
	machine.Directory = directory
	return machine, nil
}
