package registry

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"kube2014/pkg/api"
)

// grace is how long something has to look half done, and the same, before it is
// taken for abandoned. A request that is at work looks half done too: it begins
// its last step within maxRequestTime, and etcd carries a step out, or gives it
// up, within 7 seconds. What is found at the start is mended at the second look.
const grace = maxRequestTime + 7*time.Second

// finding names something in etcd that is out of line.
type finding struct{ what, machine, id string }

// sighting is when a finding was seen first. A finding with another version is
// another one: there was a change in between.
type sighting struct {
	version uint64
	since   time.Time
}

// problem is a finding and what mends it. A mend looks again before it writes.
type problem struct {
	finding
	version uint64
	mend    func(*EtcdRegistry) error
}

// Reconcile puts tasks, lists of manifests, index and endpoints back in line
// after crashes and after writes of other programs: the task is the truth, the
// rest follows it. What is out of line is mended by the first call that finds
// it unchanged after the grace. It is to be called now and then. The error
// joins all failures.
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
		log.Printf("reconcile: mended: %s: %s", p.what, keyInWords(strings.TrimSpace(p.machine+" "+p.id)))
	}
	return errors.Join(failures...)
}

// abandoned returns the problems that have been there, the same, for the grace,
// and remembers the others.
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
