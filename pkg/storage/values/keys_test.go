package values

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
)

// Whoever knows today's keys finds an object where today's server keeps it.
func TestTheKeyOfAnObjectTellsItsKind(t *testing.T) {
	t.Parallel()
	for path, key := range map[string]api.Key{
		"/pods/default/web-1":                 {Kind: api.TaskKind, Namespace: "default", ID: "web-1"},
		"/pods/dev/web-1":                     {Kind: api.TaskKind, Namespace: "dev", ID: "web-1"},
		"/controllers/default/web":            api.DefaultKey(api.ControllerKind, "web"),
		"/services/specs/default/web":         api.DefaultKey(api.ServiceKind, "web"),
		"/services/endpoints/dev/web":         {Kind: api.EndpointsKind, Namespace: "dev", ID: "web"},
		"/minions/m1":                         api.DefaultKey(api.NodeKind, "m1"),
		"/events/default/web.1":               api.DefaultKey("events", "web.1"),
		"/roles/default/a:b c":                api.DefaultKey("roles", "a:b c"),
		"/rolebindings/default/a":             api.DefaultKey("rolebindings", "a"),
		"/clusterroles/system:node":           api.Key{Kind: "clusterroles", ID: "system:node"},
		"/clusterrolebindings/a":              api.Key{Kind: "clusterrolebindings", ID: "a"},
		"/quotas/default/pods":                api.DefaultKey("quotas", "pods"),
		"/configmaps/dev/a":                   {Kind: "configmaps", Namespace: "dev", ID: "a"},
		"/namespaces/dev":                     {Kind: "namespaces", ID: "dev"},
		"/deployments/default/web":            {Kind: "deployments", Namespace: "default", ID: "web"},
		"/example.com/widgets/dev/a":          {Kind: "widgets.example.com", Namespace: "dev", ID: "a"},
		"/example.com/gears/a":                {Kind: "gears.example.com", ID: "a"},
		"/apps.example.com/deployments/dev/a": {Kind: "deployments.apps.example.com", Namespace: "dev", ID: "a"},
	} {
		assert.Equal(t, path, Path(key))
		found, ok := KeyAt(path)
		assert.True(t, ok, path)
		assert.Equal(t, key, found, path)

		object := New(key)
		assert.Equal(t, key, object.Key())
		text, err := EncodeWhole(object)
		assert.NoError(t, err)
		again := New(key)
		assert.NoError(t, DecodeWhole(text, again))
		assert.Equal(t, object, again)
	}
}

func TestAKeyOfNoObjectIsNone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/", "//", "///", "pods/default/a", "/pods", "/pods/", "/pods/default/", "/pods//a", "/pods/a/b/c", "/pods/a",
		"/minions/default/m1", "/services/specs/a", "/services/specs", "/services/a", "/services/a/b", "/services/other/default/a", "/roles/a", "/events/a",
		"/example.com/widgets", "/example.com//a", "/example.com/a.b/c", "/example.com/widgets/a/b/c", "/example.com/widgets/", "//a/b"} {
		key, ok := KeyAt(path)
		assert.False(t, ok, "%s: %v", path, key)
	}
}

func TestAKeyOfALayoutWithoutNamespacesIsRecognized(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/pods/web-1": true, "/controllers/web": true, "/services/specs/web": true, "/services/endpoints/web": true, "/events/a": true, "/roles/a": true,
		"/minions/m1": false, "/clusterroles/a": false, "/pods/default/web-1": false, "/pods/": false, "/configmaps/a": false, "": false, "/": false, "pods": false,
	} {
		assert.Equal(t, want, LacksNamespace(path), path)
	}
}
