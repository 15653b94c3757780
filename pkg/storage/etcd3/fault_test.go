package etcd3_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/storage/memory"
	"kube2014/pkg/storage/values"
)

// operation is a change of what prepare has stored.
type operation struct {
	prepare []storage.Change
	run     func(storage.Interface) error
	// doneAlready is the error of a retry after the operation took effect.
	doneAlready api.ErrorKind
}

func changing(changes func() []storage.Change) func(storage.Interface) error {
	return func(store storage.Interface) error {
		_, err := store.Commit(changes()...)
		return err
	}
}

// bind gives the pod "subject" a machine, unless it has one.
func bind(store storage.Interface) error {
	_, err := storage.GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "subject"), func(stored *storage.Object) (api.Object, error) {
		if stored == nil {
			return nil, api.NewNotFound(api.TaskKind, "subject")
		}
		if stored.Object.(*api.Task).CurrentState.Host != "" {
			return nil, api.NewConflict("it has a machine")
		}
		return podOn("m", "subject", 80, 81), nil
	})
	return err
}

// operations returns each operation, made anew: a store owns what it is given.
func operations() map[string]operation {
	one := func(change func() storage.Change) func(storage.Interface) error {
		return changing(func() []storage.Change { return []storage.Change{change()} })
	}
	remove := one(func() storage.Change { return storage.Delete(api.DefaultKey(api.TaskKind, "subject"), storage.Present) })
	endpoints := func(at string) *api.Endpoints { return &api.Endpoints{Name: "subject", Endpoints: []string{at}} }
	return map[string]operation{
		"create a task": {nil, one(func() storage.Change { return storage.Create(taskOn("m", "subject", 80, 81)) }), api.AlreadyExists},
		"update a task": {[]storage.Change{storage.Create(taskOn("m", "subject", 80, 81))},
			one(func() storage.Change { return storage.Update(taskOn("m", "subject", 81, 82), storage.Present) }), ""},
		"delete a task":         {[]storage.Change{storage.Create(taskOn("m", "subject", 80, 81))}, remove, api.NotFound},
		"create a pod":          {nil, one(func() storage.Change { return storage.Create(podOn("m", "subject", 80, 81)) }), api.AlreadyExists},
		"create an unbound pod": {nil, one(func() storage.Change { return storage.Create(podOn("", "subject", 80, 81)) }), api.AlreadyExists},
		"update a pod": {[]storage.Change{storage.Create(podOn("m", "subject", 80, 81))},
			one(func() storage.Change { return storage.Update(podOn("m", "subject", 81, 82), storage.Present) }), ""},
		"delete a pod":          {[]storage.Change{storage.Create(podOn("m", "subject", 80, 81))}, remove, api.NotFound},
		"delete an unbound pod": {[]storage.Change{storage.Create(podOn("", "subject", 80, 81))}, remove, api.NotFound},
		"bind a pod":            {[]storage.Change{storage.Create(podOn("", "subject", 80, 81))}, bind, api.Conflict},
		"create a service":      {nil, one(func() storage.Change { return storage.Create(service("subject", 1)) }), api.AlreadyExists},
		"delete a service and its endpoints": {[]storage.Change{storage.Create(service("subject", 1)), storage.Create(endpoints("m:80"))},
			changing(func() []storage.Change {
				return []storage.Change{storage.Delete(api.DefaultKey(api.ServiceKind, "subject"), storage.Present), storage.Delete(api.DefaultKey(api.EndpointsKind, "subject"), storage.Any)}
			}), api.NotFound},
		"update the endpoints of a service": {[]storage.Change{storage.Create(service("subject", 1)), storage.Create(endpoints("m:80"))},
			changing(func() []storage.Change {
				return []storage.Change{storage.Require(api.DefaultKey(api.ServiceKind, "subject")), {Key: api.DefaultKey(api.EndpointsKind, "subject"),
					Expected: storage.Blind, Action: storage.Write, Object: endpoints("m:81")}}
			}), ""},
	}
}

// contents is what a reader finds, apart from versions: the value of each object.
func contents(t *testing.T, store storage.Reader) map[string]string {
	found := map[string]string{}
	for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind, api.NodeKind, "events", "roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		list, err := store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		for _, item := range list.Items {
			value, err := values.EncodeWhole(item.Object)
			require.NoError(t, err)
			name := string(kind) + " " + item.Key().ID
			if item.Key().Namespace != api.DefaultKey(kind, "").Namespace {
				name += " in " + item.Key().Namespace
			}
			found[name] = value
			one, err := store.Get(item.Key())
			require.NoError(t, err)
			assert.Same(t, item, one, "a list says what GET says")
		}
	}
	return found
}

// seen returns what a process has cached when it has asked etcd how far it is.
func seen(t *testing.T, store *etcd3.Store) storage.Reader {
	version(t, store)
	return store.Cached()
}

// requireConsistent checks that each key of a host port belongs to a task that has it, and
// the reverse, and that Reconcile finds nothing to do.
func requireConsistent(t *testing.T, p place) {
	t.Helper()
	calls := count(p.client)
	store := p.storeOver(t, calls)
	want, got := map[string]string{}, map[string]string{}
	list, err := seen(t, store).List(storage.Selection{Kind: api.TaskKind})
	require.NoError(t, err)
	for _, task := range list.Items {
		for _, claim := range task.AppendClaims(nil) {
			want["/"+claim.Path()] = values.Path(task.Key())
		}
	}
	for key, value := range p.values(t) {
		if strings.HasPrefix(key, "/hostports/") {
			got[key] = value
		}
	}
	require.Equal(t, want, got)
	require.NoError(t, store.Reconcile())
	require.False(t, slices.ContainsFunc(calls.since(0), mayWrite), "there is nothing of ours to do")
}

// faults is a client of which one call fails.
type faults struct {
	etcd3.Client
	stopped chan struct{} // closed when the process has stopped

	mu    sync.Mutex // guards what follows
	at    int        // the number of the call that fails
	fate  etcdtest.Fate
	calls []string
}

func (f *faults) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	f.mu.Lock() // so that no call is under way when the process stops
	defer f.mu.Unlock()
	words := "a read"
	if op.IsTxn() {
		words = "a transaction"
	}
	f.calls = append(f.calls, words)
	select {
	case <-f.stopped:
		return clientv3.OpResponse{}, etcdtest.ErrLost
	default:
	}
	if len(f.calls) != f.at {
		return f.Client.Do(ctx, op)
	}
	fate := f.fate
	if fate == etcdtest.LostAfter || fate == etcdtest.StopsAfter {
		if _, err := f.Client.Do(ctx, op); err != nil {
			return clientv3.OpResponse{}, err
		}
	}
	if fate == etcdtest.StopsBefore || fate == etcdtest.StopsAfter {
		close(f.stopped)
	}
	return clientv3.OpResponse{}, etcdtest.ErrLost
}

// Watch shows nothing more once the process has stopped.
func (f *faults) Watch(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-f.stopped:
		case <-ctx.Done():
		}
		cancel()
	}()
	return f.Client.Watch(ctx, prefix, revision)
}

// failAt lets the call of a number, from now on, have a fate.
func (f *faults) failAt(number int, fate etcdtest.Fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.fate, f.calls = number, fate, nil
}

// made returns what calls there were.
func (f *faults) made() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

var errStopped = errors.New("the process has stopped")

// run runs an operation until it ends or its process stops.
func (f *faults) run(op operation, store storage.Interface) error {
	ended := make(chan error, 1)
	go func() { ended <- op.run(store) }()
	select {
	case err := <-ended:
		return err
	case <-f.stopped:
		return errStopped
	}
}

// If any call to etcd fails, before or after it took effect, or the process stops there,
// nothing is half done and nothing is left to repair.
func TestAnyCallToEtcdMayFail(t *testing.T) {
	t.Parallel()
	for name := range operations() {
		t.Run(name, func(t *testing.T) { anyCallMayFail(t, name, place.following) })
	}
	for _, name := range []string{"create a task", "delete a task", "bind a pod", "delete a service and its endpoints"} {
		t.Run("a new process: "+name, func(t *testing.T) { anyCallMayFail(t, name, place.storeOver) })
	}
}

// beginning begins a process.
type beginning func(p place, t *testing.T, client etcd3.Client) *etcd3.Store

func anyCallMayFail(t *testing.T, name string, begin beginning) {
	t.Parallel()
	p, places := own(t), 0
	for _, fate := range []etcdtest.Fate{etcdtest.LostBefore, etcdtest.LostAfter, etcdtest.StopsBefore, etcdtest.StopsAfter} {
		covered := 0
		for k := 1; ; k++ {
			places++
			if !checkFault(t, p.below(fmt.Sprint(places)), operations()[name], begin, k, fate) {
				break
			}
			covered++
		}
		assert.GreaterOrEqual(t, covered, 1, "the transaction is covered: %s", fate)
	}
}

// checkFault lets the k-th call of an operation fail. It reports whether there was one.
func checkFault(t *testing.T, p place, op operation, begin beginning, k int, fate etcdtest.Fate) bool {
	other := p.following(t, p.client)
	commit(t, other, storage.Create(taskOn("m", "beside", 90)))
	if len(op.prepare) > 0 {
		commit(t, other, op.prepare...)
	}
	before, after := contents(t, seen(t, other)), afterIn(t, op, seen(t, other))

	faulty := &faults{Client: p.connect(t), stopped: make(chan struct{})}
	store := begin(p, t, faulty)
	faulty.failAt(k, fate)
	err := faulty.run(op, store)
	calls := faulty.made()
	isCovered := len(calls) >= k
	if !isCovered {
		require.NoError(t, err)
	}
	found := contents(t, seen(t, other))
	if err == nil {
		require.Equal(t, after, found, "what was acknowledged is there: %s, call %d of %v", fate, k, calls)
	} else {
		require.True(t, errors.Is(err, errStopped) || api.KindOf(err) == api.Unavailable, api.InFull(err))
		require.Contains(t, []map[string]string{before, after}, found, "what was not acknowledged is there or not, whole: %s, call %d of %v", fate, k, calls)
	}
	requireConsistent(t, p)

	again := op.run(other)
	if again != nil {
		requireKind(t, op.doneAlready, again)
		require.Equal(t, after, found, "a retry is told the truth")
	}
	require.Equal(t, after, contents(t, seen(t, other)))
	requireConsistent(t, p)
	return isCovered
}

// afterIn returns what is there when an operation has succeeded, by the store in memory.
func afterIn(t *testing.T, op operation, store storage.Reader) map[string]string {
	model := copyOf(t, store)
	require.NoError(t, op.run(model))
	return contents(t, model)
}

// copyOf returns a store in memory that has the same objects.
func copyOf(t *testing.T, store storage.Reader) storage.Interface {
	model := memory.New(0)
	for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind, api.NodeKind, "events", "roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		list, err := store.List(storage.Selection{Kind: kind})
		require.NoError(t, err)
		for _, item := range list.Items {
			object := values.New(item.Key())
			value, err := values.EncodeWhole(item.Object)
			require.NoError(t, err)
			require.NoError(t, values.DecodeWhole(value, object))
			commit(t, model, storage.Create(object))
		}
	}
	return model
}
