package values

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

func TestAWholeValueTellsTheMachineOfATaskAndWhetherItIsAPod(t *testing.T) {
	t.Parallel()
	on := api.TaskState{Host: "m", Status: "s"}
	for name, row := range map[string]struct {
		object api.Object
		text   string
	}{
		"a task":                       {&api.Task{JSONBase: base("x"), CurrentState: on}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s","host":"m"}}`},
		"a pod":                        {&api.Task{JSONBase: base("x"), CurrentState: on, IsPod: true}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s","host":"m"},"v1":{"pod":true}}`},
		"a pod without a machine":      {&api.Task{JSONBase: base("x"), IsPod: true}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `},"v1":{"pod":true}}`},
		"a task that is held":          {&api.Task{JSONBase: base("x"), CurrentState: on, Held: true}, `{"id":"x","desiredState":{` + manifest + `},"currentState":{` + manifest + `,"status":"s","host":"m"},"v1":{"held":true}}`},
		"a service as in other stores": {&api.Service{JSONBase: base("x"), Port: 80}, `{"id":"x","port":80}`},
		"an object without anything":   {&api.Service{}, `{}`},
		"a node":                       {&api.Any{Kind: api.NodeKind, ID: "x", Labels: map[string]string{"a": "b"}}, `{"id":"x","labels":{"a":"b"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := EncodeWhole(row.object)
			require.NoError(t, err)
			assert.Equal(t, row.text, text)
			again := New(row.object.Key())
			require.NoError(t, DecodeWhole(text, again))
			assert.Equal(t, row.object, again)
		})
	}
}

func TestAWholeValueOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text  string
		isPod bool
		host  string
	}{
		"it does not know pods":     {`{"currentState":{"host":"m"}}`, false, "m"},
		"it has unset the pod":      {`{"currentState":{"host":"m"},"v1":{"pod":false}}`, false, "m"},
		"it has indented all":       {"{\n \"v1\" : {\"pod\": true}, \"currentState\": {\"host\": \"m\"}}", true, "m"},
		"it has set all to null":    {`{"currentState":null,"v1":null}`, false, ""},
		"a label has the same name": {`{"labels":{"v1":"v1"}}`, false, ""},
	} {
		var task api.Task
		require.NoError(t, DecodeWhole(row.text, &task), name)
		assert.Equal(t, row.isPod, task.IsPod, name)
		assert.Equal(t, row.host, task.CurrentState.Host, name)
	}
	for _, text := range []string{"", "no JSON", "[]", `"text"`, `{"v1":7}`, `{"v1":{"pod":7}}`, `{"labels":7}`} {
		assert.Error(t, DecodeWhole(text, &api.Task{}), text)
	}
}

func TestWhatIsTooDeepForAStoreIsTooLarge(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 2000) + "1" + strings.Repeat(",1", 18000) + strings.Repeat("]", 2000) // D33
	for _, encode := range []func(api.Object) (string, error){Encode, EncodeWhole} {
		_, err := encode(&api.Any{Kind: api.NodeKind, ID: "x", ObjectMeta: api.ObjectMeta{Remainder: api.Remainder(deep)}})
		assert.Equal(t, api.TooLarge, api.KindOf(err))
		assert.ErrorContains(t, err, "the object cannot be stored: it would have more than")
	}
}

func TestWhatCannotBeEncodedIsAnInternalError(t *testing.T) {
	t.Parallel()
	for _, encode := range []func(api.Object) (string, error){Encode, EncodeWhole} {
		_, err := encode(&api.Any{Kind: "events", ID: "x", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: "no JSON"}})
		assert.Equal(t, api.Internal, api.KindOf(err))
		assert.EqualError(t, err, "the object cannot be encoded as JSON")
		assert.Error(t, errors.Unwrap(err), "the log tells why")
	}
}
