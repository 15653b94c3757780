package crds

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kube2014/compare/serverstest"
	"kube2014/compare/today"
)

const (
	later        = 30 * time.Second
	mistakes     = 40 // that are tried of each version of a kind
	fromProjects = 5  // examples of each version that the project has
)

func TestTheDefinitionsOfOtherProjectsBehaveAsOnKubeAPIServer(t *testing.T) {
	onlyIfAsked(t)
	t.Parallel()
	program := ourProgram(t)
	theirs := todays(t, startEtcd(t))
	both := []*server{inMemory(t, program), onEtcd(t, program, startEtcd(t))}
	for _, p := range projects {
		t.Run(p.name, func(t *testing.T) {
			folder := p.download(t)
			c := &comparison{T: t, theirs: theirs, ours: both, steps: make([][]today.Step, len(both))}
			given := examples(t, folder)
			var kinds []kind
			for _, definition := range p.definitions(t, folder) {
				kinds = append(kinds, c.installs(definition))
			}
			for _, k := range kinds {
				c.compareLater("the definition, when its kind is served", atCRDs+"/"+k.name)
				for _, v := range k.versions {
					c.compareLater("discovery", "/apis/"+v.apiVersion)
					c.compareLater("OpenAPI", "/openapi/v3/apis/"+v.apiVersion)
				}
				for _, v := range k.versions {
					c.lives(v, given[v.apiVersion+" "+v.kind])
				}
			}
			for _, k := range kinds {
				c.compare("the definition is deleted", request{Method: http.MethodDelete, Path: atCRDs + "/" + k.name})
				for _, s := range append(both, theirs) {
					serverstest.Eventually(t, k.name+" is gone", func() bool {
						return !s.Finds(atCRDs+"/"+k.name) && !s.Finds(k.versions[0].collection) // in other words (K87)
					})
				}
			}
			c.report()
		})
	}
}

// comparison asks all servers the same.
type comparison struct {
	*testing.T
	theirs *server
	ours   []*server
	steps  [][]today.Step // of each of ours
	right  int            // objects that kube-apiserver took
}

// compare sends a request to all servers, and returns the answer of kube-apiserver.
func (c *comparison) compare(what string, r request) answer {
	return c.compareEach(what, func(*server) request { return r })
}

func (c *comparison) compareEach(what string, requestTo func(*server) request) answer {
	r := requestTo(c.theirs)
	want := c.theirs.Do(c.T, r)
	name := fmt.Sprintf("%s: %s %s", what, r.Method, r.Path)
	for i, s := range c.ours {
		c.steps[i] = append(c.steps[i], today.Step{Name: name, Want: normal(c.T, want), Got: normal(c.T, s.Do(c.T, requestTo(s)))})
	}
	return want
}

// compareLater compares what kube-apiserver's controllers make some time after a kind is served, or gone.
func (c *comparison) compareLater(what, path string) {
	for end := time.Now().Add(later); ; time.Sleep(pause) {
		c.compare(what, request{Method: http.MethodGet, Path: path})
		agree := true
		for _, steps := range c.steps {
			agree = agree && len(today.Differences(steps[len(steps)-1:], nil)) == 0
		}
		if agree || time.Now().After(end) {
			return
		}
		for i, steps := range c.steps {
			c.steps[i] = steps[:len(steps)-1]
		}
	}
}

func (c *comparison) installs(definition []byte) (k kind) {
	c.compare("a definition is created", request{Method: http.MethodPost, Path: atCRDs, ContentType: onYAML, Body: definition})
	k = kindOf(c.T, definition)
	for _, s := range append(c.ours, c.theirs) {
		s.untilServed(c.T, k)
	}
	return k
}

// lives tries what is done with objects of a version of a kind, and what is wrong with some.
func (c *comparison) lives(v version, given []object) {
	least, full := v.made(false), v.made(true)
	before := c.right
	for i, o := range append([]object{least, full}, given[:min(fromProjects, len(given))]...) {
		c.life(v, v.named(fmt.Sprintf("object-%d", i), o))
	}
	assert.Greater(c.T, c.right, before, "kube-apiserver takes an object of %s %s", v.apiVersion, v.kind)
	for _, w := range v.wrongs(v.named("wrong", full), mistakes) {
		c.compare(w.mistake, request{Method: http.MethodPost, Path: v.collection + "?fieldValidation=Strict", Body: inJSON(w.object)})
		c.compare(w.mistake+", told", request{Method: http.MethodPost, Path: v.collection + "?dryRun=All&fieldValidation=Warn", Body: inJSON(w.object)})
	}
	c.compare("all are deleted", request{Method: http.MethodDelete, Path: v.collection})
	c.compare("none is left", request{Method: http.MethodGet, Path: v.collection})
}

func (c *comparison) life(v version, o object) {
	path := v.collection + "/" + o["metadata"].(object)["name"].(string)
	get := request{Method: http.MethodGet, Path: path}
	c.compare("create strictly", request{Method: http.MethodPost, Path: v.collection + "?dryRun=All&fieldValidation=Strict", Body: inJSON(o)})
	if created := c.compare("create", request{Method: http.MethodPost, Path: v.collection, ContentType: onYAML, Body: inYAML(c.T, o)}); created.Status != http.StatusCreated {
		return
	}
	c.right++
	c.compare("get", get)
	c.compare("list", request{Method: http.MethodGet, Path: v.collection})
	c.compare("list as a table", request{Method: http.MethodGet, Path: v.collection, Accept: asTable})
	c.compare("merge", request{Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json",
		Body: []byte(`{"metadata": {"labels": {"a": "b"}}, "spec": {"unknownField": 1}}`)})
	c.compare("patch", request{Method: http.MethodPatch, Path: path, ContentType: "application/json-patch+json",
		Body: []byte(`[{"op": "add", "path": "/metadata/annotations", "value": {"c": "d"}}]`)})
	c.compare("patch a field that is not there", request{Method: http.MethodPatch, Path: path, ContentType: "application/json-patch+json",
		Body: []byte(`[{"op": "replace", "path": "/spec/not/there", "value": 1}]`)})
	c.compare("update without a version", request{Method: http.MethodPut, Path: path, Body: inJSON(o)})
	c.updates("update", get, path, func(read object) { read["metadata"].(object)["labels"] = object{"e": "f"} })
	if v.status {
		c.compare("get the status", request{Method: http.MethodGet, Path: path + "/status"})
		c.updates("update the status", get, path+"/status", func(read object) {
			delete(read, "spec")
			read["status"] = v.made(true)["status"]
		})
		c.compare("merge into the status", request{Method: http.MethodPatch, Path: path + "/status", ContentType: "application/merge-patch+json",
			Body: []byte(`{"status": {"conditions": [{"type": 7}]}}`)})
	}
	if v.scale {
		c.compare("get the scale", request{Method: http.MethodGet, Path: path + "/scale"})
		c.compare("scale", request{Method: http.MethodPatch, Path: path + "/scale", ContentType: "application/merge-patch+json", Body: []byte(`{"spec": {"replicas": 3}}`)})
	}
	c.compare("delete", request{Method: http.MethodDelete, Path: path})
	c.compare("get what is gone", get)
	c.compare("create again", request{Method: http.MethodPost, Path: v.collection, Body: inJSON(o)})
}

// updates changes what was read on each server, which has versions of its own.
func (c *comparison) updates(what string, get request, path string, change func(read object)) {
	c.compareEach(what, func(s *server) request {
		var read object
		require.NoError(c.T, json.Unmarshal(s.Do(c.T, get).Body, &read))
		change(read)
		return request{Method: http.MethodPut, Path: path, Body: inJSON(read)}
	})
}

func inJSON(o object) []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // it came from YAML
	}
	return data
}

func inYAML(t *testing.T, o object) []byte {
	data, err := yaml.Marshal(o)
	require.NoError(t, err)
	return data
}

func (c *comparison) report() {
	c.Logf("%d answers, of %d objects that kube-apiserver takes", len(c.steps[0]), c.right)
	for i, s := range c.ours {
		for _, difference := range today.Differences(c.steps[i], nil) {
			want, got := apart(difference.Want, difference.Got)
			c.Errorf("%s: %s\nkube-apiserver:\n%s\nours:\n%s", s.Name, difference.Name, want, got)
		}
	}
}

// normal puts an answer into a text without managed fields, in which all members of objects, and mistakes of an object, are
// in one order.
func normal(t *testing.T, a answer) string {
	text := fmt.Sprintf("status %d\nContent-Type: %s\n", a.Status, a.Header.Get("Content-Type"))
	for _, warning := range slices.Sorted(slices.Values(a.Header.Values("Warning"))) {
		text += "Warning: " + warning + "\n"
	}
	var read any
	if yaml.Unmarshal(a.Body, &read) != nil {
		return text + string(a.Body)
	}
	data, err := json.MarshalIndent(inOrder(read), "", " ")
	require.NoError(t, err)
	return text + lineEnd.ReplaceAllString(string(data), "") + "\n"
}

var lineEnd = regexp.MustCompile(`(?m),$`)

func inOrder(value any) any {
	switch value := value.(type) {
	case object:
		for name := range value {
			value[name] = inOrder(value[name])
		}
		delete(value, "managedFields")
		if value["kind"] == "APIResourceList" { // in the order in which kube-apiserver came to know them
			slices.SortFunc(value["resources"].([]any), func(a, b any) int {
				return strings.Compare(a.(object)["name"].(string), b.(object)["name"].(string))
			})
		}
		if status, isObject := value["status"].(object); isObject && value["kind"] == "CustomResourceDefinition" {
			if conditions, _ := status["conditions"].([]any); conditions != nil { // in the order in which controllers came to it
				slices.SortFunc(conditions, func(a, b any) int {
					return strings.Compare(a.(object)["type"].(string), b.(object)["type"].(string))
				})
			}
		}
		if _, is := value["openapi"]; is { // of which own kinds have schemas
			delete(value, "info")
			delete(value, "paths")
			delete(value["components"].(object), "securitySchemes")
			maps.DeleteFunc(value["components"].(object)["schemas"].(object), func(name string, _ any) bool {
				return strings.HasPrefix(name, "io.k8s.apimachinery.") || strings.HasPrefix(name, "io.k8s.api.")
			})
		}
		if causes, _ := value["causes"].([]any); len(causes) > 1 {
			slices.SortFunc(causes, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		if message, isText := value["message"].(string); isText && value["kind"] == "Status" && strings.Contains(message, "[") {
			words := strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(" ,[]", r) })
			slices.Sort(words)
			value["message"] = strings.Join(words, " ")
		}
	case []any:
		for i := range value {
			value[i] = inOrder(value[i])
		}
	}
	return value
}

// apart returns what is between the lines with which both texts begin, and those with which both end, but not more than a page.
func apart(want, got string) (string, string) {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	for len(w) > 1 && len(g) > 1 && w[0] == g[0] {
		w, g = w[1:], g[1:]
	}
	for len(w) > 1 && len(g) > 1 && w[len(w)-1] == g[len(g)-1] {
		w, g = w[:len(w)-1], g[:len(g)-1]
	}
	const page = 40
	return strings.Join(w[:min(page, len(w))], ""), strings.Join(g[:min(page, len(g))], "")
}
