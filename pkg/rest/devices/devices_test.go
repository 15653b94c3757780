package devices_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/devices"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func openOn(t *testing.T, store storage.Interface) *Door {
	return OpenWith(t, devices.Resources(rest.Base{Objects: store, Now: func() time.Time { return Now }})...)
}

func TestObjectsAreDefaultedCheckedAndChangedAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	openOn(t, memory.New(1)).Replay(t, "testdata/recorded.jsonl")
}

func TestSlicesAreFoundByNodeAndDriver(t *testing.T) {
	t.Parallel()
	d := openOn(t, memory.New(1))
	const path = "/apis/resource.k8s.io/v1/resourceslices"
	for _, node := range []string{"m", "n"} {
		d.Must("POST", path, `{"metadata":{"name":"of-`+node+`"},"spec":{"driver":"a.b","nodeName":"`+node+`","pool":{"name":"p","resourceSliceCount":1}}}`)
	}
	names, _ := d.Must("GET", path+"?fieldSelector=spec.nodeName%3Dm%2Cspec.driver%3Da.b", "").Names()
	assert.Equal(t, []string{"of-m"}, names)
}

// What is written past the server has no defaults.
func TestABareObjectOfAnotherProgramIsServed(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	d := openOn(t, store)
	for kind, namespace := range map[api.Kind]string{"deviceclasses": "", "resourceslices": "", "resourceclaims": "default", "resourceclaimtemplates": "default"} {
		_, err := storage.CommitOne(store, storage.Create(&api.Any{Kind: kind, ID: "bare", ObjectMeta: api.ObjectMeta{Namespace: namespace}}))
		require.NoError(t, err)
		path := "/apis/resource.k8s.io/v1/"
		if namespace != "" {
			path += "namespaces/default/"
		}
		path += string(kind)
		assert.Equal(t, 200, d.Do("GET", path, "", "Accept", Table).Status)
		assert.Equal(t, 200, d.Patch(path+"/bare", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status, kind)
	}
}
