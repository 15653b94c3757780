package openapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// documentV2 is an OpenAPI document of version 2.
type documentV2 struct {
	Swagger     string                            `json:"swagger"`
	Info        info                              `json:"info"`
	Paths       map[string]map[string]operationV2 `json:"paths"` // by method
	Definitions map[string]any                    `json:"definitions"`
	Parameters  map[string]parameterV2            `json:"parameters"` // that many operations share
}

type operationV2 struct {
	Consumes   []string              `json:"consumes"`
	Produces   []string              `json:"produces"`
	Schemes    []string              `json:"schemes"`
	Tags       []string              `json:"tags"`
	Text       string                `json:"description"`
	ID         string                `json:"operationId"`
	Parameters []parameterV2         `json:"parameters,omitempty"`
	Responses  map[string]responseV2 `json:"responses"`
	Action     string                `json:"x-kubernetes-action"`
	Kind       groupKind             `json:"x-kubernetes-group-version-kind"`
}

type parameterV2 struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Type        string  `json:"type,omitempty"`
	UniqueItems bool    `json:"uniqueItems,omitempty"`
	Schema      *object `json:"schema,omitempty"` // of a body
}

type responseV2 struct {
	Description string  `json:"description"`
	Schema      *object `json:"schema,omitempty"`
}

func newDocumentV2(versions []Version, types kindTypes) documentV2 {
	b := newBuilder(types, true)
	for _, version := range versions {
		b.addVersion(version)
	}
	d := documentV2{Swagger: "2.0", Info: info{"kube2014", "v1"}, Paths: map[string]map[string]operationV2{}, Definitions: b.byName,
		Parameters: map[string]parameterV2{}}
	for path, operations := range b.paths {
		d.Paths[path] = map[string]operationV2{}
		for method, o := range operations {
			d.Paths[path][method] = d.operation(o)
		}
	}
	return d
}

func (d documentV2) operation(o operation) operationV2 {
	v2 := operationV2{Consumes: []string{"*/*"}, Schemes: []string{"https"}, Tags: o.Tags, Text: o.Description, ID: o.ID, Responses: map[string]responseV2{},
		Action: o.Action, Kind: o.Kind}
	if o.RequestBody != nil {
		types, of := contentOf(o.RequestBody.Content)
		v2.Consumes = types
		v2.Parameters = append(v2.Parameters, d.parameter(parameterV2{Name: "body", In: "body", Required: o.RequestBody.Required, Schema: of}))
	}
	for _, p := range o.Parameters {
		v2.Parameters = append(v2.Parameters, d.parameter(parameterV2{Name: p.Name, In: p.In, Description: p.Description, Required: p.Required,
			Type: p.Schema.Type, UniqueItems: p.Schema.UniqueItems}))
	}
	for code, r := range o.Responses {
		types, of := contentOf(r.Content)
		if of != nil {
			v2.Produces = types
		}
		v2.Responses[code] = responseV2{r.Description, of}
	}
	return v2
}

// contentOf returns the media types of a body, and the schema that all of them have.
func contentOf(content map[string]media) (types []string, of *object) {
	for _, m := range content {
		of = &m.Schema
	}
	return slices.Sorted(maps.Keys(content)), of
}

// parameter returns a reference to a parameter. Those of a kind are not shared, nor are those by which kubectl before 1.28
// finds out what the server can do: it does not follow references.
func (d documentV2) parameter(p parameterV2) parameterV2 {
	isOfKind := p.Schema != nil && !strings.HasPrefix(p.Schema.Ref, definitions+"io.k8s.apimachinery.")
	if isOfKind || p.Name == "dryRun" || p.Name == "fieldValidation" {
		return p
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // not with this type
	}
	sum := sha256.Sum256(text)
	name := p.Name + "-" + base64.RawURLEncoding.EncodeToString(sum[:6])
	d.Parameters[name] = p
	return parameterV2{Ref: "#/parameters/" + name}
}
