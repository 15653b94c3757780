// Package storagetest is for tests: the contract of storage.Interface, as a suite
// that every store must pass.
package storagetest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Harness is how the suite gets stores.
type Harness struct {
	// Make returns an empty store. It is called by concurrent tests.
	Make func(t *testing.T) storage.Interface
	// Another returns the store of another process on the same data. Nil if there
	// can be none.
	Another func(t *testing.T, store storage.Interface) storage.Interface
	// Atomic is whether the store makes all changes of a commit or none.
	Atomic bool
	// Forget makes the store drop all changes of some kinds so far from its history. Nil if that
	// takes too long: some tests are skipped.
	Forget func(t *testing.T, store storage.Interface, kinds ...api.Kind)
	// ClaimsInDefault is whether only objects of the namespace default can hold claims.
	ClaimsInDefault bool
	// CutsOff is whether the store may cut off a watcher at any time, not only one
	// that falls far behind: whoever watches then lists again.
	CutsOff bool
	// Slow is whether each call takes a while: the random tests do less.
	Slow bool
	// Kinds are those for which the tests are run that are for a kind; all, if it is nil.
	Kinds []api.Kind
}

// Run runs the suite. A store that loses events lets a watcher wait for them until go
// test ends it.
func Run(t *testing.T, h Harness) {
	h.run(t, slices.Concat(basicTests, namespaceTests, outcomeTests, togetherTests, portTests, podTests, watchTests, watchCacheTests, ttlTests, listAgainTests, concurrentTests))
}

// RunCutOff runs the tests in which whoever is cut off lists again, for a store that
// often cuts off watchers.
func RunCutOff(t *testing.T, h Harness) {
	h.CutsOff = true
	h.run(t, listAgainTests)
}

func (h Harness) run(t *testing.T, tests []test) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, h)
		})
	}
}

type test struct {
	name string
	run  func(t *testing.T, h Harness)
}

// onEachKind makes a test of one that is for a kind.
func onEachKind(run func(t *testing.T, h Harness, kind api.Kind)) func(*testing.T, Harness) {
	return func(t *testing.T, h Harness) {
		for _, kind := range kinds {
			if h.Kinds != nil && !slices.Contains(h.Kinds, kind) {
				continue
			}
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel()
				run(t, h, kind)
			})
		}
	}
}

// skipMost skips a test of a kind that takes long in a slow store, unless it is one of three
// that stand for all.
func (h Harness) skipMost(t *testing.T, kind api.Kind) {
	if h.Slow && !slices.Contains([]api.Kind{api.TaskKind, api.ServiceKind, api.EndpointsKind}, kind) {
		t.Skip("it takes long, and other kinds stand for this one")
	}
}

// processes returns a new store, as each of the processes on it sees it.
func (h Harness) processes(t *testing.T) []storage.Interface {
	stores := []storage.Interface{h.Make(t)}
	if h.Another != nil {
		stores = append(stores, h.Another(t, stores[0]))
	}
	return stores
}

// rounds returns how often a random test does something.
func (h Harness) rounds(fast int) int {
	if h.Slow {
		return max(1, fast/20)
	}
	return fast
}

// ForgetByWriting is a Harness.Forget: it writes an object of each kind until its history, which
// must be bounded, does not have the changes so far.
func ForgetByWriting(t *testing.T, store storage.Interface, kinds ...api.Kind) {
	before := version(t, store)
	for _, kind := range kinds {
		for isWatchable(t, store, kind, before) {
			for i := range 500 {
				commit(t, store, storage.Update(object(kind, "forgotten", i), storage.Any))
			}
		}
	}
}

// isWatchable reports whether the history has the changes of a kind after a version.
func isWatchable(t *testing.T, store storage.Reader, kind api.Kind, after uint64) bool {
	watcher, err := store.Watch(storage.Selection{Kind: kind}, after)
	if api.KindOf(err) == api.Expired {
		return false
	}
	require.NoError(t, err)
	watcher.Stop()
	return true
}

// commit makes changes that must succeed.
func commit(t *testing.T, store storage.Interface, changes ...storage.Change) []*storage.Object {
	written, err := store.Commit(changes...)
	require.NoError(t, err)
	require.Len(t, written, len(changes))
	return written
}

func version(t *testing.T, store storage.Reader) uint64 {
	version, err := store.Version()
	require.NoError(t, err)
	return version
}

// cached returns what a process has cached, which is not older than what it has just
// read.
func cached(t *testing.T, store storage.Interface) storage.Reader {
	_, err := store.Version()
	assert.NoError(t, err)
	return store.Cached()
}

func get(t *testing.T, store storage.Reader, kind api.Kind, id string) *storage.Object {
	object, err := store.Get(api.DefaultKey(kind, id))
	require.NoError(t, err)
	return object
}

// list returns the list of a kind, of which it checks what holds for each.
func list(t *testing.T, store storage.Reader, kind api.Kind, labels map[string]string) *storage.List {
	list, err := store.List(storage.Selection{Kind: kind, Labels: labels})
	require.NoError(t, err)
	require.Equal(t, kind, list.Kind)
	for i, item := range list.Items {
		switch {
		case item.Key().Kind != kind:
			require.Fail(t, "a list has an object of another kind", "%v", factsOf(item))
		case item.Version() > list.Version:
			require.Fail(t, "a list has an item that is newer than itself", "%v", factsOf(item))
		case i > 0 && !isBefore(list.Items[i-1].Key(), item.Key()):
			require.Fail(t, "a list is not sorted by namespace and id", "%v", allFacts(list.Items))
		}
	}
	return list
}

func isBefore(a, b api.Key) bool {
	return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.ID < b.ID
}

func watch(t *testing.T, store storage.Reader, kind api.Kind, after uint64) storage.Watcher {
	watcher, err := store.Watch(storage.Selection{Kind: kind}, after)
	require.NoError(t, err)
	return watcher
}

// requireKind requires an error of a kind, "" for none.
func requireKind(t *testing.T, kind api.ErrorKind, err error) {
	require.Equal(t, kind, api.KindOf(err), "%v", err)
}
