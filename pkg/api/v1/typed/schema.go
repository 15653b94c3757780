package typed

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"
)

// OfSchema returns the type of the objects of a kind without a Go type, by their schema in OpenAPI. Without a schema it is deduced
// from the values.
func OfSchema(properties map[string]any) (smd.ParseableType, error) {
	if properties == nil {
		return smd.DeducedParseableType, nil
	}
	var own spec.Schema
	text, err := json.Marshal(properties)
	if err == nil {
		err = json.Unmarshal(text, &own)
	}
	if err != nil {
		return smd.ParseableType{}, err
	}
	addEmbedded(&own)
	addMembers(&own)
	name := "."
	converted, err := schemaconv.ToSchemaFromOpenAPI(map[string]*spec.Schema{name: &own}, false)
	if err != nil {
		return smd.ParseableType{}, err
	}
	b := &builder{schema: schema.Schema{Types: common()}, known: map[string]bool{}}
	b.ref(metadata)
	for _, def := range converted.Types {
		if def.Name != untyped && def.Name != deduced {
			b.schema.Types = append(b.schema.Types, def)
		}
	}
	return smd.ParseableType{TypeRef: schema.TypeRef{NamedType: &name}, Schema: &b.schema}, nil
}

var metadata = reflect.TypeFor[metav1.ObjectMeta]()

// addMembers adds the members that all objects have.
func addMembers(of *spec.Schema) {
	of.SetProperty("apiVersion", *spec.StringProperty())
	of.SetProperty("kind", *spec.StringProperty())
	of.SetProperty("metadata", *spec.RefSchema("#/" + nameOf(metadata)))
}

// addEmbedded adds the members of the objects that are embedded in others.
func addEmbedded(of *spec.Schema) {
	for name, property := range of.Properties {
		addEmbedded(&property)
		of.Properties[name] = property
	}
	if of.Items != nil && of.Items.Schema != nil {
		addEmbedded(of.Items.Schema)
	}
	if of.AdditionalProperties != nil && of.AdditionalProperties.Schema != nil {
		addEmbedded(of.AdditionalProperties.Schema)
	}
	if of.Extensions["x-kubernetes-embedded-resource"] == true {
		addMembers(of)
	}
}
