package openapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/spec3"
)

// parsed returns the document of api/v1 as kubectl reads it.
func parsed(t *testing.T) *spec3.OpenAPI {
	document := &spec3.OpenAPI{}
	require.NoError(t, json.Unmarshal(get(New(served(t)), root+"/api/v1", nil).Body.Bytes(), document))
	return document
}

// kubectl looks for the parameter at the PATCH of a kind. If it finds it, it leaves the
// validation to the server.
func TestKubectlFindsThatTheServerValidatesFields(t *testing.T) {
	t.Parallel()
	patched := map[string]bool{}
	for _, path := range parsed(t).Paths.Paths {
		if path.Patch == nil {
			continue
		}
		var kind groupKind
		require.NoError(t, path.Patch.Extensions.GetObject("x-kubernetes-group-version-kind", &kind))
		for _, p := range path.Patch.Parameters {
			if p.Name == "fieldValidation" && p.In == "query" {
				patched[kind.Kind] = true
			}
		}
		assert.True(t, patched[kind.Kind], kind)
		assert.Contains(t, path.Patch.RequestBody.Content, "application/strategic-merge-patch+json", kind)
	}
	assert.Equal(t, map[string]bool{"Endpoints": true, "Event": true, "Namespace": true, "Node": true, "Pod": true,
		"ReplicationController": true, "Scale": true, "Service": true}, patched)
}

// kubectl apply takes from the schema how lists are merged.
func TestKubectlMergesContainersByName(t *testing.T) {
	t.Parallel()
	schemas := parsed(t).Components.Schemas
	patch, err := strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(
		[]byte(`{"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i","ports":[{"containerPort":80}]}]}}`),
		[]byte(`{"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"j","ports":[{"containerPort":80}]}]}}`),
		strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: schemas, Schema: schemas[core+"Pod"]})
	require.NoError(t, err)
	assert.JSONEq(t, `{"spec":{"$setElementOrder/containers":[{"name":"a"},{"name":"b"}],"containers":[{"name":"b","image":"j"}]}}`, string(patch))
}
