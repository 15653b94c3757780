package openapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// remoteOf returns a version of another server, with one path and a definition of a thing.
func remoteOf(t *testing.T, group, thing string) Remote {
	var document spec.Swagger
	require.NoError(t, document.UnmarshalJSON([]byte(`{"swagger":"2.0","info":{"title":"t","version":"1"},"paths":{"/apis/`+group+`/v1/things":{"get":{"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/Thing"}}}}}},
		"definitions":{"Thing":`+thing+`}}`)))
	return Remote{GroupVersion: schema.GroupVersion{Group: group, Version: "v1"}, V2: func() (*spec.Swagger, error) { return &document, nil }}
}

func pathsOf(t *testing.T, d *Documents) (paths []string) {
	var document struct{ Paths map[string]any }
	require.NoError(t, json.Unmarshal(get(d, pathV2, nil).Body.Bytes(), &document))
	for path := range document.Paths {
		paths = append(paths, path)
	}
	return paths
}

func TestTwoServersMayDescribeOneThing(t *testing.T) {
	t.Parallel()
	d := new(Documents).Next(nil, nil, remoteOf(t, "a.com", `{"type":"object"}`),
		remoteOf(t, "b.com", `{"type":"object","x-kubernetes-group-version-kind":[{"group":"b.com","version":"v1","kind":"Thing"}]}`))
	assert.ElementsMatch(t, []string{"/apis/a.com/v1/things", "/apis/b.com/v1/things"}, pathsOf(t, d))
}

func TestAServerThatCannotBeReadIsMissing(t *testing.T) {
	t.Parallel()
	broken, panics := remoteOf(t, "a.com", `{}`), remoteOf(t, "b.com", `{}`)
	broken.V2 = func() (*spec.Swagger, error) { return nil, errors.New("away") }
	panics.V2 = func() (*spec.Swagger, error) { panic("a bug") }
	assert.Equal(t, []string{"/apis/c.com/v1/things"}, pathsOf(t, new(Documents).Next(nil, nil, broken, panics, remoteOf(t, "c.com", `{}`))))
}

func TestAllFormsOfADocumentWithOtherServersAreOfOneMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote, away := remoteOf(t, "a.com", `{"type":"object"}`), true
		there := remote.V2
		remote.V2 = func() (*spec.Swagger, error) {
			if away {
				return nil, errors.New("away")
			}
			return there()
		}
		d := new(Documents).Next(nil, nil, remote)
		inProtobuf := http.Header{"Accept": {typeProtobufV2}}
		first := get(d, pathV2, nil)
		away = false
		time.Sleep(30 * time.Second)
		second := get(d, pathV2, inProtobuf)
		assert.Equal(t, first.Header().Get("ETag"), second.Header().Get("ETag"))
		time.Sleep(35 * time.Second)
		assert.Len(t, pathsOf(t, d), 1, "the server is there again")
		third := get(d, pathV2, inProtobuf)
		assert.NotEqual(t, second.Header().Get("ETag"), third.Header().Get("ETag"))
		document := &openapi_v2.Document{}
		require.NoError(t, proto.Unmarshal(third.Body.Bytes(), document))
		assert.Len(t, document.Paths.Path, 1)
	})
}
