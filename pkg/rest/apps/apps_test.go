package apps_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apps"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func open(t *testing.T) *Door { return openOn(t, memory.New(1)) }

func openOn(t *testing.T, store storage.Interface) *Door {
	return OpenWith(t, apps.Resources(rest.Base{Objects: store, Now: func() time.Time { return Now }})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	open(t).Replay(t, "testdata/recorded.jsonl")
}

// What is written past the server has no defaults.
func TestABareObjectOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := openOn(t, store)
	for _, kind := range []api.Kind{"deployments", "replicasets", "daemonsets", "statefulsets", "controllerrevisions"} {
		for name, remainder := range map[string]string{"empty": "", "bare": `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{}},"updateStrategy":{"type":"RollingUpdate"}}}`} {
			_, err := storage.CommitOne(store, storage.Create(&api.Any{Kind: kind, ID: name, ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: api.Remainder(remainder)}}))
			require.NoError(t, err)
			path := "/apis/apps/v1/namespaces/default/" + string(kind)
			assert.Equal(t, 200, d.Do("GET", path, "", "Accept", Table).Status)
			assert.Contains(t, []int{200, 422}, d.Patch(path+"/"+name, MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
			if kind == "deployments" || kind == "statefulsets" || kind == "replicasets" {
				assert.Equal(t, 200, d.Do("GET", path+"/"+name+"/scale", "").Status)
			}
		}
	}
}

// The answer is without those spaces, and its client sends it back with its own.
func TestTheDataOfARevisionStayWhateverTheirSpaces(t *testing.T) {
	t.Parallel()
	d := open(t)
	const path = "/apis/apps/v1/namespaces/default/controllerrevisions"
	revision := func(number, data string) string {
		return `{"metadata":{"name":"r"},"revision":` + number + `,"data":` + data + `}`
	}
	d.Must("POST", path, revision("1", `{ "a" : "<" }`))
	assert.Equal(t, 200, d.Do("PUT", path+"/r", revision("2", `{"a":  "<"}`)).Status)
	assert.Equal(t, 200, d.Patch(path+"/r", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
	assert.Equal(t, 422, d.Do("PUT", path+"/r", revision("3", `{"a":">"}`)).Status)
}
