package cache

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage/values"
)

// create creates a service through a cache, and returns the version.
func create(t *testing.T, c *Cache, id string) uint64 {
	p := Place{Kind: api.ServiceKind, ID: id}
	own := &Change{Key: p.Key(), Object: &api.Service{JSONBase: api.JSONBase{ID: id}}}
	require.NoError(t, c.Write(own, func() (*etcd.Response, error) { return c.Client.Create(own.Key, `{"id":"`+id+`"}`, 0) }))
	return own.Version
}

func (c *Cache) idle() bool { return len(c.waiting) == 0 && len(c.inFlight) == 0 }

// What the cache remembers while nobody reads is bounded.
func TestWhatTheCacheRemembersIsBounded(t *testing.T) {
	t.Parallel()
	c := New(etcdtest.NewFake())
	for i := range 3 * maxWaiting {
		create(t, c, string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)))
		require.LessOrEqual(t, len(c.waiting), maxWaiting)
	}
	require.NoError(t, c.Fresh("list services"))
	services, err := c.Objects.List(api.ServiceKind, nil)
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
	_, err := c.Objects.Get(api.ServiceKind, "ours")
	assert.Equal(t, api.NotFound, api.KindOf(err))
	assert.False(t, c.idle())
	require.NoError(t, c.Fresh("list services"))
	for _, id := range []string{"first", "theirs", "ours"} {
		_, err := c.Objects.Get(api.ServiceKind, id)
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
			node := &etcd.Node{Key: directoryOf(api.ServiceKind) + "/x", Value: []string{"{", "{}"}[i%2], ModifiedIndex: first + i}
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
			if !assert.Len(t, c.Copies(api.ServiceKind, "x"), 1) {
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

// What a key is for.
func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for key, row := range map[string]struct {
		place       Place
		ours, valid bool
	}{
		"/registry/hosts/m/tasks/x":         {Place{Kind: api.TaskKind, ID: "x", Machine: "m"}, true, true},
		"/registry/hosts/m/kubelet":         {Place{Machine: "m"}, true, true},
		"/registry/controllers/x":           {Place{Kind: api.ControllerKind, ID: "x"}, true, true},
		"/registry/services/specs/x":        {Place{Kind: api.ServiceKind, ID: "x"}, true, true},
		"/registry/services/endpoints/x":    {Place{Kind: api.EndpointsKind, ID: "x"}, true, true},
		"/registry/pods/x":                  {Place{Kind: api.TaskKind, ID: "x"}, true, true},
		"/registry/minions/x":               {Place{Kind: api.NodeKind, ID: "x"}, true, true},
		"/registry/events/x":                {Place{Kind: api.EventKind, ID: "x"}, true, true},
		"/registry/roles/a:b":               {Place{Kind: api.RoleKind, ID: "a:b"}, true, true},
		"/registry/roles/%5Fa":              {Place{Kind: api.RoleKind, ID: "_a"}, true, true}, // etcd would hide _a
		"/registry/roles/a%20b":             {Place{Kind: api.RoleKind, ID: "a b"}, true, true},
		"/registry/pods/a%20b":              {Place{Kind: api.TaskKind, ID: "a%20b"}, true, true},
		"/registry/rolebindings/x":          {Place{Kind: api.RoleBindingKind, ID: "x"}, true, true},
		"/registry/clusterroles/x":          {Place{Kind: api.ClusterRoleKind, ID: "x"}, true, true},
		"/registry/clusterrolebindings/x":   {Place{Kind: api.ClusterRoleBindingKind, ID: "x"}, true, true},
		"/registry/resourcequotas/pods":     {Place{Kind: api.QuotaKind, ID: "pods"}, true, true},
		"/registry/pods":                    {Place{}, false, false},
		"/registry/pods/x/below":            {Place{}, false, false},
		"/registry/_tasks/x":                {Place{}, false, true}, // hidden: no object
		"/other/registry/controllers/x":     {Place{}, false, true},
		"/registry2":                        {Place{}, false, true},
		"/registry":                         {Place{}, false, false},
		"/registry/controllers":             {Place{}, false, false},
		"/registry/controllers/x/below":     {Place{}, false, false},
		"/registry/services/specs":          {Place{}, false, false},
		"/registry/hosts":                   {Place{}, false, false},
		"/registry/hosts/m":                 {Place{}, false, false},
		"/registry/hosts/m/tasks":           {Place{}, false, false},
		"/registry/hosts/m/tasks/x/below":   {Place{}, false, false},
		"/registry/hosts/m/kubelet/below":   {Place{}, false, false},
		"/registry/services/endpoints/x/no": {Place{}, false, false},
	} {
		place, ours, valid := placeOf(key)
		assert.Equal(t, row.ours, ours, key)
		assert.Equal(t, row.valid, valid, key)
		if ours {
			assert.Equal(t, row.place, place, key)
			assert.Equal(t, key, place.Key())
		}
	}
}

// A kind that nobody has given a directory is a mistake in the program, and is told.
func TestAKindWithoutADirectoryIsToldAsAMistake(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "values: nobody has said where a secret is stored", func() { Place{Kind: "secret", ID: "x"}.Key() })
	for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind, api.NodeKind, api.EventKind,
		api.RoleKind, api.RoleBindingKind, api.ClusterRoleKind, api.ClusterRoleBindingKind, api.QuotaKind} {
		object, id := values.New(kind)
		assert.Equal(t, kind, object.GetKind())
		*id = "x"
		assert.Equal(t, "x", object.GetID())
		assert.Equal(t, Place{Kind: kind, ID: "x"}, PlaceFor(object))
	}
}

// What the value of an index key says of its task.
func TestTheValueOfAnIndexKey(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		place   Place
		machine string
	}{
		"m":         {Place{Kind: api.TaskKind, ID: "x", Machine: "m"}, "m"},
		"pods/m":    {PodPlace("x"), "m"},
		"pods/":     {PodPlace("x"), ""},
		"pods":      {Place{Kind: api.TaskKind, ID: "x", Machine: "pods"}, "pods"},
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
