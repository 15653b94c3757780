package v1beta1

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
)

// wireTypes returns the names of all types of this version.
func wireTypes(t testing.TB) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "types.go", nil, 0)
	require.NoError(t, err)
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.TypeSpec); ok {
			names = append(names, spec.Name.Name)
		}
		return true
	})
	return names
}

// registered are the types of this version, and the internal ones that they are converted to.
var registered = map[string]struct{ wire, internal reflect.Type }{
	"Task":                      {reflect.TypeFor[Task](), reflect.TypeFor[api.Task]()},
	"TaskList":                  {reflect.TypeFor[TaskList](), reflect.TypeFor[api.TaskList]()},
	"ReplicationController":     {reflect.TypeFor[ReplicationController](), reflect.TypeFor[api.ReplicationController]()},
	"ReplicationControllerList": {reflect.TypeFor[ReplicationControllerList](), reflect.TypeFor[api.ReplicationControllerList]()},
	"Service":                   {reflect.TypeFor[Service](), reflect.TypeFor[api.Service]()},
	"ServiceList":               {reflect.TypeFor[ServiceList](), reflect.TypeFor[api.ServiceList]()},
	"Endpoints":                 {reflect.TypeFor[Endpoints](), reflect.TypeFor[api.Endpoints]()},
	"ContainerManifest":         {reflect.TypeFor[ContainerManifest](), reflect.TypeFor[api.ContainerManifest]()},
}

// newObject returns an empty object of a registered kind.
func newObject(version, kind string) interface{} {
	if version == Version {
		return reflect.New(registered[kind].wire).Interface()
	}
	return reflect.New(registered[kind].internal).Interface()
}

// kinds returns the names of the registered types.
func kinds() []string { return slices.Sorted(maps.Keys(registered)) }

// parts adds the names of all types that an object consists of.
func parts(names map[string]bool, structure reflect.Type) {
	switch structure.Kind() {
	case reflect.Slice, reflect.Map:
		parts(names, structure.Elem())
	case reflect.Struct:
		names[structure.Name()] = true
		for i := range structure.NumField() {
			parts(names, structure.Field(i).Type)
		}
	}
}

func TestEveryTypeOfTheWireIsRegisteredOrAPartOfOne(t *testing.T) {
	t.Parallel()
	scheme, known := newScheme(), map[string]bool{"Event": true} // it is neither stored nor answered
	for kind, types := range registered {
		converted, err := scheme.ConvertToVersion(newObject(Version, kind), conversion.Internal)
		require.NoError(t, err)
		assert.Equal(t, types.internal, reflect.TypeOf(converted).Elem())
		assert.Equal(t, kind, types.internal.Name())
		back, err := scheme.ConvertToVersion(converted, Version)
		require.NoError(t, err)
		assert.Equal(t, types.wire, reflect.TypeOf(back).Elem())
		parts(known, types.wire)
	}
	for _, name := range wireTypes(t) {
		assert.True(t, known[name], name)
	}
}

// The round trips mean something only if they are made by objects with and without
// each field.
func TestTheRoundTripsReachEachStateOfEachField(t *testing.T) {
	t.Parallel()
	reached := map[string]map[string]bool{}
	for _, kind := range kinds() {
		for seed := range uint64(seeds) {
			for _, version := range []string{Version, conversion.Internal} {
				filler := newFiller(seed)
				filler.reached = reached
				filler.object(version, kind)
			}
		}
	}
	assert.Contains(t, reached, "api.VolumeMount.ReadOnly")
	assert.Contains(t, reached, "v1beta1.Endpoints.Endpoints[]")
	for field, states := range reached {
		if states["zero"] || states["set"] {
			assert.Equal(t, map[string]bool{"zero": true, "set": true}, states, field)
		} else {
			assert.Equal(t, map[string]bool{"nil": true, "empty": true, "full": true}, states, field)
		}
	}
}

func TestMetadataIsNotInTheJSON(t *testing.T) {
	t.Parallel()
	for _, object := range []api.Object{&api.Task{}, &api.ReplicationController{}, &api.Service{}, &api.Endpoints{}} {
		without, err := Codec.Marshal(object)
		require.NoError(t, err)
		*object.Meta() = api.ObjectMeta{ResourceVersion: 7, CreationVersion: 6, UID: "5", Annotations: map[string]string{"a": "b"}}
		with, err := Codec.Marshal(object)
		require.NoError(t, err)
		assert.Equal(t, string(without), string(with))
		require.NoError(t, Codec.Unmarshal(with, object))
		assert.Equal(t, api.ObjectMeta{}, *object.Meta(), "what is read has no metadata yet")
	}
}

// set returns a JSON value without its fields that are null, empty or zero: some are
// answered though they were not sent.
func set(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		kept := map[string]interface{}{}
		for key, item := range value {
			if item = set(item); item != nil {
				kept[key] = item
			}
		}
		if len(kept) > 0 {
			return kept
		}
	case []interface{}:
		kept := make([]interface{}, len(value))
		for i := range value {
			kept[i] = set(value[i])
		}
		if len(kept) > 0 {
			return kept
		}
	default:
		if value != nil && !reflect.ValueOf(value).IsZero() {
			return value
		}
	}
	return nil
}

func TestTheExamplesAreEncodedAsTheyWereDecoded(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../api/examples/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		var object interface{} = &api.Service{}
		switch {
		case strings.HasSuffix(file, "task.json"):
			object = &api.Task{}
		case strings.HasSuffix(file, "controller.json"):
			object = &api.ReplicationController{}
		}
		sent, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, Codec.Decode(string(sent), object), file)
		answered, err := Codec.Encode(object)
		require.NoError(t, err)
		var want, got interface{}
		require.NoError(t, json.Unmarshal(sent, &want))
		require.NoError(t, json.Unmarshal(answered.Bytes(), &got))
		assert.Equal(t, set(want), set(got), file)
	}
}

func newScheme() *conversion.Scheme {
	scheme := conversion.NewScheme()
	AddToScheme(scheme)
	return scheme
}
