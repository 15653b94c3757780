package volumes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/volumes"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func openAt(t *testing.T, store storage.Interface, now func() time.Time) *Door {
	return OpenWith(t, volumes.Resources(rest.Base{Objects: store, Now: now})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	openAt(t, memory.New(1), time.Now).Replay(t, "testdata/recorded.jsonl")
}

func TestAVolumeTellsWhenItsPhaseChanged(t *testing.T) {
	t.Parallel()
	now := Now
	d := openAt(t, memory.New(1), func() time.Time { return now })
	const path = "/api/v1/persistentvolumes"
	d.Must("POST", path, `{"metadata":{"name":"v"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`)
	told := func(status string) (volume corev1.PersistentVolume) {
		now = now.Add(time.Minute)
		patched := d.Patch(path+"/v/status", MergePatch, `{"status":`+status+`}`)
		require.Equal(t, 200, patched.Status, patched.Text)
		patched.Into(&volume)
		return volume
	}
	bound := told(`{"phase":"Bound"}`)
	assert.True(t, bound.Status.LastPhaseTransitionTime.Equal(told(`{"message":"m"}`).Status.LastPhaseTransitionTime))
	assert.Equal(t, Now.Add(time.Minute), bound.Status.LastPhaseTransitionTime.UTC())
	assert.Equal(t, "2020-01-01T00:00:00Z", told(`{"phase":"Released","lastPhaseTransitionTime":"2020-01-01T00:00:00Z"}`).Status.LastPhaseTransitionTime.UTC().Format(time.RFC3339))
	names, _ := d.Must("GET", path+"?fieldSelector=name%3Dv", "").Names()
	assert.Equal(t, []string{"v"}, names)
	assert.Equal(t, 400, d.Do("GET", path+"?fieldSelector=spec.storageClassName%3Dx", "").Status)
}

// What is written past the server has no defaults.
func TestABareObjectOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := openAt(t, store, time.Now)
	for kind, root := range map[api.Kind]string{
		"persistentvolumes": "/api/v1/", "persistentvolumeclaims": "/api/v1/namespaces/default/", "csistoragecapacities": "/apis/storage.k8s.io/v1/namespaces/default/",
		"storageclasses": "", "volumeattributesclasses": "", "volumeattachments": "", "csidrivers": "", "csinodes": "",
	} {
		one := &api.Any{Kind: kind, ID: "bare"}
		switch root {
		case "":
			root = "/apis/storage.k8s.io/v1/"
		case "/api/v1/":
		default:
			one.Namespace = "default"
		}
		_, err := storage.CommitOne(store, storage.Create(one))
		require.NoError(t, err)
		path := root + string(kind)
		assert.Equal(t, 200, d.Do("GET", path, "", "Accept", Table).Status)
		for _, part := range []string{"", "/status"} {
			assert.Contains(t, []int{200, 404, 422}, d.Patch(path+"/bare"+part, MergePatch, `{"metadata":{"labels":{"a":"b"}},"status":{}}`).Status)
		}
	}
}
