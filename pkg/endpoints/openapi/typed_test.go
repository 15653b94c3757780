package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"

	v1 "kube2014/pkg/api/v1"
	merging "kube2014/pkg/api/v1/typed"
)

// TestObjectsAreMergedAsTheRealServerDoes compares with what the real server makes of its schemas, which are equal to ours
// by TestSchemasAreThoseOfTheRealServer.
func TestObjectsAreMergedAsTheRealServerDoes(t *testing.T) {
	t.Parallel()
	models := map[string]*spec.Schema{}
	for name, schema := range allSchemas(t, false) {
		text, err := json.Marshal(schema)
		require.NoError(t, err)
		models[name] = new(spec.Schema)
		require.NoError(t, json.Unmarshal(text, models[name]))
	}
	real, err := schemaconv.ToSchemaFromOpenAPI(models, false)
	require.NoError(t, err)
	kinds := 0
	for kind, of := range v1.Scheme.AllKnownTypes() {
		value, ok := reflect.Zero(of).Interface().(interface{ OpenAPIModelName() string })
		if !ok || kind.Version == runtime.APIVersionInternal {
			continue
		}
		kinds++
		name, ours := value.OpenAPIModelName(), merging.Of(of)
		c := comparison{real: real, ours: ours.Schema, seen: map[string]bool{}}
		c.types(kind.Kind, schema.TypeRef{NamedType: &name}, ours.TypeRef)
		assert.Empty(t, c.differences, kind)
		assert.NotEmpty(t, c.seen)
	}
	require.Greater(t, kinds, 250)
}

// comparison compares types of two schemas, each named type once.
type comparison struct {
	real, ours  *schema.Schema
	seen        map[string]bool
	differences []string
}

func (c *comparison) equal(path string, want, got any) {
	if !assert.ObjectsAreEqual(want, got) {
		c.differences = append(c.differences, fmt.Sprintf("%s: %v is %v", path, want, got))
	}
}

func (c *comparison) types(path string, real, ours schema.TypeRef) {
	if real.NamedType != nil && !strings.HasPrefix(*real.NamedType, "__") {
		if name := *real.NamedType + fmt.Sprint(real.ElementRelationship); c.seen[name] {
			return
		} else {
			c.seen[name] = true
		}
	} else if real.NamedType != nil && ours.NamedType != nil {
		c.equal(path, *real.NamedType, *ours.NamedType)
		return
	}
	want, ok := c.real.Resolve(real)
	c.equal(path, true, ok)
	got, ok := c.ours.Resolve(ours)
	c.equal(path, true, ok)
	c.equal(path, want.Scalar, got.Scalar)
	c.equal(path, want.List == nil, got.List == nil)
	c.equal(path, want.Map == nil, got.Map == nil)
	if want.List != nil && got.List != nil {
		c.equal(path, want.List.ElementRelationship, got.List.ElementRelationship)
		c.equal(path, want.List.Keys, got.List.Keys)
		c.types(path+"[]", want.List.ElementType, got.List.ElementType)
	}
	if want.Map == nil || got.Map == nil {
		return
	}
	c.equal(path, want.Map.ElementRelationship, got.Map.ElementRelationship)
	c.equal(path, want.Map.ElementType == schema.TypeRef{}, got.Map.ElementType == schema.TypeRef{})
	if (want.Map.ElementType != schema.TypeRef{}) {
		c.types(path+"{}", want.Map.ElementType, got.Map.ElementType)
	}
	c.equal(path, names(want.Map), names(got.Map))
	for _, field := range want.Map.Fields {
		own, _ := got.Map.FindField(field.Name)
		c.equal(path+"."+field.Name, fmt.Sprint(field.Default), fmt.Sprint(own.Default))
		c.types(path+"."+field.Name, field.Type, own.Type)
	}
}

func names(m *schema.Map) (all []string) {
	for _, field := range m.Fields {
		all = append(all, field.Name)
	}
	slices.Sort(all)
	return all
}
