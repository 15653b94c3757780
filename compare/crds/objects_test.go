package crds

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// kind is what a definition defines.
type kind struct {
	name     string // of the definition
	versions []version
}

// version is one in which the objects of a kind are served.
type version struct {
	apiVersion, kind string
	collection       string // its path
	namespaced       bool
	schema           object
	status, scale    bool
}

// kindOf reads a definition, which is in YAML. The stored version is first.
func kindOf(t *testing.T, definition []byte) kind {
	var read struct {
		Metadata struct{ Name string }
		Spec     struct {
			Group, Scope string
			Names        struct{ Plural, Kind string }
			Versions     []struct {
				Name            string
				Served, Storage bool
				Schema          struct{ OpenAPIV3Schema object }
				Subresources    object
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(definition, &read))
	k := kind{name: read.Metadata.Name}
	for _, v := range read.Spec.Versions {
		if !v.Served {
			continue
		}
		made := version{apiVersion: read.Spec.Group + "/" + v.Name, kind: read.Spec.Names.Kind, schema: v.Schema.OpenAPIV3Schema}
		made.namespaced = read.Spec.Scope == "Namespaced"
		_, made.status = v.Subresources["status"]
		_, made.scale = v.Subresources["scale"]
		made.collection = "/apis/" + made.apiVersion + "/"
		if made.namespaced {
			made.collection += "namespaces/default/"
		}
		made.collection += read.Spec.Names.Plural
		if v.Storage {
			k.versions = slices.Insert(k.versions, 0, made)
		} else {
			k.versions = append(k.versions, made)
		}
	}
	return k
}

// named returns the object with a name, and nothing in its metadata that hinders its creation or deletion.
func (v version) named(name string, o object) object {
	o = copyOf(o)
	o["apiVersion"], o["kind"] = v.apiVersion, v.kind
	metadata := object{"name": name}
	if given, has := o["metadata"].(object); has {
		metadata["labels"], metadata["annotations"] = given["labels"], given["annotations"]
	}
	o["metadata"] = metadata
	return o
}

func copyOf(o object) (copied object) {
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &copied)
	}
	if err != nil {
		panic(err) // it came from YAML
	}
	return copied
}

// made returns an object that the schema allows, unless a rule forbids it: with all fields, or with those that it
// requires.
func (v version) made(full bool) object {
	o := object{}
	if made, isObject := makeValue(v.schema, full, 0).(object); isObject {
		o = made
	}
	if !full {
		delete(o, "status")
	}
	delete(o, "metadata")
	return o
}

// deep is from where on a full object has only the required fields.
const deep = 7

func makeValue(schema object, full bool, depth int) any {
	if value, has := schema["default"]; has {
		return value
	}
	if enum, _ := schema["enum"].([]any); len(enum) > 0 {
		return enum[0]
	}
	if schema["x-kubernetes-int-or-string"] == true {
		return 1
	}
	switch schema["type"] {
	case "string":
		return makeString(schema)
	case "integer", "number":
		return max(1, numberOf(schema, "minimum"))
	case "boolean":
		return true
	case "array":
		items, _ := schema["items"].(object)
		list := []any{}
		n := numberOf(schema, "minItems")
		if full && depth < deep {
			n = max(n, 1)
		}
		for range int(n) {
			list = append(list, makeValue(items, full, depth+1))
		}
		return list
	}
	return makeObject(schema, full, depth)
}

func makeObject(schema object, full bool, depth int) object {
	made := object{}
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	for name, property := range properties {
		if slices.Contains(required, any(name)) || full && depth < deep {
			made[name] = makeValue(property.(object), full, depth+1)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if _, has := made[name]; !has && len(made) < int(numberOf(schema, "minProperties")) {
			made[name] = makeValue(properties[name].(object), full, depth+1)
		}
	}
	if values, has := schema["additionalProperties"].(object); has && full && depth < deep {
		made["a"] = makeValue(values, full, depth+1)
	}
	if schema["x-kubernetes-embedded-resource"] == true {
		made["apiVersion"], made["kind"], made["metadata"] = "v1", "ConfigMap", object{"name": "embedded"}
	}
	return made
}

// likely are strings that some pattern or format allows.
var likely = []string{
	"a", "1", "1s", "1h", "/a", "a.b", "a.example.com", "a/b", "a.b/c", "http://a.example.com", "A", "1Gi", "a=b", "a:1", "sha256:" + strings.Repeat("a", 64),
	"10.0.0.1", "v1.2.3", "v1", "v1beta1", "$patch", "/spec/a", "1MB", "100Mi", "2024-01-01T00:00:00Z",
}

func makeString(schema object) string {
	switch schema["format"] {
	case "date-time":
		return "2024-01-01T00:00:00Z"
	case "byte":
		return "YQ=="
	case "duration":
		return "1s"
	}
	least := int(numberOf(schema, "minLength"))
	pattern, _ := schema["pattern"].(string)
	allowed, err := regexp.Compile(pattern)
	for _, text := range likely {
		if err == nil && allowed.MatchString(text) && len(text) >= least {
			return text
		}
	}
	return strings.Repeat("a", max(1, least))
}

func numberOf(schema object, name string) float64 {
	n, _ := schema[name].(float64)
	return n
}

// wrong is an object with one mistake.
type wrong struct {
	mistake string
	object  object
}

// wrongs returns at most n objects, each with a mistake that the schema tells, spread over all that can be made.
func (v version) wrongs(right object, n int) (spread []wrong) {
	var all []wrong
	add := func(mistake string, path []any, value any) {
		all = append(all, wrong{mistake + " at " + pathText(path), changed(right, path, value)})
	}
	var walk func(schema object, value any, path []any)
	walk = func(schema object, value any, path []any) {
		switch value := value.(type) {
		case object:
			if len(path) > 0 {
				add("a string for an object", path, "x")
			}
			properties, _ := schema["properties"].(object)
			if len(properties) > 0 {
				add("an unknown field", append(path, "unknownField"), 1)
			}
			if required, _ := schema["required"].([]any); len(required) > 0 {
				add("a required field missing", append(path, required[0]), gone{})
			}
			for _, name := range slices.Sorted(maps.Keys(value)) {
				if property, has := properties[name].(object); has && (len(path) > 0 || name == "spec" || name == "status") {
					walk(property, value[name], append(slices.Clone(path), name))
				} else if property, has := schema["additionalProperties"].(object); has {
					walk(property, value[name], append(slices.Clone(path), name))
				}
			}
		case []any:
			add("an object for a list", path, object{"a": 1})
			items, _ := schema["items"].(object)
			if len(value) > 0 {
				if most := numberOf(schema, "maxItems"); most > 0 && most < 70 {
					add("too many items", path, slices.Repeat([]any{value[0]}, int(most)+1))
				} else {
					add("an item twice", path, []any{value[0], value[0]})
				}
				walk(items, value[0], append(slices.Clone(path), 0))
			}
		case string:
			add("a number for a string", path, 7)
			if _, has := schema["enum"]; has {
				add("not of the enum", path, "Wrong")
			}
			if _, has := schema["pattern"]; has {
				add("not of the pattern", path, " !")
			}
			if schema["format"] != nil {
				add("not of the format", path, "never")
			}
			if most := numberOf(schema, "maxLength"); most > 0 && most < math.MaxInt16 {
				add("too long", path, strings.Repeat("a", int(most)+1))
			}
		case bool:
			add("a string for a boolean", path, "x")
		default:
			add("a boolean for a number", path, true)
			if least, has := schema["minimum"].(float64); has {
				add("too small", path, least-1)
			}
		}
	}
	walk(v.schema, any(right), nil)
	for i := range min(n, len(all)) {
		spread = append(spread, all[i*len(all)/min(n, len(all))])
	}
	return spread
}

// gone stands for a field that is left out.
type gone struct{}

func changed(o object, path []any, value any) object {
	o = copyOf(o)
	var at any = o
	for _, step := range path[:len(path)-1] {
		if name, isName := step.(string); isName {
			at = at.(object)[name]
		} else {
			at = at.([]any)[step.(int)]
		}
	}
	last := path[len(path)-1]
	switch at := at.(type) {
	case object:
		if _, remove := value.(gone); remove {
			delete(at, last.(string))
		} else {
			at[last.(string)] = value
		}
	case []any:
		at[last.(int)] = value
	}
	return o
}

func pathText(path []any) string {
	var text strings.Builder
	for _, step := range path {
		if name, isName := step.(string); isName {
			text.WriteString("." + name)
		} else {
			text.WriteString("[0]")
		}
	}
	return text.String()
}
