package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/apiserver"
	"kube2014/pkg/client/clienttest"
)

// fuzzExtract checks, for one resource, that what is extracted means the same
// when it is encoded and extracted again, that what is created can be read, and
// that anything else is a one-line error.
func fuzzExtract(f *testing.F, makeStorage func() apiserver.RESTStorage, seeds ...string) {
	for _, seed := range append(seeds, "", "null", "[]", "{}", `{"id": 7}`, `{"id": "cut"`, `{"id": "0x api."}`, `{"ID":"cased","bogus":[1,{"x":null}]}`,
		`{"id":"x","kind":"k","creationTimestamp":"t","selfLink":"s","labels":{"a":"\u0000<&>"}}`) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		storage := makeStorage()
		object, err := storage.Extract(body)
		if err != nil {
			checkRefusal(t, err)
			assert.Nil(t, object)
			return
		}
		written := answered(t, object)
		again, err := storage.Extract(written)
		require.NoError(t, err, written)
		assert.Equal(t, written, answered(t, again))

		if err := storage.Create(object); err != nil {
			checkRefusal(t, err)
			return
		}
		stored, err := storage.Get(object.(apiserver.Identified).GetID())
		require.NoError(t, err)
		text := answered(t, stored)
		if _, ok := object.(api.Task); ok {
			task := answeredTask(stored)
			task.CurrentState = api.TaskState{}
			text = answered(t, task)
		}
		assert.Equal(t, written, text)
		require.NoError(t, storage.Update(object))
	})
}

func checkRefusal(t *testing.T, err error) {
	assert.Equal(t, api.Invalid, api.KindOf(err), err.Error())
	assert.Empty(t, clienttest.Leaks(err.Error(), ""), err.Error())
}

func FuzzExtractTask(f *testing.F) {
	fuzzExtract(f, func() apiserver.RESTStorage { return taskStorage(MakeMemoryRegistry(), nil) },
		`{"id":"x","desiredState":{"manifest":{"version":"v","volumes":[{"name":"d"}],"containers":[{"name":"c","image":"i","command":"r",`+
			`"workingDir":"/","ports":[{"name":"p","hostPort":1,"containerPort":2,"protocol":"TCP"}],"env":[{"name":"N","value":"v"}],`+
			`"memory":1,"cpu":2,"volumeMounts":[{"name":"d","readOnly":true,"mountPath":"/d"}]}]},"status":"s","host":"h","hostIP":"i",`+
			`"info":{"deep":[[1.5e3,null,true]]}},"currentState":{"host":"elsewhere"}}`,
		`{"id":"x","desiredState":{"manifest":{"containers":[{"ports":[{"hostPort":70000}]}]}}}`)
}

func FuzzExtractController(f *testing.F) {
	fuzzExtract(f, func() apiserver.RESTStorage { return MakeControllerRegistryStorage(MakeMemoryRegistry()) },
		`{"id":"x","desiredState":{"replicas":2,"replicasInSet":{"a":"b"},"taskTemplate":{"labels":{"a":"b"},"desiredState":{"manifest":`+
			`{"containers":[{"ports":[{"hostPort":1},{"hostPort":1}]}]}}}},"labels":{"c":"d"}}`,
		`{"id":"x","desiredState":{"replicas":-1}}`)
}

func FuzzExtractService(f *testing.F) {
	fuzzExtract(f, func() apiserver.RESTStorage { return MakeServiceRegistryStorage(MakeMemoryRegistry()) },
		`{"id":"x","port":8000,"labels":{"a":"b"}}`, `{"id":"x","port":65536}`, `{"id":"x","port":1.0}`)
}
