package etcd3_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// place is a prefix of the keys of a real etcd that nobody else uses.
type place struct {
	servers []string
	prefix  string
	client  *etcd.V3 // nil if none lives as long
}

// shared returns a place of an etcd to which other tests write at the same time.
func shared(t *testing.T) (p place) {
	p.client, p.prefix = etcdtest.SharedV3(t, p.note)
	return p
}

// own returns a place of an etcd to which nobody else writes until the test ends.
func own(t *testing.T) (p place) {
	p.client, p.prefix = etcdtest.OwnV3(t, p.note)
	return p
}

func (p *place) note(servers []string) (*etcd.V3, error) {
	p.servers = servers
	return etcd.NewV3(etcd.Config{Servers: servers})
}

// started returns a place of an etcd that is started for a test.
func started(t *testing.T, setup etcdtest.Setup) (place, *etcdtest.Server) {
	servers, err := setup.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers[0].Kill()) })
	p := place{servers: []string{servers[0].URL}, prefix: "/registry"}
	p.client = p.connect(t)
	return p, servers[0]
}

// below returns another place of the same etcd.
func (p place) below(name string) place {
	p.prefix += "/" + name
	return p
}

// connect returns a client of its own. It waits as long as a slow machine takes.
func (p place) connect(t *testing.T) *etcd.V3 {
	client, err := etcd.NewV3(etcd.Config{Servers: p.servers})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	client.SetTimeout(patience)
	return client
}

// patience is how long requests wait, so that it does not matter how slow a machine is.
const patience = 5 * time.Minute

// store returns the store of a process of its own.
func (p place) store(t *testing.T) *etcd3.Store { return p.storeOver(t, p.connect(t)) }

// storeOver returns the store of a process that has a client already.
func (p place) storeOver(t *testing.T, client etcd3.Client) *etcd3.Store {
	store := etcd3.New(client, p.prefix)
	store.SetTimeout(patience)
	t.Cleanup(store.Close)
	return store
}

// following is like storeOver, for a process that follows etcd already: etcd shows what
// happens to a watch that it has at once, and to a late one a while later.
func (p place) following(t *testing.T, client etcd3.Client) *etcd3.Store {
	var once sync.Once
	begun := make(chan struct{})
	store := p.storeOver(t, &around{Client: client, watch: func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
		responses, progress := client.Watch(ctx, prefix, revision)
		once.Do(func() { close(begun) })
		return responses, progress
	}})
	version(t, store)
	<-begun
	return store
}

// do does what another program does.
func (p place) do(t *testing.T, op clientv3.Op) clientv3.OpResponse {
	t.Helper()
	client := p.client
	if client == nil {
		client = p.connect(t)
	}
	resp, err := client.Do(t.Context(), op)
	require.NoError(t, err)
	return resp
}

// put writes a key below the prefix, as another program does.
func (p place) put(t *testing.T, key, value string) (revision int64) {
	return p.do(t, clientv3.OpPut(p.prefix+key, value)).Put().Header.Revision
}

// remove deletes a key below the prefix, as another program does.
func (p place) remove(t *testing.T, key string) {
	require.EqualValues(t, 1, p.do(t, clientv3.OpDelete(p.prefix+key)).Del().Deleted)
}

// values returns what is in each key below the prefix, by the rest of the key.
func (p place) values(t *testing.T) map[string]string {
	resp := p.do(t, clientv3.OpGet(p.prefix+"/", clientv3.WithPrefix()))
	values := map[string]string{}
	for _, kv := range resp.Get().Kvs {
		values[strings.TrimPrefix(string(kv.Key), p.prefix)] = string(kv.Value)
	}
	return values
}

// around is a client of which a test sees each call, and can make another one of it. A nil
// function leaves the calls as they are.
type around struct {
	etcd3.Client
	do    func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error)
	watch watchFunc
}

type watchFunc func(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error)

func (a *around) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	call := func() (clientv3.OpResponse, error) { return a.Client.Do(ctx, op) }
	if a.do == nil {
		return call()
	}
	return a.do(op, call)
}

func (a *around) Watch(ctx context.Context, prefix string, revision int64) (clientv3.WatchChan, func(context.Context) error) {
	if a.watch == nil {
		return a.Client.Watch(ctx, prefix, revision)
	}
	return a.watch(ctx, prefix, revision)
}

// counted is a client that keeps the calls.
type counted struct {
	around
	mu    sync.Mutex // guards calls
	calls []clientv3.Op
}

func count(client etcd3.Client) *counted {
	c := &counted{around: around{Client: client}}
	c.do = func(op clientv3.Op, call func() (clientv3.OpResponse, error)) (clientv3.OpResponse, error) {
		c.mu.Lock()
		c.calls = append(c.calls, op)
		c.mu.Unlock()
		return call()
	}
	return c
}

// since returns the calls after the first n.
func (c *counted) since(n int) []clientv3.Op {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[n:]
}

// mayWrite tells whether an operation writes.
func mayWrite(op clientv3.Op) bool { return !op.IsGet() }

func commit(t *testing.T, store storage.Interface, changes ...storage.Change) []*storage.Object {
	written, err := store.Commit(changes...)
	require.NoError(t, err)
	return written
}

func version(t *testing.T, store storage.Reader) uint64 {
	version, err := store.Version()
	require.NoError(t, err)
	return version
}

func requireKind(t *testing.T, kind api.ErrorKind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, kind, api.KindOf(err), api.InFull(err))
}

// taskOn returns a task on a machine that has the host ports.
func taskOn(machine, id string, ports ...int) *api.Task {
	container := api.Container{Image: "dockerfile/nginx"}
	for _, port := range ports {
		container.Ports = append(container.Ports, api.Port{HostPort: port, ContainerPort: 80})
	}
	task := &api.Task{JSONBase: api.JSONBase{ID: id}, CurrentState: api.TaskState{Host: machine}}
	task.DesiredState.Manifest.Containers = []api.Container{container}
	return task
}

// podOn is like taskOn, for a pod of the second door.
func podOn(machine, id string, ports ...int) *api.Task {
	pod := taskOn(machine, id, ports...)
	pod.IsPod = true
	return pod
}

// service returns a service, whose port tells one version of it from another.
func service(id string, port int) *api.Service {
	return &api.Service{JSONBase: api.JSONBase{ID: id}, Port: port}
}

// portOf returns the port of the service that a reader finds, 0 if there is none.
func portOf(t *testing.T, store storage.Reader, id string) int {
	t.Helper()
	found, err := store.Get(api.DefaultKey(api.ServiceKind, id))
	if api.KindOf(err) == api.NotFound {
		return 0
	}
	require.NoError(t, err)
	return found.Object.(*api.Service).Port
}

// silent is a client whose watches show nothing.
func silent(client etcd3.Client) *around {
	return &around{Client: client, watch: silentWatch}
}

func silentWatch(ctx context.Context, _ string, _ int64) (clientv3.WatchChan, func(context.Context) error) {
	responses := make(chan clientv3.WatchResponse)
	context.AfterFunc(ctx, func() { close(responses) })
	return responses, func(context.Context) error { return nil }
}

// waitFor waits until a test lets a watch go on, or the watch is not wanted any more: also
// after a failure the store can be closed.
func waitFor(ctx context.Context, goOn <-chan struct{}) {
	select {
	case <-goOn:
	case <-ctx.Done():
	}
}
