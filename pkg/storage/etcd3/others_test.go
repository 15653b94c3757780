package etcd3_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// request is what a process is asked to do. It is made ready before, so that it can know a
// version that is old when it comes.
type request func(ready storage.Interface) func() error

func committing(change func(version uint64) storage.Change) request {
	return func(store storage.Interface) func() error {
		var version uint64
		if subject, err := store.Get(api.DefaultKey(api.TaskKind, "subject")); err == nil {
			version = subject.Version()
		}
		return func() error {
			_, err := store.Commit(change(version))
			return err
		}
	}
}

// requests are about the task "subject", and host ports 80 and 81 of machine m.
var requests = map[string]request{
	"create it":          committing(func(uint64) storage.Change { return storage.Create(podOn("m", "subject", 80)) }),
	"update it":          committing(func(uint64) storage.Change { return storage.Update(podOn("m", "subject", 81), storage.Present) }),
	"update its version": committing(func(version uint64) storage.Change { return storage.Update(podOn("m", "subject", 80, 81), version) }),
	"delete it": committing(func(uint64) storage.Change {
		return storage.Delete(api.DefaultKey(api.TaskKind, "subject"), storage.Present)
	}),
	"bind it":                           func(store storage.Interface) func() error { return func() error { return bind(store) } },
	"create another one with its ports": committing(func(uint64) storage.Change { return storage.Create(podOn("m", "thief", 81, 80)) }),
	"delete the owner of a port":        committing(func(uint64) storage.Change { return storage.Delete(api.DefaultKey(api.TaskKind, "owner"), storage.Any) }),
	"add a label by reading it first": func(store storage.Interface) func() error {
		return func() error {
			_, err := storage.GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "subject"), func(stored *storage.Object) (api.Object, error) {
				if stored == nil {
					return nil, api.NewNotFound(api.TaskKind, "subject")
				}
				next := stored.Object.(*api.Task).DeepCopy()
				next.Labels = map[string]string{"more": next.Labels["more"] + "x"}
				return &next, nil
			})
			return err
		}
	},
}

// between are the requests that come between two calls of another one.
var between = []string{"create it", "update it", "delete it", "bind it", "create another one with its ports", "delete the owner of a port"}

// outcome is how two requests have ended, and what is there then.
type outcome struct {
	first, second api.ErrorKind
	found         map[string]string
}

// Whatever another apiserver does between two calls to etcd, it is as if one request had
// come after the other.
func TestOthersMayWriteBetweenAnyTwoCalls(t *testing.T) {
	t.Parallel()
	for situation, prepare := range map[string]func() []storage.Change{
		"there is nothing":         func() []storage.Change { return nil },
		"it has a machine":         func() []storage.Change { return []storage.Change{storage.Create(podOn("m", "subject", 80))} },
		"it has none":              func() []storage.Change { return []storage.Change{storage.Create(podOn("", "subject", 80, 81))} },
		"another one has its port": func() []storage.Change { return []storage.Change{storage.Create(podOn("m", "owner", 80))} },
		"it has none, and another one has its port": func() []storage.Change {
			return []storage.Change{storage.Create(podOn("", "subject", 80)), storage.Create(podOn("m", "owner", 80))}
		},
	} {
		t.Run(situation, func(t *testing.T) {
			t.Parallel()
			p, places := own(t), 0
			for firstName, first := range requests {
				for _, secondName := range between {
					second := requests[secondName]
					for k := 1; ; k++ {
						places++
						name := fmt.Sprintf("%s; before call %d: %s", firstName, k, secondName)
						if !checkBetween(t, name, p.below(fmt.Sprint(places)), prepare(), first, second, k) {
							require.Greater(t, k, 1)
							break
						}
					}
				}
			}
		})
	}
}

// checkBetween lets a second request come before the k-th call of the first one. It reports
// whether there was one.
func checkBetween(t *testing.T, name string, p place, prepare []storage.Change, first, second request, k int) bool {
	other := p.following(t, p.client)
	for _, change := range prepare {
		commit(t, other, change)
	}
	there := seen(t, other)
	possible := []outcome{inOrder(t, there, first, second, false), inOrder(t, there, first, second, true)}

	var calls atomic.Int32
	calls.Store(1000) // what comes first does not count
	interference := func() {}
	store := p.following(t, &around{Client: p.client, do: func(_ clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
		if calls.Add(1) == int32(k) {
			interference()
		}
		return call()
	}})
	do, interfere := first(store), second(other)
	var got outcome
	interference = func() { got.second = api.KindOf(interfere()) }
	calls.Store(0)
	got.first = api.KindOf(do())
	if calls.Swap(1000) < int32(k) {
		return false
	}
	got.found = contents(t, seen(t, other))
	require.Contains(t, possible, got, name)
	require.Equal(t, got.found, contents(t, seen(t, store)), name)
	requireConsistent(t, p)
	return true
}

// inOrder returns the outcome of two requests one after the other, by the store in memory.
func inOrder(t *testing.T, before storage.Reader, first, second request, isReverse bool) (o outcome) {
	model := copyOf(t, before)
	steps := []func(){}
	do, interfere := first(model), second(model)
	steps = append(steps, func() { o.first = api.KindOf(do()) }, func() { o.second = api.KindOf(interfere()) })
	if isReverse {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		step()
	}
	o.found = contents(t, model)
	return o
}

// Two processes with 32 requests each: whatever they want, one of them gets it.
func TestOfManyWhoWantTheSameOneWins(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		want  func(i int) storage.Change
		other api.ErrorKind // of those who do not win
	}{
		"an id":                       {func(i int) storage.Change { return storage.Create(taskOn(fmt.Sprint("m", i), "x", 80)) }, api.AlreadyExists},
		"an id of a service":          {func(i int) storage.Change { return storage.Create(service("x", i)) }, api.AlreadyExists},
		"a host port":                 {func(i int) storage.Change { return storage.Create(taskOn("m", fmt.Sprint("x", i), 80)) }, api.HostPortTaken},
		"a host port, and other ones": {func(i int) storage.Change { return storage.Create(podOn("m", fmt.Sprint("x", i), 100+i, 80, 200+i)) }, api.HostPortTaken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const each = 32
			p := shared(t)
			errs := make([]error, 2*each)
			var group sync.WaitGroup
			start := make(chan struct{})
			for s, store := range []*etcd3.Store{p.store(t), p.store(t)} {
				for i := range each {
					n := s*each + i
					group.Go(func() {
						<-start
						_, errs[n] = store.Commit(row.want(n))
					})
				}
			}
			close(start)
			group.Wait()
			winners := 0
			for _, err := range errs {
				if err == nil {
					winners++
					continue
				}
				assert.Equal(t, row.other, api.KindOf(err), "%v", err)
			}
			assert.Equal(t, 1, winners)
			assert.Len(t, contents(t, p.store(t)), 1)
			requireConsistent(t, p)
		})
	}
}
