package managers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"

	"kube2014/compare/serverstest"
)

const (
	onApply     = "application/apply-patch+yaml"
	onMerge     = "application/merge-patch+json"
	onStrategic = "application/strategic-merge-patch+json"
	onJSONPatch = "application/json-patch+json"
)

// step is a request of a manager. What it sends may depend on the object that a server has, which is nil for none.
type step struct {
	method, subresource, version string
	contentType, agent           string
	query                        url.Values
	body                         func(name string, current object) []byte
	collection                   bool // the request is for the collection
}

func (s step) request(k kind, name string, current object) serverstest.Request {
	path := k.pathIn(s.version)
	if !s.collection {
		path += "/" + k.objectName(name)
	}
	if s.subresource != "" {
		path += "/" + s.subresource
	}
	r := serverstest.Request{Method: s.method, Path: path + "?" + s.query.Encode(), ContentType: s.contentType, Agent: s.agent}
	if s.body != nil {
		r.Body = s.body(name, current)
	}
	return r
}

func (k kind) pathIn(version string) string {
	if strings.Contains(version, "/") {
		return "/apis/" + version + "/" + k.path
	}
	return "/api/" + version + "/" + k.path
}

func (k kind) objectName(name string) string {
	if k.nameAsPlural {
		return name + "s.managers.example.com"
	}
	return name
}

// chooser makes steps at random.
type chooser struct {
	*rand.Rand
	kind
}

func pick[T any](c *chooser, values ...T) T { return values[c.IntN(len(values))] }

func (c *chooser) chance(percent int) bool { return c.IntN(100) < percent }

// weights has how often a step is made.
var weights = []struct {
	of   int
	make func(*chooser) step
}{
	{34, (*chooser).apply},
	{6, (*chooser).create},
	{10, (*chooser).put},
	{8, (*chooser).mergePatch},
	{7, (*chooser).strategicPatch},
	{6, (*chooser).jsonPatch},
	{8, (*chooser).ofStatus},
	{5, (*chooser).scaling},
	{8, (*chooser).byHand},
	{5, (*chooser).wrongApply},
	{3, (*chooser).delete},
}

func (c *chooser) next() step {
	sum := 0
	for _, w := range weights {
		sum += w.of
	}
	n := c.IntN(sum)
	for _, w := range weights {
		if n -= w.of; n < 0 {
			s := w.make(c)
			if s.version == "" {
				s.version = pick(c, c.versions...)
			}
			return s
		}
	}
	panic("the weights add up")
}

// writing returns the parameters of a request that writes.
func (c *chooser) writing() url.Values {
	query := url.Values{}
	if c.chance(70) {
		query.Set("fieldManager", c.manager())
	}
	if c.chance(8) {
		query.Set("dryRun", "All")
	}
	if c.chance(15) {
		query.Set("fieldValidation", pick(c, "Strict", "Warn", "Ignore"))
	}
	if c.chance(1) {
		query.Set("fieldManager", pick(c, strings.Repeat("x", 129), "a\tb", "a b/c", strings.Repeat("ü", 70)))
	}
	return query
}

// manager returns the name of one of seven managers: with the programs in agent, which are managers too, twelve.
func (c *chooser) manager() string { return fmt.Sprint("m", c.IntN(7)) }

// agent returns the User-Agent of a client. Of those that name no manager, it is the manager.
func (c *chooser) agent() string {
	return pick(c, "agent/v1 (x)", "other", "kubectl/v1.36.3 (linux/amd64)", "", "Ä gent\u200b/1")
}

// applying returns the parameters of an apply.
func (c *chooser) applying() url.Values {
	query := c.writing()
	if query.Get("fieldManager") == "" && !c.chance(3) {
		query.Set("fieldManager", c.manager())
	}
	if c.chance(40) {
		query.Set("force", "true")
	} else if c.chance(3) {
		query.Set("force", pick(c, "false", "x", "1"))
	}
	return query
}

// some returns an object with some of the fields that the kind has.
func (c *chooser) some(fields []string) object {
	o := object{}
	for range c.IntN(4) {
		merge(o, parsed(pick(c, fields...)))
	}
	return o
}

// configuration returns an object in a version: with so many percent chance with all that the kind needs.
func (c *chooser) configuration(version string, withBase int) object {
	o := object{}
	if c.chance(withBase) {
		o = parsed(c.base)
	}
	merge(o, c.some(c.fields))
	merge(o, object{"apiVersion": version, "kind": c.name})
	return o
}

// named returns the text of an object that has the name of the one of the history.
func (k kind) named(o object) func(string, object) []byte {
	text := inJSON(o)
	return func(name string, _ object) []byte {
		var read object
		if err := json.Unmarshal([]byte(k.replaced(name, string(text))), &read); err != nil {
			panic(err)
		}
		metadata, _ := read["metadata"].(object)
		if metadata == nil {
			metadata = object{}
			read["metadata"] = metadata
		}
		if _, given := metadata["name"]; !given {
			metadata["name"] = k.objectName(name)
		}
		return inJSON(read)
	}
}

func (k kind) replaced(name, text string) string {
	if k.nameAsPlural {
		return strings.NewReplacer("PLURAL", name+"s", "SINGULAR", name, "KIND", strings.ToUpper(name[:1])+name[1:]).Replace(text)
	}
	return text
}

func inJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it came from YAML
	}
	return text
}

func (c *chooser) apply() step {
	version := pick(c, c.versions...)
	s := step{method: "PATCH", version: version, contentType: onApply, agent: c.agent(), query: c.applying()}
	if c.chance(5) {
		s.body = c.named(object{"apiVersion": version, "kind": c.name})
		return s
	}
	s.body = c.named(c.configuration(version, 85))
	return s
}

func (c *chooser) create() step {
	version := pick(c, c.versions...)
	return step{method: "POST", version: version, collection: true, agent: c.agent(), query: c.writing(), body: c.named(c.configuration(version, 100))}
}

// put changes what a server has. Half of the requests name the version that they change.
func (c *chooser) put() step {
	version := pick(c, c.versions...)
	change, withVersion, created := c.some(c.fields), c.chance(50), c.configuration(version, 100)
	without := ""
	if c.chance(40) {
		without = pick(c, c.fields...)
	}
	return step{method: "PUT", version: version, agent: c.agent(), query: c.writing(), body: c.whole(version, created, func(name string, current object) {
		if without != "" {
			remove(current, parsed(without))
		}
		merge(current, parsed(c.replaced(name, string(inJSON(change)))))
		if !withVersion && !c.needsVersion() {
			delete(current["metadata"].(object), "resourceVersion")
		}
	})}
}

// whole returns the body of a PUT: a changed copy of what a server has or, if that is nothing, what it creates.
func (c *chooser) whole(version string, created object, change func(name string, current object)) func(string, object) []byte {
	create := c.named(created)
	return func(name string, current object) []byte {
		if current == nil || current["apiVersion"] != version {
			return create(name, nil)
		}
		current = copied(current)
		change(name, current)
		return inJSON(current)
	}
}

// needsVersion reports whether a PUT without a resourceVersion is refused: nothing else is learnt then.
func (k kind) needsVersion() bool {
	return k.name == "Thing" || k.nameAsPlural || k.name == "HorizontalPodAutoscaler"
}

func copied(o object) (c object) {
	if err := json.Unmarshal(inJSON(o), &c); err != nil {
		panic(err)
	}
	return c
}

// remove removes the members that another object has, too, but none that each object of the kind needs.
func remove(from, what object) {
	for name, value := range what {
		inner, ok := value.(object)
		if before, isObject := from[name].(object); ok && isObject && len(inner) > 0 {
			remove(before, inner)
		} else if name != "spec" && name != "containers" && name != "selector" {
			delete(from, name)
		}
	}
}

func (c *chooser) mergePatch() step {
	change := c.some(c.fields)
	if c.chance(40) {
		change = nulled(change)
	}
	return step{method: "PATCH", contentType: onMerge, agent: c.agent(), query: c.writing(), body: c.text(change)}
}

func (k kind) text(value any) func(string, object) []byte {
	text := string(inJSON(value))
	return func(name string, _ object) []byte { return []byte(k.replaced(name, text)) }
}

// nulled returns the object with null for each text, number and list.
func nulled(o object) object {
	for name, value := range o {
		if inner, ok := value.(object); ok && len(inner) > 0 {
			nulled(inner)
		} else if name != "containers" {
			o[name] = nil
		}
	}
	return o
}

func (c *chooser) strategicPatch() step {
	if !c.typed {
		return c.mergePatch()
	}
	s := c.mergePatch()
	s.contentType = onStrategic
	if len(c.strategic) > 0 && c.chance(30) {
		s.body = c.text(parsed(pick(c, c.strategic...)))
	}
	return s
}

func (c *chooser) jsonPatch() step {
	o := parsed(pick(c, c.fields...))
	path, value := leaf(o)
	patch := []object{{"op": pick(c, "add", "replace", "remove"), "path": path, "value": value}}
	if c.chance(30) {
		path, value = leaf(parsed(pick(c, c.fields...)))
		patch = append(patch, object{"op": pick(c, "add", "replace", "remove"), "path": path, "value": value})
	}
	return step{method: "PATCH", contentType: onJSONPatch, agent: c.agent(), query: c.writing(), body: c.text(patch)}
}

// leaf returns the path of a member whose value is no object with members.
func leaf(o object) (string, any) {
	for path := ""; ; {
		name := slices.Min(slices.Collect(maps.Keys(o)))
		path += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		inner, ok := o[name].(object)
		if !ok || len(inner) == 0 {
			return path, o[name]
		}
		o = inner
	}
}

// ofStatus changes the status of an object, and sometimes tries to change more.
func (c *chooser) ofStatus() step {
	if c.noStatus {
		return c.apply()
	}
	version := pick(c, c.versions...)
	o := c.some(c.inStatus())
	if c.chance(25) {
		merge(o, c.some(c.fields))
	}
	s := step{subresource: "status", version: version, method: "PATCH", agent: c.agent()}
	switch c.IntN(5) {
	case 0, 1:
		s.contentType, s.query = onApply, c.applying()
		merge(o, object{"apiVersion": version, "kind": c.name})
		s.body = c.named(o)
	case 2:
		s.contentType, s.query, s.body = onMerge, c.writing(), c.text(o)
	case 3:
		s.contentType, s.query, s.body = onMerge, c.writing(), c.text(o)
		if c.typed {
			s.contentType = onStrategic
		}
	case 4:
		s.method, s.query = "PUT", c.writing()
		whole := copied(o)
		merge(whole, parsed(c.base))
		merge(whole, object{"apiVersion": version, "kind": c.name})
		s.body = c.whole(version, whole, func(name string, current object) {
			merge(current, parsed(c.replaced(name, string(inJSON(o)))))
		})
	}
	return s
}

func (k kind) inStatus() []string {
	return append([]string{`{metadata: {labels: {s: "1"}}}`, `{status: {}}`}, k.status...)
}

func (c *chooser) scaling() step {
	if !c.scale {
		return c.apply()
	}
	version := pick(c, c.versions...)
	n := c.IntN(4)
	s := step{subresource: "scale", version: version, method: "PATCH", agent: c.agent()}
	scale := object{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": object{"replicas": n}}
	switch c.IntN(4) {
	case 0:
		s.contentType, s.query = onApply, c.applying()
		s.body = c.named(scale)
	case 1:
		s.contentType, s.query, s.body = onMerge, c.writing(), c.text(object{"spec": object{"replicas": n}})
	case 2:
		s.contentType, s.query, s.body = onJSONPatch, c.writing(), c.text([]object{{"op": "replace", "path": "/spec/replicas", "value": n}})
	case 3:
		s.method, s.query, s.body = "PUT", c.writing(), c.named(scale)
	}
	return s
}

// entries are managed fields that clients set by hand.
var entries = []string{
	`[]`, `[{}]`, `null`, `[{}, {}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: hand, operation: Apply, apiVersion: VERSION, fieldsType: FieldsV1, time: "2020-01-01T00:00:00Z", fieldsV1: {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}}]`,
	`[{manager: m1, operation: Apply, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:x": {}}}}}, {manager: m1, operation: Apply, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: hand, operation: Update, apiVersion: other/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: hand, operation: Apply, apiVersion: other/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, subresource: status, fieldsV1: {"f:status": {}}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, subresource: none, fieldsV1: {"f:status": {}}}]`,
	`[{manager: hand, operation: Replace, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV2, fieldsV1: {}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsV1: {"f:x": {}}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"x:x": {}}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:x": 1}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: []}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:unknown": {"k:{\"a\":1}": {}, "v:1": {}, "i:3": {}}}}]`,
	`[{manager: hand, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:x": {"k:1": {}}}}]`,
	`[{manager: "", operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {}}]`,
	`[{manager: hand, operation: Update, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: hand, operation: Update, apiVersion: "a/b/c", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: "a\tb", operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`[{manager: LONG, operation: Update, apiVersion: VERSION, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:a": {}}}}}]`,
	`{}`, `x`, `[1]`,
}

// byHand sets managed fields.
func (c *chooser) byHand() step {
	version := pick(c, c.versions...)
	text := strings.NewReplacer("VERSION", version, "LONG", strings.Repeat("x", 200)).Replace(pick(c, entries...))
	value := parsed("v: " + text)["v"]
	s := step{method: "PATCH", version: version, agent: c.agent(), query: c.writing()}
	if c.chance(15) && !c.noStatus {
		s.subresource = "status"
	}
	switch c.IntN(4) {
	case 0:
		s.contentType, s.body = onMerge, c.text(object{"metadata": object{"managedFields": value}})
	case 1:
		s.contentType = onJSONPatch
		s.body = c.text([]object{{"op": pick(c, "add", "replace", "remove"), "path": "/metadata/managedFields", "value": value}})
	case 2:
		s.method = "PUT"
		change := c.some(c.fields)
		created := c.configuration(version, 100)
		merge(created, object{"metadata": object{"managedFields": value}})
		s.body = c.whole(version, created, func(name string, current object) {
			merge(current, parsed(c.replaced(name, string(inJSON(change)))))
			current["metadata"].(object)["managedFields"] = value
		})
	case 3:
		s.method, s.collection, s.subresource = "POST", true, ""
		created := c.configuration(version, 100)
		merge(created, object{"metadata": object{"managedFields": value}})
		s.body = c.named(created)
	}
	return s
}

// wrongApply applies what is refused, or odd.
func (c *chooser) wrongApply() step {
	s := c.apply()
	o := c.configuration(s.version, 100)
	metadata := func(m object) { merge(o, object{"metadata": m}) }
	s.body = nil
	switch c.IntN(24) {
	case 0:
		metadata(object{"uid": "00000000-0000-0000-0000-000000000000"})
	case 1:
		metadata(object{"resourceVersion": "1"})
	case 2:
		metadata(object{"resourceVersion": "x"})
	case 3:
		metadata(object{"managedFields": []any{}})
	case 4:
		metadata(object{"managedFields": []any{object{"manager": "x", "operation": "Apply"}}})
	case 5:
		metadata(object{"name": "other"})
	case 6:
		metadata(object{"namespace": "other"})
	case 7:
		metadata(object{"name": ""})
	case 8:
		metadata(object{"generateName": "x"})
	case 9:
		o["unknown"] = 1
	case 10:
		merge(o, object{"spec": object{"unknown": object{"a": 1}}})
	case 11:
		o["apiVersion"] = pick(c, "v3", "other/v1", "a/b/c", "")
	case 12:
		o["kind"] = pick(c, "Other", "")
	case 13:
		delete(o, pick(c, "apiVersion", "kind"))
	case 14:
		merge(o, object{"spec": pick(c, object{"replicas": "x"}, object{"template": 1}, object{"ports": "x"}, object{"byName": 1}, object{"set": []any{1}}, object{"ratio": "x"})})
	case 15:
		merge(o, object{"spec": pick[any](c, "x", 1, nil, []any{})})
	case 16:
		o["metadata"] = object{"labels": pick[any](c, "x", object{"a": 1}, nil, object{"a": nil}, []any{"a"})}
	case 17:
		s.body = c.literal(pick(c, "", "null", "[]", "x", "1", "{}", "a: &a [*a]", "{", "\t", "--- {}\n--- {}", "kind: X\nkind: Y", "apiVersion: "+s.version+"\nkind: "+c.name+"\nkind: "+c.name))
		return s
	case 18:
		twice := object{"containers": []any{object{"name": "c", "image": "i"}, object{"name": "c", "image": "j"}}, "ports": []any{object{"port": 80}, object{"port": 80}},
			"byName": []any{object{"name": "a"}, object{"name": "a"}}, "set": []any{"a", "a"}, "byTwo": []any{object{"port": 1}, object{"port": 1, "protocol": "TCP"}}}
		if c.name == "Deployment" {
			merge(o, object{"spec": object{"template": object{"spec": object{"containers": twice["containers"]}}}})
			break
		}
		spec := object{}
		name := map[string]string{"Pod": "containers", "Service": "ports", "Thing": pick(c, "byName", "set", "byTwo")}[c.name]
		spec[name] = twice[name]
		if name != "" {
			o["spec"] = spec
		} else {
			o["secrets"] = []any{object{"name": "a"}, object{"name": "a"}}
		}
	case 19:
		merge(o, object{"spec": pick(c, object{"byName": []any{object{"value": "x"}}}, object{"containers": []any{object{"image": "i"}}},
			object{"byTwo": []any{object{"protocol": "TCP"}}}, object{"byName": []any{1}})})
	case 20:
		metadata(object{"creationTimestamp": nil, "generation": 7})
	case 21:
		metadata(object{"creationTimestamp": "2020-01-01T00:00:00Z"})
	case 22:
		o["status"] = pick[any](c, object{"replicas": 9}, object{"phase": "Running"}, nil, "x", object{})
	case 23:
		s.query.Set("dryRun", pick(c, "All", "x", ""))
	}
	s.body = c.named(o)
	return s
}

func (c *chooser) literal(text string) func(string, object) []byte {
	return func(string, object) []byte { return []byte(text) }
}

func (c *chooser) delete() step { return step{method: "DELETE", agent: c.agent(), query: url.Values{}} }
