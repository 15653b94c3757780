package core_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "kube2014/pkg/master/endpointstest"
)

func TestEphemeralContainersAndResourcesChangeAsOnTheRealServer(t *testing.T) {
	t.Parallel()
	Open(t).Replay(t, "testdata/recorded.jsonl")
}

func TestKubectlDebugAddsAContainerByAStrategicPatch(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for i, name := range []string{"debugger-a", "debugger-b"} {
		added := d.Patch(Pods+"/web/ephemeralcontainers", StrategicPatch, `{"spec":{"ephemeralContainers":[{"name":"`+name+`","image":"busybox","stdin":true,"tty":true}]}}`)
		require.Equal(t, 200, added.Status, added.Text)
		assert.EqualValues(t, i+2, added.Meta().Generation)
	}
	assert.Equal(t, 422, d.Patch(Pods+"/web", MergePatch, `{"spec":{"ephemeralContainers":null}}`).Status)
}

func TestPartsOfAMirrorPodDoNotChange(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, `{"metadata":{"name":"m","annotations":{"kubernetes.io/config.mirror":"x"}},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	for part, text := range map[string]string{
		"ephemeralcontainers": "static pods do not support ephemeral containers", "resize": "static pods cannot be resized",
	} {
		refused := d.Patch(Pods+"/m/"+part, MergePatch, `{"spec":{}}`)
		assert.Equal(t, 422, refused.Status)
		assert.Contains(t, refused.Error().Message, text)
	}
}
