package conversion_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// secret is registered, but v1 does not have it. unregistered is what it says.
type (
	secret       struct{ Key string }
	unregistered struct{ Key interface{} }
)

func newCodec(version string) *conversion.Codec {
	scheme := newScheme()
	scheme.AddKnownTypes(conversion.Internal, secret{})
	return conversion.NewCodec(scheme, version, "  ")
}

func TestACodecWritesTheJSONOfItsVersion(t *testing.T) {
	t.Parallel()
	task := newTask()
	for version, row := range map[string]struct{ stored, answered string }{
		"v1": {
			`{"id":"web-1","host":"machine-7","labels":{"name":"web"},"info":[1.5,null]}`,
			"{\n  \"id\": \"web-1\",\n  \"host\": \"machine-7\",\n  \"labels\": {\n    \"name\": \"web\"\n  },\n  \"info\": [\n    1.5,\n    null\n  ]\n}",
		},
		"v2": {
			`{"metadata":{"name":"web-1","labels":{"name":"web"}},"spec":{"nodeName":"machine-7"},"status":[1.5,null]}`,
			"{\n  \"metadata\": {\n    \"name\": \"web-1\",\n    \"labels\": {\n      \"name\": \"web\"\n    }\n  },\n  \"spec\": {\n    \"nodeName\": \"machine-7\"\n  },\n  \"status\": [\n    1.5,\n    null\n  ]\n}",
		},
	} {
		codec := newCodec(version)
		assert.Equal(t, version, codec.Version())
		stored, err := codec.Marshal(task)
		require.NoError(t, err)
		assert.Equal(t, row.stored, string(stored))
		answered, err := codec.Encode(&task)
		require.NoError(t, err)
		assert.Equal(t, row.answered, string(answered.Bytes()))
		assert.Len(t, row.answered, answered.Size)

		var back Task
		require.NoError(t, codec.Unmarshal(stored, &back))
		assert.Equal(t, task, back)
		require.NoError(t, codec.Decode(row.answered, &back))
		assert.Equal(t, task, back)
	}
}

func TestUnmarshalOverwritesItsTarget(t *testing.T) {
	t.Parallel()
	task := newTask()
	require.NoError(t, newCodec("v1").Unmarshal([]byte(`{"id": "web-2"}`), &task))
	assert.Equal(t, Task{ID: "web-2"}, task, "nothing is left of the old task")

	old := TaskV1{}
	require.NoError(t, newCodec("v1").Unmarshal([]byte(`{"id": "web-2"}`), &old))
	assert.Equal(t, TaskV1{ID: "web-2"}, old, "an object of the version is read too")
}

func TestAnObjectThatIsNotRegisteredHasTheJSONOfItsType(t *testing.T) {
	t.Parallel()
	codec := newCodec("v1")
	for want, object := range map[string]interface{}{
		"{\n  \"Key\": 1\n}": unregistered{1}, "[\n  \"a\"\n]": []string{"a"}, "null": nil,
	} {
		encoded, err := codec.Encode(object)
		require.NoError(t, err)
		assert.Equal(t, want, string(encoded.Bytes()))
		_, err = codec.Marshal(object)
		assert.ErrorAs(t, err, new(*conversion.NotRegisteredError), "what is stored must have a kind")
	}
	object := unregistered{}
	require.NoError(t, codec.Unmarshal([]byte(`{"key": 1}`), &object))
	assert.Equal(t, unregistered{1.0}, object)
}

func TestWhatCannotBeEncodedIsAnInternalError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ object, cause interface{} }{
		"a channel":                         {Task{Info: make(chan int)}, new(*json.UnsupportedTypeError)},
		"a channel of an unregistered type": {unregistered{make(chan int)}, new(*json.UnsupportedTypeError)},
		"a nil pointer":                     {(*Task)(nil), new(*conversion.ConversionError)},
		"an object of another version":      {PodV2{}, new(*conversion.ConversionError)},
		"an object that the version lacks":  {secret{"not told"}, new(*conversion.NotRegisteredError)},
	} {
		encoded, err := newCodec("v1").Encode(row.object)
		require.EqualError(t, err, "the answer could not be encoded", name)
		assert.Equal(t, api.Internal, api.KindOf(err), name)
		assert.ErrorAs(t, err, row.cause, name)
		assert.Zero(t, encoded.Size, name)
	}
}

func TestUnmarshalRefusesWhatItCannotFill(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ into, want interface{} }{
		"a nil pointer":                    {(*Task)(nil), new(*conversion.ConversionError)},
		"a value":                          {Task{}, new(*conversion.ConversionError)},
		"a value of an unregistered type":  {unregistered{}, new(*json.InvalidUnmarshalError)},
		"nothing":                          {nil, new(*json.InvalidUnmarshalError)},
		"an object of another version":     {&PodV2{}, new(*conversion.ConversionError)},
		"an object that the version lacks": {&secret{}, new(*conversion.NotRegisteredError)},
	} {
		assert.ErrorAs(t, newCodec("v1").Unmarshal([]byte(`{}`), row.into), row.want, name)
	}
	task := newTask()
	assert.Error(t, newCodec("v1").Unmarshal([]byte(`{"id": "web-2", "host": 7}`), &task))
	assert.Equal(t, newTask(), task, "an error changes nothing")
}
