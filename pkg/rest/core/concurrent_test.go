package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
)

// podsBehind returns the storage of pods over the store of a door.
func podsBehind(t *testing.T, d *Door) rest.Updater {
	for _, resource := range core.Resources(core.Config{Objects: d.Store, Now: func() time.Time { return Now }}) {
		if resource.Name == "pods" {
			return resource.Storage.(rest.Updater)
		}
	}
	require.Fail(t, "there are no pods")
	return nil
}

func label(object rest.Object, name string) {
	object.SetLabels(map[string]string{name: "x"})
}

func TestAnUpdateIsAppliedAnewIfSomebodyElseWasFirst(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("x", ""))
	calls := 0
	_, _, err := podsBehind(t, d).Update(t.Context(), rest.Key{Namespace: "default", Name: "x"}, func(current rest.Object) (rest.Object, error) {
		if calls++; calls == 1 {
			d.Patch(Pods+"/x", MergePatch, `{"metadata":{"annotations":{"other":"was first"}}}`)
		}
		current.SetResourceVersion("") // last write wins
		label(current, "mine")
		return current, nil
	}, rest.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, 2, calls)
	meta := d.Must("GET", Pods+"/x", "").Meta()
	assert.Equal(t, map[string]string{"mine": "x"}, meta.Labels)
	assert.Equal(t, map[string]string{"other": "was first"}, meta.Annotations)
}

func TestAnUpdateThatNamesAVersionLosesToWhoWasFirst(t *testing.T) {
	t.Parallel()
	d := Open(t)
	version := d.Must("POST", Pods, Pod("x", "")).Meta().ResourceVersion
	_, _, err := podsBehind(t, d).Update(t.Context(), rest.Key{Namespace: "default", Name: "x"}, func(current rest.Object) (rest.Object, error) {
		d.Patch(Pods+"/x", MergePatch, `{"metadata":{"annotations":{"other":"was first"}}}`)
		current.SetResourceVersion(version)
		label(current, "mine")
		return current, nil
	}, rest.WriteOptions{})
	require.Error(t, err)
	var status interface{ Status() metav1.Status }
	require.ErrorAs(t, err, &status)
	assert.Equal(t, metav1.StatusReasonConflict, status.Status().Reason)
	assert.Empty(t, d.Must("GET", Pods+"/x", "").Meta().Labels)
}

func TestTheLastFinalizerIsGoneAlsoIfSomebodyElseChangesTheObject(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("x", `"finalizers":["a.b/c"]`))
	d.Must("DELETE", Pods+"/x", "")
	first := true
	_, _, err := podsBehind(t, d).Update(t.Context(), rest.Key{Namespace: "default", Name: "x"}, func(current rest.Object) (rest.Object, error) {
		if first {
			first = false
			d.Patch(Pods+"/x", MergePatch, `{"metadata":{"annotations":{"other":"was first"}}}`)
		}
		current.SetResourceVersion("")
		current.SetFinalizers(nil)
		return current, nil
	}, rest.WriteOptions{})
	require.NoError(t, err)
	assert.Equal(t, 404, d.Do("GET", Pods+"/x", "").Status)
}
