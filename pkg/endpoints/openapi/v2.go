package openapi

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints/discovery"
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

// merge returns the document of this server with the versions of others: the paths of each, and the definitions. What cannot be read or merged
// is left out, and logged.
func merge(ours documentV2, remotes []Remote) *spec.Swagger {
	merged := &spec.Swagger{}
	if err := merged.UnmarshalJSON(discovery.Encode(ours)); err != nil {
		panic(err) // not with this document
	}
	withExtensions(merged)
	theirs, reading := make([]*spec.Swagger, len(remotes)), sync.WaitGroup{}
	for i, remote := range remotes {
		reading.Go(func() {
			var err error
			if theirs[i], err = remote.document(); err != nil {
				log.Printf("%s is missing in the OpenAPI document: %s", remote.GroupVersion, api.Line(err.Error()))
			}
		})
	}
	reading.Wait()
	for i, remote := range remotes {
		if theirs[i] == nil {
			continue
		}
		if err := add(merged, theirs[i]); err != nil {
			log.Printf("%s is missing in the OpenAPI document: %s", remote.GroupVersion, api.Line(err.Error()))
		}
	}
	return merged
}

// add adds the document of another server: its paths come last, and not at all if there is an error.
func add(to, document *spec.Swagger) (err error) {
	defer recovered(&err)
	return aggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(to, document)
}

// recovered turns a panic about a document into an error.
func recovered(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("the document cannot be used: %v", reason)
	}
}

// withExtensions lets each definition have extensions, to which the library adds the kinds of an equal definition of another server.
func withExtensions(document *spec.Swagger) {
	for name, definition := range document.Definitions {
		if definition.Extensions == nil {
			definition.Extensions = spec.Extensions{}
			document.Definitions[name] = definition
		}
	}
}

// eachMinute returns what is made at the first call, and anew when that was more than a minute ago.
func eachMinute(make func() *described) func() *described {
	var (
		mu   sync.Mutex // guards what follows
		now  *described
		made time.Time
	)
	return func() *described {
		mu.Lock()
		defer mu.Unlock()
		if now == nil || time.Since(made) > time.Minute {
			now, made = make(), time.Now()
		}
		return now
	}
}

// document returns what the other server says of the version, and an error if that could not be written in protobuf too.
func (r Remote) document() (_ *spec.Swagger, err error) {
	defer recovered(&err)
	all, err := r.V2()
	if err != nil {
		return nil, err
	}
	of := aggregator.FilterSpecByPathsWithoutSideEffects(all, []string{discovery.Version{GroupVersion: r.GroupVersion}.Path() + "/"})
	text, err := of.MarshalJSON()
	if err == nil {
		_, err = inProtobufV2(text)
	}
	if err != nil {
		return nil, err
	}
	withExtensions(of)
	return of, nil
}
