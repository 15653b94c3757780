package apiextensions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/endpoints/bodies"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiextensions"
	"kube2014/pkg/storage/memory"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func open(t testing.TB) *Door {
	base := rest.Base{Objects: memory.New(1), Now: func() time.Time { return Now }}
	return OpenWith(t, apiextensions.NewDefinitions(base).Rows()...)
}

// definition returns a definition whose schema has lists in lists.
func definition(depth int, description string) string {
	return `{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":` +
		strings.Repeat(`{"type":"array","items":`, depth) + `{"type":"string","description":"` + description + `"}` + strings.Repeat(`}`, depth) + `}}}}]}}`
}

func TestK23ADefinitionThatIsNestedTooDeeplyForItsSizeIsRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	assert.Equal(t, 413, d.Do("POST", definitions, definition(4900, "")).Status, "deep")
	assert.Equal(t, 413, d.Do("POST", definitions, definition(100, strings.Repeat("x", 1<<20))).Status, "not so deep, but large")
	d.Must("POST", definitions, definition(100, strings.Repeat(`{`, 100_000)+`\"{`))
	assert.Equal(t, 413, d.Patch(definitions+"/widgets.example.com", MergePatch, strings.Repeat(`{"spec":`, 5000)+`1`+strings.Repeat(`}`, 5000)).Status)

	message := []byte{}
	for range 10_000 {
		message = append(protowire.AppendVarint(protowire.AppendTag(nil, 28, protowire.BytesType), uint64(len(message))), message...)
	}
	assert.Equal(t, 413, d.Do("POST", definitions, inProtobuf(t, message), "Content-Type", bodies.Protobuf).Status)
	text := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), strings.Repeat("x", 1<<20))
	assert.Equal(t, 422, d.Do("POST", definitions, inProtobuf(t, protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), text)), "Content-Type", bodies.Protobuf).Status)
}

func inProtobuf(t testing.TB, message []byte) string {
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}, Raw: message}).Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(envelope)
}
