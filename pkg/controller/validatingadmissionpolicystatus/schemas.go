package validatingadmissionpolicystatus

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	clientv1 "kube2014/pkg/client/v1"
)

// schemas finds the types of kinds in the server's OpenAPI. It is for one policy: each type gets a name of its own.
type schemas struct {
	client    *clientv1.Client
	documents map[schema.GroupVersion]components
	known     int
}

// in returns the schemas of a version of a group, nil if there is none.
func (s *schemas) in(ctx context.Context, version schema.GroupVersion) (components, error) {
	if all, known := s.documents[version]; known {
		return all, nil
	}
	var document struct {
		Components struct {
			Schemas components `json:"schemas"`
		} `json:"components"`
	}
	if err := s.client.OpenAPI(ctx, version, &document); err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	s.documents[version] = document.Components.Schemas
	return s.documents[version], nil
}

// typeOf returns the type of a kind, nil if there is none. The error is that of the server.
func (s *schemas) typeOf(ctx context.Context, kind schema.GroupVersionKind) (*apiservercel.DeclType, error) {
	all, err := s.in(ctx, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		var kinds []schema.GroupVersionKind
		if err := one.Extensions.GetObject("x-kubernetes-group-version-kind", &kinds); err != nil || !slices.Contains(kinds, kind) {
			continue
		}
		of := common.SchemaDeclType(&openapi.Schema{Schema: all.resolve(one, nil)}, true)
		if of == nil {
			return nil, nil
		}
		s.known++
		return of.MaybeAssignTypeName(fmt.Sprint(kind.Kind, s.known)), nil
	}
	return nil, nil
}

// components are the schemas of a document by their names.
type components map[string]*spec.Schema

// resolve returns a schema with those that it refers to in it, but for one that contains itself, of which there is only an object. Inside are
// the names of the schemas around it.
func (c components) resolve(of *spec.Schema, inside []string) *spec.Schema {
	if name := referenceOf(of); name != "" {
		if slices.Contains(inside, name) || c[name] == nil {
			return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		}
		of, inside = c[name], append(slices.Clip(inside), name)
	}
	resolved := *of
	resolved.Properties = make(map[string]spec.Schema, len(of.Properties))
	for name, property := range of.Properties {
		resolved.Properties[name] = *c.resolve(&property, inside)
	}
	if more := of.AdditionalProperties; more != nil && more.Schema != nil {
		resolved.AdditionalProperties = &spec.SchemaOrBool{Allows: more.Allows, Schema: c.resolve(more.Schema, inside)}
	}
	if items := of.Items; items != nil && items.Schema != nil {
		resolved.Items = &spec.SchemaOrArray{Schema: c.resolve(items.Schema, inside)}
	}
	return &resolved
}

// referenceOf returns the name of the schema that another one refers to, "" for none.
func referenceOf(of *spec.Schema) string {
	if url := of.Ref.GetURL(); url != nil {
		return strings.TrimPrefix(url.Fragment, "/components/schemas/")
	}
	for i := range of.AllOf { // so that it can have a description beside it
		if name := referenceOf(&of.AllOf[i]); name != "" {
			return name
		}
	}
	return ""
}
