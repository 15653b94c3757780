package conversion_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
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
		assert.ErrorContains(t, err, "no kind is registered for the type", "what is stored must have a kind")
	}
	object := unregistered{}
	require.NoError(t, codec.Unmarshal([]byte(`{"key": 1}`), &object))
	assert.Equal(t, unregistered{1.0}, object)
}

func TestWhatCannotBeEncodedIsAnInternalError(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		object interface{}
		cause  string
	}{
		"a channel":                         {Task{Info: make(chan int)}, "json: unsupported type"},
		"a channel of an unregistered type": {unregistered{make(chan int)}, "json: unsupported type"},
		"a nil pointer":                     {(*Task)(nil), "the object is nil"},
		"an object of another version":      {PodV2{}, "versions convert only to and from the internal one"},
		"an object that the version lacks":  {secret{"not told"}, `no kind "secret" is registered`},
	} {
		encoded, err := newCodec("v1").Encode(row.object)
		require.EqualError(t, err, "the answer could not be encoded", name)
		assert.Equal(t, api.Internal, api.KindOf(err), name)
		assert.ErrorContains(t, errors.Unwrap(err), row.cause, name)
		assert.Zero(t, encoded.Size, name)
	}
}

func TestUnmarshalRefusesWhatItCannotFill(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		into interface{}
		want string
	}{
		"a nil pointer":                    {(*Task)(nil), "the target must be a pointer that is not nil"},
		"a value":                          {Task{}, "the target must be a pointer that is not nil"},
		"a value of an unregistered type":  {unregistered{}, "json: Unmarshal(non-pointer"},
		"nothing":                          {nil, "json: Unmarshal(nil)"},
		"an object of another version":     {&PodV2{}, "versions convert only to and from the internal one"},
		"an object that the version lacks": {&secret{}, `no kind "secret" is registered`},
	} {
		assert.ErrorContains(t, newCodec("v1").Unmarshal([]byte(`{}`), row.into), row.want, name)
	}
	task := newTask()
	assert.Error(t, newCodec("v1").Unmarshal([]byte(`{"id": "web-2", "host": 7}`), &task))
	assert.Equal(t, newTask(), task, "an error changes nothing")
}
