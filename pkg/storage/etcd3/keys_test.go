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
				storage.Create(&api.Node{JSONBase: api.JSONBase{ID: "m1"}, Labels: map[string]string{"zone": "a"}}),
				storage.Create(&api.Event{JSONBase: api.JSONBase{ID: "x"}, ObjectMeta: api.ObjectMeta{Remainder: `{"reason":"r"}`}}))
			assert.Equal(t, map[string]string{
				"/pods/task": `{"id":"task","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `,"host":"m2"}}`,
				"/pods/held": `{"id":"held","desiredState":{` + noManifest + `},"currentState":{` + noManifest + `,"host":"m1"},"v1":{"held":true}}`,
				"/pods/pod": `{"id":"pod","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `,"host":"m1"},` +
					`"v1":{"uid":"u","creationTimestamp":"2014-06-06T12:00:00Z","annotations":{"a":"b"},"pod":true,"remainder":{"spec":{}}}}`,
				"/pods/unbound":         `{"id":"unbound","desiredState":{` + oneManifest + `},"currentState":{` + noManifest + `},"v1":{"pod":true}}`,
				"/controllers/x":        `{"id":"x","desiredState":{"replicas":2,"taskTemplate":{"desiredState":{` + noManifest + `}}}}`,
				"/services/specs/x":     `{"id":"x","port":80,"labels":{"name":"web"}}`,
				"/services/endpoints/x": `{"Name":"x","Endpoints":["m2:80"],"v1":{"targets":[{"task":"task","uid":"u"}]}}`,
				"/minions/m1":           `{"id":"m1","labels":{"zone":"a"}}`,
				"/events/x":             `{"id":"x","v1":{"remainder":{"reason":"r"}}}`,
				"/hostports/m1/80":      "pod",
				"/hostports/m2/80":      "task",
			}, p.values(t))
			found := contents(t, p.store(t))
			assert.Len(t, found, 9)
			assert.Equal(t, contents(t, store), found)

			var deletions []storage.Change
			for key, id := range map[api.Kind]string{api.ControllerKind: "x", api.ServiceKind: "x", api.EndpointsKind: "x", api.NodeKind: "m1", api.EventKind: "x"} {
				deletions = append(deletions, storage.Delete(key, id, storage.Present))
			}
			for _, id := range []string{"task", "pod", "unbound", "held"} {
				deletions = append(deletions, storage.Delete(api.TaskKind, id, storage.Present))
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
		p.put(t, "/services/specs/x", `{"port":1}`)
		p.put(t, "/services/specs/x", `{"id":"y","port":2}`)
	}, func(t *testing.T, p place, store *etcd3.Store) {
		found, err := store.Get(api.ServiceKind, "x")
		require.NoError(t, err)
		assert.Equal(t, "x", found.GetID())
		assert.Greater(t, found.Version(), found.Meta().CreationVersion)
		_, err = store.Get(api.ServiceKind, "y")
		requireKind(t, api.NotFound, err)
		revision := p.put(t, "/services/specs/x", `{"port":3}`)
		again, err := store.Get(api.ServiceKind, "x")
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
		commit(t, store, storage.Delete(api.TaskKind, "y", storage.Present))
		assert.Len(t, contents(t, other), 2)
	}
}
