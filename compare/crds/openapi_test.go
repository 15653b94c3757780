package crds

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

// TestOpenAPIIsThatOfKubeAPIServer compares all operations and schemas that both have.
func TestOpenAPIIsThatOfKubeAPIServer(t *testing.T) {
	onlyIfAsked(t)
	t.Parallel()
	definition := []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.stable.example.com}
spec:
  group: stable.example.com
  names: {plural: widgets, singular: widget, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, default: 1}, port: {x-kubernetes-int-or-string: true}}}
          status: {type: object, properties: {size: {type: integer}}}
`)
	starts := []func() *server{func() *server { return todays(t, startEtcd(t)) }, func() *server { return inMemory(t, ourProgram(t)) }}
	var servers []*server
	for _, start := range starts {
		s := start()
		servers = append(servers, s)
		s.install(t, definition)
		serverstest.Eventually(t, s.Name+" describes widgets", func() bool {
			return strings.Contains(string(s.Do(t, request{Method: http.MethodGet, Path: "/openapi/v2"}).Body), "com.example.stable.v1.Widget") &&
				s.Finds("/openapi/v3/apis/stable.example.com/v1")
		})
	}
	real, own := servers[0], servers[1]
	var index struct{ Paths map[string]any }
	require.NoError(t, json.Unmarshal(own.Do(t, request{Method: http.MethodGet, Path: "/openapi/v3"}).Body, &index))
	require.Contains(t, index.Paths, "apis/stable.example.com/v1")
	paths := []string{"/openapi/v2"}
	for path := range index.Paths {
		paths = append(paths, "/openapi/v3/"+path)
	}
	for _, path := range paths {
		want, got := describedAt(t, real, path), describedAt(t, own, path)
		for _, name := range slices.Sorted(maps.Keys(got)) {
			isOwn := strings.Contains(name, " /apis/stable.example.com/") // by K15 these operations are described as those of other kinds
			if assert.Contains(t, want, name, path) && !isOwn {
				assert.Equal(t, want[name], got[name], "%s: %s", path, name)
			}
		}
		t.Logf("%s: %d of %d", path, len(got), len(want))
	}
}

// describedAt returns the operations by method and path, and the schemas by name, without what K15 says.
func describedAt(t *testing.T, s *server, path string) map[string]any {
	var document struct {
		Paths                   map[string]map[string]any
		Definitions, Parameters map[string]any
		Components              struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal(s.Do(t, request{Method: http.MethodGet, Path: path}).Body, &document))
	all := map[string]any{}
	for _, schemas := range []map[string]any{document.Definitions, document.Components.Schemas} {
		for name, schema := range schemas {
			if strings.HasSuffix(name, "meta.v1.DeleteOptions") || strings.HasSuffix(name, "meta.v1.WatchEvent") {
				delete(schema.(object), "x-kubernetes-group-version-kind") // betas too
			}
			all[name] = schema
		}
	}
	for path, operations := range document.Paths {
		shared, _ := operations["parameters"].([]any)
		for method, of := range operations {
			operation, isOperation := of.(object)
			if !isOperation || operation["x-kubernetes-action"] == nil {
				continue
			}
			parameters, list := object{}, shared
			if own, has := operation["parameters"].([]any); has {
				list = slices.Concat(shared, own)
			}
			for _, parameter := range list {
				if ref, is := parameter.(object)["$ref"].(string); is {
					parameter = document.Parameters[ref[strings.LastIndex(ref, "/")+1:]]
				}
				parameters[parameter.(object)["name"].(string)] = parameter
			}
			delete(parameters, "shardSelector")
			delete(parameters, "ignoreStoreReadErrorWithClusterBreakingPotential")
			operation["parameters"] = parameters
			if produces, is := operation["produces"].([]any); is {
				operation["produces"] = sortedTexts(produces)
			}
			if consumes, is := operation["consumes"].([]any); is {
				operation["consumes"] = sortedTexts(consumes)
			}
			all[method+" "+path] = operation
		}
	}
	return all
}

// sortedTexts returns texts sorted.
func sortedTexts(texts []any) (sorted []string) {
	for _, text := range texts {
		sorted = append(sorted, text.(string))
	}
	slices.Sort(sorted)
	return sorted
}
