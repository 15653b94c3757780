package registry

import (
	"slices"
	"sync"
)

// The limits of a run, in tasks and in bytes of JSON. A list is sent run by run,
// and large pieces wake its reader less often; but a change encodes a whole run
// again.
const (
	maxRunLength = 512
	maxRunSize   = 1 << 20
)

// taskRuns are tasks sorted by id, in runs of bounded length: a change replaces
// one run and leaves the others, and the JSON that was made of them, as they
// are. It has no lock of its own.
type taskRuns struct{ runs []*taskRun }

// taskRun is a part of a sorted list. Nobody changes its entries, so that a list
// can be sent while others write.
type taskRun struct {
	entries []*taskEntry // at least one
	size    int          // of its JSON

	mu   sync.Mutex // guards what follows
	json []byte     // as text returned it, nil when it is not kept
	used bool       // since the last sweep
}

// makeTaskRuns makes runs of sorted tasks.
func makeTaskRuns(entries []*taskEntry) taskRuns {
	var t taskRuns
	for some := range slices.Chunk(entries, maxRunLength) {
		t.runs = append(t.runs, makeTaskRun(some))
	}
	return t
}

func makeTaskRun(entries []*taskEntry) *taskRun {
	run := &taskRun{entries: entries}
	for _, entry := range entries {
		run.size += int(entry.listSize)
	}
	return run
}

// replace returns the run with some entries, or none, in the place of others.
func (run *taskRun) replace(from, to int, by ...*taskEntry) *taskRun {
	size := run.size
	for _, entry := range run.entries[from:to] {
		size -= int(entry.listSize)
	}
	for _, entry := range by {
		size += int(entry.listSize)
	}
	return &taskRun{entries: slices.Concat(run.entries[:from], by, run.entries[to:]), size: size}
}

// text returns the run as items of a list's JSON, with a comma before each, and
// keeps it. The caller must not change it.
func (run *taskRun) text() []byte {
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.json == nil {
		text := make([]byte, 0, run.size)
		for _, entry := range run.entries {
			text = entry.appendItem(text)
		}
		run.json = text
	}
	run.used = true
	return run.json
}

// sweep drops the text if it was not used since the last sweep, and reports
// whether it is still kept.
func (run *taskRun) sweep() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	if !run.used {
		run.json = nil
	}
	run.used = false
	return run.json != nil
}

// split returns the run, in two if it is too large.
func (run *taskRun) split() []*taskRun {
	if n := len(run.entries); n > maxRunLength || (n > 1 && run.size > maxRunSize) {
		return []*taskRun{makeTaskRun(run.entries[:n/2]), makeTaskRun(run.entries[n/2:])}
	}
	return []*taskRun{run}
}

// find returns the run in which a task is or belongs, and the place in it. Tasks
// are sorted by id, then by machine: another program may have written an id
// twice to etcd.
func (t *taskRuns) find(id, machine string) (run, place int, found bool) {
	run, _ = slices.BinarySearchFunc(t.runs, id, func(run *taskRun, id string) int {
		return run.entries[len(run.entries)-1].compare(id, machine)
	})
	if run == len(t.runs) {
		if run == 0 {
			return 0, 0, false
		}
		run-- // behind the last of all
	}
	place, found = slices.BinarySearchFunc(t.runs[run].entries, id, func(entry *taskEntry, id string) int {
		return entry.compare(id, machine)
	})
	return run, place, found
}

// get returns the first task with an id, nil when there is none.
func (t *taskRuns) get(id string) *taskEntry { return t.getFrom(id, "") }

// getFrom is like get, but passes over the machines before one.
func (t *taskRuns) getFrom(id, machine string) *taskEntry {
	run, place, _ := t.find(id, machine)
	if run == len(t.runs) || place == len(t.runs[run].entries) || t.runs[run].entries[place].id() != id {
		return nil
	}
	return t.runs[run].entries[place]
}

// has reports whether a task is here.
func (t *taskRuns) has(entry *taskEntry) bool {
	_, _, found := t.find(entry.id(), entry.machine())
	return found
}

// put adds a task, in the place of the one with its id and machine if there is
// one.
func (t *taskRuns) put(entry *taskEntry) {
	run, place, found := t.find(entry.id(), entry.machine())
	if len(t.runs) == 0 {
		t.runs = []*taskRun{makeTaskRun([]*taskEntry{entry})}
		return
	}
	after := place
	if found {
		after++
	}
	grown := t.runs[run].replace(place, after, entry).split()
	t.runs[run] = grown[0]
	t.runs = slices.Insert(t.runs, run+1, grown[1:]...)
}

// remove takes out a task, if it is there.
func (t *taskRuns) remove(entry *taskEntry) {
	run, place, found := t.find(entry.id(), entry.machine())
	if !found {
		return
	}
	left := t.runs[run].replace(place, place+1)
	switch {
	case len(left.entries) == 0:
		t.runs = slices.Delete(t.runs, run, run+1)
	case run > 0 && len(left.entries)+len(t.runs[run-1].entries) <= maxRunLength/2: // else short runs would remain
		t.runs[run-1] = makeTaskRun(slices.Concat(t.runs[run-1].entries, left.entries))
		t.runs = slices.Delete(t.runs, run, run+1)
	default:
		t.runs[run] = left
	}
}

// length is how many tasks there are.
func (t *taskRuns) length() int {
	length := 0
	for _, run := range t.runs {
		length += len(run.entries)
	}
	return length
}

// snapshot returns the tasks as they are now.
func (t *taskRuns) snapshot() taskRuns { return taskRuns{slices.Clone(t.runs)} }

// all calls f with each task, in order, until it returns false.
func (t *taskRuns) all(f func(*taskEntry) bool) {
	for _, run := range t.runs {
		for _, entry := range run.entries {
			if !f(entry) {
				return
			}
		}
	}
}

// sweep sweeps all runs, and reports whether a text is still kept.
func (t taskRuns) sweep() bool {
	kept := false
	for _, run := range t.runs {
		kept = run.sweep() || kept
	}
	return kept
}
