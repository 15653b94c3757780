package etcd3_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

const (
	noManifest  = `"manifest":{"version":"","volumes":null,"containers":null}`
	oneManifest = `"manifest":{"version":"","volumes":null,"containers":[{"image":"dockerfile/nginx","ports":[{"hostPort":80,"containerPort":80}]}]}`
)

// What is in etcd, other programs read, and the next versions of this one.
func TestWhatIsInEtcdIsPinned(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"/registry", "/other/place"} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			p := own(t)
			p.prefix = prefix
			store := p.store(t)
			pod := podOn("m1", "pod", 80)
			pod.ObjectMeta = api.ObjectMeta{UID: "u", CreationTime: time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC), Annotations: map[string]string{"a": "b"}, Remainder: `{"spec":{}}`}
			held := taskOn("m1", "held", 81)
			held.DesiredState.Manifest, held.Held = api.ContainerManifest{}, true
			commit(t, store,
				storage.Create(taskOn("m2", "task", 80)), storage.Create(pod), storage.Create(podOn("", "unbound", 80)), storage.Create(held),
				storage.Create(&api.ReplicationController{JSONBase: api.JSONBase{ID: "x"}, DesiredState: api.ReplicationControllerState{Replicas: 2}}),
				storage.Create(&api.Service{JSONBase: api.JSONBase{ID: "x"}, Port: 80, Labels: map[string]string{"name": "web"}}),
				storage.Create(&api.Endpoints{Name: "x", Endpoints: []string{"m2:80"}, Targets: []api.Target{{TaskID: "task", UID: "u"}}}),
				storage.Create(&api.Any{Kind: api.NodeKind, ID: "m1", Labels: map[string]string{"zone": "a"}}),
				storage.Create(&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: `{"reason":"r"}`}}),
				storage.Create(&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "dev"}}),
				storage.Create(&api.Any{Kind: "deployments", ID: "web", ObjectMeta: api.ObjectMeta{Namespace: "default"}}),
				storage.Create(&api.Any{Kind: "widgets.example.com", ID: "a", ObjectMeta: api.ObjectMeta{Namespace: "dev", Remainder: `{"size":1}`}, Labels: map[string]string{"a": "b"}}),
				storage.Create(&api.Any{Kind: "namespaces", ID: "dev"}))
			assert.Equal(t, map[string]string{
				"/pods/default/task": `{"id":"task","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `,"host":"m2"}}`,
				"/pods/default/held": `{"id":"held","desiredState":{` + noManifest + `},"currentState":{` + noManifest + `,"host":"m1"},"v1":{"held":true}}`,
				"/pods/default/pod": `{"id":"pod","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `,"host":"m1"},` +
					`"v1":{"uid":"u","creationTimestamp":"2014-06-06T12:00:00Z","annotations":{"a":"b"},"pod":true,"remainder":{"spec":{}}}}`,
				"/pods/default/unbound":         `{"id":"unbound","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `},"v1":{"pod":true}}`,
				"/controllers/default/x":        `{"id":"x","desiredState":{"replicas":2,"taskTemplate":{"desiredState":{` + noManifest + `}}}}`,
				"/services/specs/default/x":     `{"id":"x","port":80,"labels":{"name":"web"}}`,
				"/services/endpoints/default/x": `{"Name":"x","Endpoints":["m2:80"],"v1":{"targets":[{"task":"task","uid":"u"}]}}`,
				"/minions/m1":                   `{"id":"m1","labels":{"zone":"a"}}`,
				"/events/default/x":             `{"id":"x","v1":{"remainder":{"reason":"r"}}}`,
				"/events/dev/x":                 `{"id":"x"}`,
				"/deployments/default/web":      `{"id":"web"}`,
				"/example.com/widgets/dev/a":    `{"id":"a","labels":{"a":"b"},"v1":{"remainder":{"size":1}}}`,
				"/namespaces/dev":               `{"id":"dev"}`,
				"/hostports/m1/80":              "/pods/default/pod",
				"/hostports/m2/80":              "/pods/default/task",
			}, p.values(t))
			found := contents(t, p.store(t))
			assert.Len(t, found, 10)
			assert.Equal(t, contents(t, store), found)

			var deletions []storage.Change
			for key, id := range map[api.Kind]string{api.ControllerKind: "x", api.ServiceKind: "x", api.EndpointsKind: "x", api.NodeKind: "m1", "events": "x"} {
				deletions = append(deletions, storage.Delete(api.DefaultKey(key, id), storage.Present))
			}
			for _, id := range []string{"task", "pod", "unbound", "held"} {
				deletions = append(deletions, storage.Delete(api.DefaultKey(api.TaskKind, id), storage.Present))
			}
			for _, key := range []api.Key{{Kind: "events", Namespace: "dev", ID: "x"}, {Kind: "deployments", Namespace: "default", ID: "web"},
				{Kind: "widgets.example.com", Namespace: "dev", ID: "a"}, {Kind: "namespaces", ID: "dev"}} {
				deletions = append(deletions, storage.Delete(key, storage.Present))
			}
			commit(t, store, deletions...)
			assert.Empty(t, p.values(t))
		})
	}
}

// An object has the id of its key, whatever its value says, and etcd's versions.
func TestAnObjectIsThatOfItsKey(t *testing.T) {
	t.Parallel()
	both(t, func(p place, before *etcd3.Store) {
		version(t, before)
		p.put(t, "/services/specs/default/x", `{"port":1}`)
		p.put(t, "/services/specs/default/x", `{"id":"y","port":2}`)
	}, func(t *testing.T, p place, store *etcd3.Store) {
		found, err := store.Get(api.DefaultKey(api.ServiceKind, "x"))
		require.NoError(t, err)
		assert.Equal(t, "x", found.Key().ID)
		assert.Greater(t, found.Version(), found.Meta().CreationVersion)
		_, err = store.Get(api.DefaultKey(api.ServiceKind, "y"))
		requireKind(t, api.NotFound, err)
		revision := p.put(t, "/services/specs/default/x", `{"port":3}`)
		again, err := store.Get(api.DefaultKey(api.ServiceKind, "x"))
		require.NoError(t, err)
		assert.EqualValues(t, revision, again.Version())
		assert.Equal(t, found.Meta().CreationVersion, again.Meta().CreationVersion)
	})
}

// Another prefix is another world.
func TestPrefixesDoNotMix(t *testing.T) {
	t.Parallel()
	p := shared(t)
	longer := p
	longer.prefix += "2"
	inside := p.below("pods")
	store := p.store(t)
	for i, other := range []*etcd3.Store{longer.store(t), inside.store(t)} {
		commit(t, other, storage.Create(taskOn("m", "x", 80)), storage.Create(service("x", i)))
		assert.Empty(t, contents(t, store))
		commit(t, store, storage.Create(taskOn("m", "y", 80)))
		commit(t, store, storage.Delete(api.DefaultKey(api.TaskKind, "y"), storage.Present))
		assert.Len(t, contents(t, other), 2)
	}
}

// A store that an earlier server has written, without namespaces, is refused as a whole, until its
// objects are gone: what is not migrated must not look as if it were not there.
func TestObjectsWithoutANamespaceAreRefused(t *testing.T) {
	t.Parallel()
	p := shared(t)
	before, after := p.store(t), p.store(t)
	commit(t, before, storage.Create(service("x", 1)))
	for _, store := range []*etcd3.Store{before, after} {
		p.put(t, "/pods/web-1", `{"id":"web-1"}`)
		read := func() error { _, err := store.Get(api.DefaultKey(api.ServiceKind, "x")); return err }
		requireKind(t, api.Unavailable, read()) // the cache has seen the key then
		for name, try := range map[string]func() error{
			"a read":         read,
			"a list":         func() error { _, err := store.List(storage.InDefault(api.ServiceKind)); return err },
			"a watch":        func() error { _, err := store.Watch(storage.InDefault(api.ServiceKind), 1); return err },
			"a change":       func() error { _, err := store.Commit(storage.Update(service("x", 2), storage.Present)); return err },
			"a new one":      func() error { _, err := store.Commit(storage.Create(service("y", 2))); return err },
			"a health check": func() error { _, err := store.Healthz(); return err },
			"a repair":       store.Reconcile,
		} {
			err := try()
			requireKind(t, api.Unavailable, err)
			var layout *etcd3.LayoutError
			require.ErrorAs(t, err, &layout, name)
			assert.Equal(t, p.prefix+"/pods/web-1", layout.Key, name)
			assert.EqualError(t, err, "the etcd has objects of an earlier layout, without namespaces, such as key "+p.prefix+
				"/pods/web-1: use another prefix, or delete all keys below this one")
		}
		p.remove(t, "/pods/web-1")
		require.NoError(t, read())
		assert.Equal(t, 1, portOf(t, store, "x"))
		p.put(t, "/events/x", `{"id":"x"}`) // a server of before goes on writing
		requireKind(t, api.Unavailable, read())
		p.remove(t, "/events/x")
		require.NoError(t, read())
	}
}
