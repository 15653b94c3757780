package registry

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"kube2014/pkg/api"
)

// grace is how long an inconsistency must stay unchanged before it is repaired.
// A running request looks inconsistent too: it starts its last step within
// maxRequestTime, and etcd carries out a step, or gives it up, within 7 seconds.
// What a process finds at its start is repaired at the second look.
const grace = maxRequestTime + 7*time.Second

// finding names an inconsistency in etcd.
type finding struct{ what, machine, id string }

// sighting is when a finding was first seen. With another version it is a new
// one: something has changed.
type sighting struct {
	version uint64
	since   time.Time
}

// problem is a finding and its repair, which checks again before it writes.
type problem struct {
	finding
	version uint64
	mend    func(*EtcdRegistry) error
}

// Reconcile repairs the lists of manifests, the index and the endpoints after
// crashes and after writes of other programs, so that they agree with the tasks
// and services, which it never changes. An inconsistency is repaired by the
// first call that finds it unchanged after the grace. Call it periodically. The
// error joins all failures.
func (registry *EtcdRegistry) Reconcile() error {
	index, _, err := registry.readDirectory("reconcile", indexKey) // before the tasks: a new task has an older entry
	if err != nil {
		return err
	}
	if misplaced := misplacedDirectory(index); misplaced != nil {
		registry.warnOnce(index, api.InFull(misplaced.err))
		return nil // nobody knows whose a task's id is
	}
	all, _, err := registry.readDirectory("reconcile", hostsKey)
	if err != nil {
		return err
	}
	services, _, err := registry.readDirectory("reconcile", servicesKey)
	if err != nil {
		return err
	}
	var failures []error
	for _, p := range registry.abandoned(compare(registry, index, all, services)) {
		if err := p.mend(registry); err != nil {
			failures = append(failures, fmt.Errorf("reconcile: %s %s: %w", p.what, keyInWords(p.id), err))
			continue
		}
		log.Printf("reconcile: repaired %s: %s", p.what, keyInWords(strings.TrimSpace(p.machine+" "+p.id)))
	}
	return errors.Join(failures...)
}

// abandoned returns the problems that have stayed unchanged for the grace, and
// remembers the others.
func (registry *EtcdRegistry) abandoned(problems []problem) []problem {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	now := registry.now()
	seen := map[finding]sighting{}
	var due []problem
	for _, p := range problems {
		first, known := registry.odd[p.finding]
		if !known || first.version != p.version {
			first = sighting{version: p.version, since: now}
		}
		seen[p.finding] = first
		if now.Sub(first.since) >= grace {
			due = append(due, p)
		}
	}
	registry.odd = seen
	return due
}
