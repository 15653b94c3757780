package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// ownName is the name of the type of an own kind.
var ownName = "own"

func metadata() typed.ParseableType { return Of(reflect.TypeFor[metav1.ObjectMeta]()) }

// OfSchema returns the type by which objects of a kind without a Go type are compared and merged, by its schema as
// OpenAPI 3.0 has it, without the fields that all objects have. Without a schema they may have any fields. The caller keeps
// the type: only objects of the same can be compared.
func OfSchema(of map[string]any) (typed.ParseableType, error) {
	if of == nil {
		return typed.DeducedParseableType, nil
	}
	text, err := json.Marshal(of)
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("write schema: %w", err)
	}
	var root spec.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return typed.ParseableType{}, fmt.Errorf("read schema: %w", err)
	}
	embed(&root)
	addMeta(&root)
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{ownName: &root}, false)
	if err != nil {
		return typed.ParseableType{}, fmt.Errorf("convert schema: %w", err)
	}
	return typed.ParseableType{
		TypeRef: schema.TypeRef{NamedType: &ownName},
		Schema:  &schema.Schema{Types: append(slices.Clip(converted.Types), metadata().Schema.Types[len(anything()):]...)},
	}, nil
}

// embed adds to the schemas of whole objects in others what all objects have.
func embed(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, property := range s.Properties {
		embed(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		embed(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		embed(s.AdditionalProperties.Schema)
	}
	if is, ok := s.Extensions.GetBool("x-kubernetes-embedded-resource"); ok && is {
		addMeta(s)
	}
}

func addMeta(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *spec.RefSchema("#/components/schemas/" + *metadata().TypeRef.NamedType))
}
