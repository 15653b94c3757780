package mirror

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/values"
)

// create creates a service through a mirror, and returns the version.
func create(t *testing.T, c *Mirror, id string) uint64 {
	p := Place{Kind: api.ServiceKind, ID: id}
	own := &Change{Key: p.Key(), Object: &api.Service{JSONBase: api.JSONBase{ID: id}}}
	require.NoError(t, c.Write(own, func() (*etcd.Response, error) { return c.Client.Create(own.Key, `{"id":"`+id+`"}`, 0) }))
	return own.Version
}

func (m *Mirror) idle() bool { return len(m.waiting) == 0 && len(m.inFlight) == 0 }

// What the mirror remembers while nobody reads is bounded.
func TestWhatTheCacheRemembersIsBounded(t *testing.T) {
	t.Parallel()
	c := New(etcdtest.NewFake())
	for i := range 3 * maxWaiting {
		create(t, c, string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))
		require.LessOrEqual(t, len(c.waiting), maxWaiting)
	}
	require.NoError(t, c.Fresh("list services"))
	services, err := c.Objects.List(storage.Selection{Kind: api.ServiceKind})
	require.NoError(t, err)
	assert.Len(t, services.Items, 3*maxWaiting)
	assert.True(t, c.idle(), "what is applied is let go")
}

// An own write is shown when no earlier change is missing: readers see etcd as it was
// at one moment.
func TestAnOwnWriteWaitsForEarlierChanges(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	c, other := New(fake), New(fake)
	create(t, c, "first")
	require.NoError(t, c.Fresh("begin"))
	create(t, other, "theirs")
	create(t, c, "ours")
	_, err := c.Objects.Get(api.DefaultKey(api.ServiceKind, "ours"))
	assert.Equal(t, api.NotFound, api.KindOf(err))
	assert.False(t, c.idle())
	require.NoError(t, c.Fresh("list services"))
	for _, id := range []string{"first", "theirs", "ours"} {
		_, err := c.Objects.Get(api.DefaultKey(api.ServiceKind, id))
		assert.NoError(t, err, id)
	}
	assert.True(t, c.idle())
}

// Another program makes an object unreadable again and again, and repairs it. The order
// of the goroutines is left to chance: no order may break this.
func TestWhatBecomesUnreadableIsNeverMissingNorThereTwice(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	c := New(fake)
	create(t, New(fake), "x")
	require.NoError(t, c.Fresh("begin"))
	first := c.version + 1
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range uint64(10000) {
			node := &etcd.Node{Key: directories[api.ServiceKind] + "/x", Value: []string{"{", "{}"}[i%2], ModifiedIndex: first + i}
			if !assert.True(t, c.addEvent(&etcd.Response{Action: "set", Node: node}, first+i)) {
				return
			}
		}
	}()
	for {
		select {
		case <-ended:
			return
		default:
			if !assert.Len(t, c.Copies(api.DefaultKey(api.ServiceKind, "x")), 1) {
				<-ended
				return
			}
		}
	}
}

func TestAWatchWaitsABoundedTimeForEarlierChanges(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		each  time.Duration // that it takes to fetch a change
		moves time.Duration // after which the history begins elsewhere; 0 for never
	}{
		"etcd is slow":                         {each: 400 * time.Millisecond},
		"the history moves, so it tries again": {each: 210 * time.Millisecond, moves: 4100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake := etcdtest.NewFake()
				for i := range 20 {
					create(t, New(fake), string(rune('a'+i)))
				}
				c := New(&etcdtest.Around{Client: fake, Do: func(method, _ string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
					if method == "Watch" {
						time.Sleep(row.each)
					}
					return call()
				}})
				require.NoError(t, c.Fresh("begin"))
				if row.moves != 0 {
					time.AfterFunc(row.moves, func() { c.Objects.Extend(15, 20, nil) })
				}
				began := time.Now()
				c.Extend(0)
				assert.Equal(t, extendPatience, time.Since(began))
				time.Sleep(row.each) // the last fetch ends
			})
		})
	}
}

// June 2014's programs, and earlier versions of this one, find their objects where they were. All
// others are in a directory of their own.
func TestTheKeysOfObjectsArePinned(t *testing.T) {
	t.Parallel()
	for key, p := range map[string]Place{
		"/registry/hosts/m1/tasks/a":        taskPlace("m1", "a"),
		"/registry/hosts/m1/kubelet":        {Machine: "m1"},
		"/registry/pods/a":                  PodPlace("a"),
		"/registry/pods/a%20b":              PodPlace("a%20b"),
		"/registry/controllers/a":           PlaceOf(api.DefaultKey(api.ControllerKind, "a")),
		"/registry/services/specs/a":        PlaceOf(api.DefaultKey(api.ServiceKind, "a")),
		"/registry/services/endpoints/a":    PlaceOf(api.DefaultKey(api.EndpointsKind, "a")),
		"/registry/minions/a":               PlaceOf(api.DefaultKey(api.NodeKind, "a")),
		"/registry/events/a":                PlaceOf(api.DefaultKey("events", "a")),
		"/registry/roles/a:b%20c":           PlaceOf(api.DefaultKey("roles", "a:b c")),
		"/registry/events/a%20b":            PlaceOf(api.DefaultKey("events", "a b")),
		"/registry/rolebindings/%5Fa":       PlaceOf(api.DefaultKey("rolebindings", "_a")),
		"/registry/clusterroles/system:a":   PlaceOf(api.Key{Kind: "clusterroles", ID: "system:a"}),
		"/registry/clusterrolebindings/a":   PlaceOf(api.Key{Kind: "clusterrolebindings", ID: "a"}),
		"/registry/objects/pods/dev/a":      PlaceOf(api.Key{Kind: api.TaskKind, Namespace: "dev", ID: "a"}),
		"/registry/objects/controllers/a/b": PlaceOf(api.Key{Kind: api.ControllerKind, Namespace: "a", ID: "b"}),

		"/registry/objects/services/endpoints/dev/a":      PlaceOf(api.Key{Kind: api.EndpointsKind, Namespace: "dev", ID: "a"}),
		"/registry/objects/quotas/default/pods":           PlaceOf(api.DefaultKey("quotas", "pods")),
		"/registry/objects/deployments/default/web":       PlaceOf(api.Key{Kind: "deployments", Namespace: "default", ID: "web"}),
		"/registry/objects/example.com/widgets/dev/a%20b": PlaceOf(api.Key{Kind: "widgets.example.com", Namespace: "dev", ID: "a b"}),
		"/registry/objects/namespaces/%5Fdev":             PlaceOf(api.Key{Kind: "namespaces", ID: "_dev"}),
	} {
		assert.Equal(t, key, p.Key())
		found, ours, valid := placeOf(key)
		assert.True(t, ours && valid, key)
		assert.Equal(t, p, found)
		if p.Kind != "" && p.Machine == "" {
			object := values.New(p.Of())
			if task, ok := object.(*api.Task); ok {
				task.IsPod = true
			}
			assert.Equal(t, p, PlaceFor(object))
		}
	}
	for _, key := range []string{"/registry/_tasks/x", "/other/registry/controllers/x", "/registry2"} {
		_, ours, valid := placeOf(key)
		assert.True(t, !ours && valid, key)
	}
	for _, key := range []string{"/registry", "/registry/pods", "/registry/pods/x/below", "/registry/controllers", "/registry/controllers/x/below",
		"/registry/services/specs", "/registry/services/endpoints/x/no", "/registry/hosts", "/registry/hosts/m", "/registry/hosts/m/tasks",
		"/registry/hosts/m/tasks/x/below", "/registry/hosts/m/kubelet/below", "/registry/objects/pods/default/a", "/registry/objects/pods/a", "/registry/objects/configmaps/dev/a b", "/registry/objects/configmaps/dev/a%2Fb",
		"/registry/objects/minions/a", "/registry/objects", "/registry/objects/x", "/registry/other/a"} {
		_, ours, valid := placeOf(key)
		assert.False(t, ours || valid, key)
	}
}

// What the value of an index key says of its task.
func TestTheValueOfAnIndexKey(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		place   Place
		machine string
	}{
		"m":         {taskPlace("m", "x"), "m"},
		"pods/m":    {PodPlace("x"), "m"},
		"pods/":     {PodPlace("x"), ""},
		"pods":      {taskPlace("pods", "x"), "pods"},
		"pods/m/no": {},
		"pods/_m":   {},
		"a/b":       {},
		"_m":        {},
		"":          {},
	} {
		place, machine, ok := Indexed("x", value)
		assert.Equal(t, want.place, place, value)
		assert.Equal(t, want.machine, machine, value)
		assert.Equal(t, want.place.ID != "", ok, value)
		if ok {
			assert.Equal(t, value, place.IndexValue(machine))
		}
	}
}
