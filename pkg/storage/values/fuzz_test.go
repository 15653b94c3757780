package values

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// Whatever is stored, it is an error or an object; and what is written for the object is
// read as the same one again.
func FuzzDecode(f *testing.F) {
	for _, object := range []api.Object{&api.Task{JSONBase: base("x"), ObjectMeta: full()}, &api.Service{SelectsNothing: true}, &api.Any{Kind: api.NodeKind, ObjectMeta: full()},
		&api.ReplicationController{ObjectMeta: full()}, &api.Endpoints{Targets: []api.Target{{TaskID: "a"}}, Managed: true}, &api.Any{Kind: "events", ObjectMeta: api.ObjectMeta{Namespace: "default"}, Labels: map[string]string{"a": ""}}, &api.Any{Kind: "roles", ID: "a b", ObjectMeta: inDefault(full())}} {
		text, err := Encode(object)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, object := range []api.Object{&api.Task{}, &api.Task{IsPod: true}, &api.ReplicationController{}, &api.Service{}, &api.Endpoints{}, &api.Any{Kind: api.NodeKind}, &api.Any{Kind: "events", ObjectMeta: api.ObjectMeta{Namespace: "default"}}, &api.Any{Kind: "clusterrolebindings"}, &api.Any{Kind: "quotas"}} {
			if Decode(text, object) != nil {
				continue
			}
			written, err := Encode(object)
			if err != nil {
				require.Greater(t, len(text), 1000, "%v", err) // at the limit of the size
				continue
			}
			require.True(t, json.Valid([]byte(written)), written)
			again := empty(object)
			require.NoError(t, Decode(written, again))
			twice, err := Encode(again)
			require.NoError(t, err)
			require.Equal(t, written, twice)
			require.Equal(t, api.UIDOf(object), api.UIDOf(again))
			require.Equal(t, object.Meta().CreationTime, again.Meta().CreationTime)
			require.Equal(t, len(object.GetLabels()), len(again.GetLabels()))
		}
	})
}
