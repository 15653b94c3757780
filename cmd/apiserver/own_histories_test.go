package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kube2014/pkg/util/loopback/loopbacktest"
)

// ownHistory is a random history of definitions that come, change and go, of their objects, and of watches.
type ownHistory struct {
	t       *testing.T
	url     string
	store   func() map[string]string // the keys, nil in memory
	kinds   []*ownKind
	changed atomic.Int32 // how many kinds have made all their changes

	// mortal says that the program may be killed: what was not answered may have taken effect.
	mortal bool
}

// ownKind is a definition with what its objects may be at each time. Nobody else changes it.
type ownKind struct {
	*ownHistory
	plural string
	text   *strings.Replacer // of the text of gadgets
	asked  atomic.Int64      // by writers

	mu     sync.Mutex // guards what follows
	states []ownState // the one that was acknowledged last, and those that may have begun, are the last ones
	acked  int        // the number of the former
}

// ownState is a state of a definition.
type ownState struct {
	life   int // how often it was created
	phase  string
	schema int // the number of the state that has brought the schema: each object has a field with this number
	most   int // the size of an object
	two    bool
	stored string
}

const (
	isAbsent = "absent"
	isThere  = "there"
	isEnding = "ending"
)

func newOwnHistory(t *testing.T, url string, mortal bool) *ownHistory {
	h := &ownHistory{t: t, url: url, mortal: mortal}
	eventually(t, func() bool { status, _ := h.ask("GET", "/readyz", ""); return status == 200 }, "it is ready")
	for n := range 2 {
		name := fmt.Sprint("thing", n)
		h.kinds = append(h.kinds, &ownKind{ownHistory: h, plural: name + "s", states: []ownState{{phase: isAbsent}},
			text: strings.NewReplacer("gadget", name, "Gadget", strings.ToTitle(name), `"gd"`, fmt.Sprintf(`"t%d"`, n))})
	}
	return h
}

// ask returns the status 0 if the request was not answered, or not carried out for all that is known.
func (h *ownHistory) ask(method, path, body string) (status int, text string) {
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	require.NoError(h.t, err)
	req.Header.Set("Content-Type", map[bool]string{true: mergePatch, false: "application/json"}[method == "PATCH"])
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var answer []byte
		if answer, err = io.ReadAll(resp.Body); err == nil && (resp.StatusCode < 500 || !h.mortal) {
			return resp.StatusCode, string(answer)
		}
	}
	if !h.mortal && h.t.Context().Err() == nil {
		assert.NoError(h.t, err)
	}
	return 0, ""
}

// insist repeats a request until it is answered. The answer is one of the wanted ones.
func (h *ownHistory) insist(method, path, body string, wanted ...int) (status int, text string) {
	eventually(h.t, func() bool { status, text = h.ask(method, path, body); return status != 0 }, method+" "+path)
	assert.Contains(h.t, wanted, status, "%s %s: %s", method, path, text)
	return status, text
}

func (k *ownKind) path(version string) string {
	return k.text.Replace(strings.Replace(gadgets, "/v1/", "/"+version+"/", 1))
}

// definition returns the path of the definition.
func (k *ownKind) definition() string { return crds + "/" + k.plural + ".example.com" }

// versions returns the versions of a definition in a state.
func (s ownState) versions() string {
	properties := fmt.Sprintf(`"mark":{"type":"integer"},"size":{"type":"integer","maximum":%d},"by%d":{"type":"boolean","default":true}`, s.most, s.schema)
	all := []string{aVersion("v1", s.stored == "v1", properties)}
	if s.two {
		all = append(all, aVersion("v2", s.stored == "v2", properties))
	}
	return `"versions":[` + strings.Join(all, ",") + `]`
}

// last returns the last state, and the number of the one that was acknowledged.
func (k *ownKind) last() (state ownState, acked int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.states[len(k.states)-1], k.acked
}

// become brings about the next state.
func (k *ownKind) become(next ownState, bring func(next ownState)) {
	k.mu.Lock()
	if next.phase == isThere {
		next.schema = len(k.states)
	}
	k.states = append(k.states, next)
	k.mu.Unlock()
	bring(next)
	k.mu.Lock()
	k.acked++
	k.mu.Unlock()
}

// while returns the states that there were since one was acknowledged.
func (k *ownKind) while(since int) []ownState {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.states[since:]
}

// could reports whether an answer is right by a state that there was since one was acknowledged.
func (k *ownKind) could(since int, right func(s ownState) bool) bool {
	return slices.ContainsFunc(k.while(since), right)
}

func (k *ownKind) change(random *rand.Rand) {
	now, _ := k.last()
	next := now
	switch {
	case now.phase == isAbsent:
		k.create(random)
		return
	case random.IntN(4) == 0:
		k.end()
		return
	}
	next.most = random.IntN(10)
	next.stored = []string{"v1", "v2"}[random.IntN(2)]
	next.two = next.stored == "v2" || random.IntN(2) == 0 || k.everStored("v2", now.life) // a version with objects stays
	k.become(next, func(s ownState) { k.insist("PATCH", k.definition(), `{"spec":{`+s.versions()+`}}`, 200) })
}

// everStored reports whether objects of a life may be stored in a version.
func (k *ownKind) everStored(version string, life int) bool {
	return k.could(0, func(s ownState) bool { return s.life == life && s.stored == version })
}

func (k *ownKind) create(random *rand.Rand) {
	now, _ := k.last()
	k.become(ownState{life: now.life + 1, phase: isThere, most: random.IntN(10), two: random.IntN(2) == 0, stored: "v1"}, func(s ownState) {
		created := 201
		for created != 0 { // else it has been
			status, text := k.ask("POST", crds, k.text.Replace(aDefinition(s.versions())))
			switch status {
			case 0:
				k.pause()
				continue
			case 409:
				assert.True(k.t, k.mortal, text)
			default:
				assert.Equal(k.t, 201, status, text)
			}
			created = 0
		}
		eventually(k.t, func() bool {
			status, text := k.ask("GET", k.definition(), "")
			return status == 200 && strings.Contains(text, `"reason":"InitialNamesAccepted"`)
		}, "it is established")
	})
}

func (h *ownHistory) pause() { time.Sleep(time.Millisecond) }

// end deletes the definition, and waits until it is gone.
func (k *ownKind) end() {
	now, _ := k.last()
	now.phase = isEnding
	k.become(now, func(ownState) { k.insist("DELETE", k.definition(), "", 200, 404) })
	now.phase = isAbsent
	k.become(now, func(ownState) {
		eventually(k.t, func() bool { status, _ := k.ask("GET", k.definition(), ""); return status == 404 }, "the definition is gone")
		for key := range k.keys() {
			assert.NotContains(k.t, key, k.plural+".example.com/", "no object is left over")
		}
	})
}

func (h *ownHistory) keys() map[string]string {
	if h.store == nil {
		return nil
	}
	return h.store()
}

// ownThing is an object as a writer or a watch knows it.
type ownThing struct {
	mark, size int64
	version    uint64
	schema     int // that it was read by
	life       int // of its definition
}

// thing returns an object of an answer.
func (k *ownKind) thing(object *unstructured.Unstructured) (thing ownThing) {
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	thing.mark, _ = spec["mark"].(int64)
	thing.size, _ = spec["size"].(int64)
	thing.version, _ = strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	thing.schema = -1
	for field := range spec {
		if number, ok := strings.CutPrefix(field, "by"); ok {
			assert.Equal(k.t, -1, thing.schema, "an object has only fields of one schema: %v", spec)
			thing.schema, _ = strconv.Atoi(number)
		}
	}
	if assert.NotEqual(k.t, -1, thing.schema, "an object has the field of its schema: %v", object.Object) {
		thing.life = k.while(0)[thing.schema].life
	}
	return thing
}

func (k *ownKind) decoded(text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	assert.NoError(k.t, object.UnmarshalJSON([]byte(text)), text)
	return object
}

// ownWriter creates, changes and deletes objects that only it knows.
type ownWriter struct {
	*ownKind
	number  int
	random  *rand.Rand
	next    int64
	version uint64              // of the last write
	known   map[string]ownThing // after acknowledged writes
	unknown map[string]bool     // one that was not acknowledged may have taken effect
}

func (w *ownWriter) write() {
	for ; int(w.changed.Load()) < len(w.kinds); w.asked.Add(1) {
		w.step()
	}
}

func (w *ownWriter) step() {
	version := []string{"v1", "v1", "v2"}[w.random.IntN(3)]
	_, since := w.last()
	w.next++
	name, there := fmt.Sprintf("w%d-%d", w.number, w.next), ownThing{}
	verb := w.random.IntN(8)
	if names := slices.Sorted(maps.Keys(w.known)); verb > 2 && verb != 7 && len(names) > 0 {
		name = names[w.random.IntN(len(names))]
		there = w.known[name]
	}
	size := int64(w.random.IntN(12))
	body := func(version string, more string) string {
		return w.text.Replace(fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Gadget","metadata":{"name":%q%s},"spec":{"mark":%d,"size":%d}}`, version, name, more, w.next, size))
	}
	within := func(s ownState, fits bool) bool {
		return s.phase != isAbsent && (version == "v1" || s.two) && (int(size) <= s.most || there.mark != 0 && size == there.size) == fits
	}
	switch verb {
	case 0, 1, 2: // create
		if len(w.known) > 8 {
			return
		}
		status, text := w.ask("POST", w.path(version), body(version, ""))
		w.wrote("create", version, name, since, status, text, within)
	case 3:
		if w.random.IntN(2) == 0 {
			size = there.size
		}
		if there.mark == 0 {
			return
		}
		status, text := w.ask("PUT", w.path(version)+"/"+name, body(version, fmt.Sprintf(`,"resourceVersion":"%d"`, there.version)))
		w.wrote("update", version, name, since, status, text, within)
	case 4:
		size = there.size
		status, text := w.ask("PATCH", w.path(version)+"/"+name, fmt.Sprintf(`{"spec":{"mark":%d}}`, w.next))
		w.wrote("patch", version, name, since, status, text, within)
	case 5:
		status, text := w.ask("DELETE", w.path(version)+"/"+name, "")
		switch status {
		case 0:
			w.forget(name)
		case 200:
			assert.NotZero(w.t, there.mark, name)
			delete(w.known, name)
		default:
			w.missing("delete", version, name, since, status, text)
		}
	case 6:
		status, text := w.ask("GET", w.path(version)+"/"+name, "")
		switch status {
		case 0:
		case 200:
			w.same(name, since, w.thing(w.decoded(text)))
		default:
			w.missing("get", version, name, since, status, text)
		}
	case 7:
		w.list(version, since)
	}
}

// forget gives an object up of which a write was not acknowledged.
func (w *ownWriter) forget(name string) {
	delete(w.known, name)
	w.unknown[name] = true
}

// wrote checks the answer to a write.
func (w *ownWriter) wrote(verb, version, name string, since, status int, text string, within func(s ownState, fits bool) bool) {
	there, is := w.known[name]
	what := fmt.Sprint(verb, " ", w.path(version), "/", name, " since ", since, ": ", text)
	switch status {
	case 0:
		w.forget(name)
	case 201, 200:
		now := w.thing(w.decoded(text))
		assert.Equal(w.t, status == 200, is, what)
		assert.Equal(w.t, w.next, now.mark, what)
		assert.Greater(w.t, now.version, w.version, what)
		assert.True(w.t, w.could(since, func(s ownState) bool {
			return s.schema == now.schema && within(s, true) && (is || s.phase == isThere)
		}), "a write is only accepted by a schema that is obeyed: %s, %v", what, w.while(since))
		if is {
			assert.Equal(w.t, there.life, now.life, what)
		}
		w.known[name], w.version = now, now.version
	case 422:
		assert.True(w.t, w.could(since, func(s ownState) bool { return within(s, false) }), "%s, %v", what, w.while(since))
		assert.Contains(w.t, text, "spec.size in body should be less than or equal to")
	case 403:
		assert.False(w.t, is, what)
		assert.True(w.t, w.could(since, func(s ownState) bool { return s.phase != isThere }), "%s, %v", what, w.while(since))
	case 409:
		assert.True(w.t, is && w.could(since, func(s ownState) bool { return s.phase != isThere }), what)
		delete(w.known, name)
	default:
		w.missing(verb, version, name, since, status, text)
	}
}

// notServed are the answers for a kind that is not there, and for one that comes during the request.
var notServed = []int{http.StatusNotFound, http.StatusServiceUnavailable}

// missing checks an answer that says that there is no such object, version or kind.
func (w *ownWriter) missing(verb, version, name string, since, status int, text string) {
	there, is := w.known[name]
	assert.Contains(w.t, notServed, status, "%s %s: %s", verb, name, text)
	unserved := w.could(since, func(s ownState) bool { return version == "v2" && !s.two })
	switch {
	case status == http.StatusServiceUnavailable:
		assert.Greater(w.t, len(w.while(since)), 1, "the definition has changed: %s", text)
		if is {
			w.forget(name)
		}
	case unserved:
	case is:
		assert.True(w.t, w.could(since, func(s ownState) bool { return s.phase != isThere || s.life != there.life }), "%s %s since %d is lost: %s, %v", verb, name, since, text, w.while(since))
		delete(w.known, name)
	case verb == "create":
		assert.True(w.t, w.could(since, func(s ownState) bool { return s.phase != isThere }), "%s %s: %s, %v", verb, name, text, w.while(since))
	}
}

// same checks an object that was read.
func (w *ownWriter) same(name string, since int, now ownThing) {
	there, is := w.known[name]
	if !assert.True(w.t, is || w.unknown[name], "%s was deleted", name) || !is {
		return
	}
	assert.Equal(w.t, []int64{there.mark, there.size, int64(there.version)}, []int64{now.mark, now.size, int64(now.version)}, name)
	assert.Equal(w.t, there.life, now.life, "%s is left over", name)
	assert.True(w.t, w.could(since, func(s ownState) bool { return s.schema == now.schema && s.phase != isAbsent }), "%s is read by an old schema: %d, %v", name, now.schema, w.while(since))
}

// list reads all objects, and compares those of the writer.
func (w *ownWriter) list(version string, since int) {
	status, text := w.ask("GET", w.path(version), "")
	switch status {
	case 0:
		return
	case http.StatusTooManyRequests: // it has met an object of the next definition; on the v2 API of etcd, for a moment one of an earlier one
		assert.True(w.t, len(w.while(since)) > 1 || w.store == nil && w.could(0, func(s ownState) bool { return s.life > 1 }), text)
		return
	case notServed[0], notServed[1]:
		assert.True(w.t, w.could(since, func(s ownState) bool { return s.phase != isThere || version == "v2" && !s.two }), "list: %s, %v", text, w.while(since))
		return
	}
	list := &unstructured.UnstructuredList{}
	if !assert.NoError(w.t, json.Unmarshal([]byte(text), list)) || !assert.Equal(w.t, 200, status, text) {
		return
	}
	seen := map[string]bool{}
	for _, item := range list.Items {
		if strings.HasPrefix(item.GetName(), fmt.Sprintf("w%d-", w.number)) {
			w.same(item.GetName(), since, w.thing(&item))
			seen[item.GetName()] = true
		}
	}
	for name := range w.known {
		if !seen[name] {
			w.missing("list", "v1", name, since, 404, "")
		}
	}
}

// ownWatch follows the objects of a kind. It goes on where a watch has ended.
type ownWatch struct {
	*ownKind
	stop atomic.Bool // when the next watch ends
	ends int         // how many have ended

	mu     sync.Mutex // guards what follows
	things map[string]ownThing
}

func (w *ownWatch) run() {
	for !w.stop.Load() && w.t.Context().Err() == nil {
		status, text := w.ask("GET", w.path("v1"), "")
		if status != 200 {
			w.pause()
			continue
		}
		list := &unstructured.UnstructuredList{}
		if !assert.NoError(w.t, list.UnmarshalJSON([]byte(text)), text) {
			return
		}
		things := map[string]ownThing{}
		for _, item := range list.Items {
			things[item.GetName()] = w.thing(&item)
		}
		w.mu.Lock()
		w.things = things
		w.mu.Unlock()
		version, _ := strconv.ParseUint(list.GetResourceVersion(), 10, 64)
		for again := true; again && !w.stop.Load(); w.ends++ {
			version, again = w.follow(version)
		}
	}
}

// follow watches from a version until the watch ends, and reports whether another one can go on from there.
func (w *ownWatch) follow(version uint64) (last uint64, again bool) {
	_, since := w.last()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", fmt.Sprintf("%s%s?watch=1&resourceVersion=%d", w.url, w.path("v1"), version), nil)
	require.NoError(w.t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.pause()
		return version, w.t.Context().Err() == nil && assert.True(w.t, w.mortal, "%v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		w.pause()
		if slices.Contains(notServed, resp.StatusCode) && !w.mortal {
			assert.True(w.t, w.could(since, func(s ownState) bool { return s.phase != isThere }), "no watch")
		} else if !w.mortal {
			assert.Equal(w.t, http.StatusGone, resp.StatusCode)
		}
		return version, resp.StatusCode != http.StatusGone
	}
	events, schema := bufio.NewScanner(resp.Body), -1
	events.Buffer(nil, 1<<20)
	for events.Scan() {
		var event struct {
			Type   string
			Object *unstructured.Unstructured
		}
		if !assert.NoError(w.t, json.Unmarshal(events.Bytes(), &event), events.Text()) {
			return version, false
		}
		if event.Type == "ERROR" {
			code, _, _ := unstructured.NestedInt64(event.Object.Object, "code")
			if !w.mortal && code != http.StatusGone {
				assert.True(w.t, w.could(0, func(s ownState) bool { return s.life > 1 }), events.Text())
			}
			return version, false
		}
		now, name := w.thing(event.Object), event.Object.GetName()
		if schema == -1 {
			schema = now.schema
			assert.True(w.t, w.could(since, func(s ownState) bool { return s.schema == schema && s.phase != isAbsent }), "a watch by an old schema: %d, %v", schema, w.while(since))
		}
		assert.Equal(w.t, schema, now.schema, "a watch has ended when there is another schema")
		assert.Greater(w.t, now.version, version, "an event comes in its turn: after %v, %s", w.things[name], events.Text())
		version = now.version
		w.mu.Lock()
		_, is := w.things[name]
		assert.Equal(w.t, event.Type != "ADDED", is, "each change is told once: %s", events.Text())
		w.things[name] = now
		if event.Type == "DELETED" {
			delete(w.things, name)
		}
		w.mu.Unlock()
	}
	if !w.mortal {
		assert.NoError(w.t, events.Err())
	}
	return version, true
}

// missing returns what a watch has not told.
func (w *ownWatch) missing(wanted map[string]ownThing) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, thing := range wanted {
		if is, has := w.things[name]; !has || is.version != thing.version || is.mark != thing.mark {
			return name
		}
	}
	for name := range w.things {
		if _, has := wanted[name]; !has {
			return name
		}
	}
	return ""
}

// run lets each kind change several times while writers write and watches are open, and looks at what is there then.
func (h *ownHistory) run(seed uint64, changes int) {
	const writers = 2
	var group, watching sync.WaitGroup
	all, watches := map[*ownKind][]*ownWriter{}, map[*ownKind]*ownWatch{}
	for i, k := range h.kinds {
		for n := range writers {
			w := &ownWriter{ownKind: k, number: n, random: rand.New(rand.NewPCG(seed, uint64(10*i+n+1))), known: map[string]ownThing{}, unknown: map[string]bool{}}
			all[k] = append(all[k], w)
			group.Go(w.write)
		}
		watches[k] = &ownWatch{ownKind: k}
		watching.Go(watches[k].run)
		random := rand.New(rand.NewPCG(seed, uint64(10*i)))
		group.Go(func() {
			defer h.changed.Add(1)
			for range changes {
				k.change(random)
				enough := k.asked.Load() + 30
				eventually(h.t, func() bool { return k.asked.Load() >= enough || h.t.Failed() }, "there are writes")
			}
			if now, _ := k.last(); now.phase == isAbsent {
				k.create(random)
			}
		})
	}
	group.Wait()
	for _, k := range h.kinds {
		_, text := k.insist("GET", k.path("v1"), "", 200)
		list := &unstructured.UnstructuredList{}
		require.NoError(h.t, json.Unmarshal([]byte(text), list))
		things := map[string]ownThing{}
		for _, item := range list.Items {
			things[item.GetName()] = k.thing(&item)
		}
		for _, w := range all[k] {
			w.list("v1", k.acked)
		}
		eventually(h.t, func() bool { return watches[k].missing(things) == "" || h.t.Failed() }, "watches tell all")
		watches[k].stop.Store(true)
		k.end()
	}
	ended := make(chan struct{})
	go func() { watching.Wait(); close(ended) }()
	soon(h.t, ended, "watches of kinds that are gone have ended")
	for _, k := range h.kinds {
		k.create(rand.New(rand.NewPCG(seed, 0)))
		_, text := k.insist("GET", k.path("v1"), "", 200)
		assert.Contains(h.t, text, `"items":[]`, "a definition that is created again begins without objects")
		k.end()
	}
}

// Definitions are created, changed, deleted and created again while their objects are written and watched. Each answer must
// be right by a state that the definition could have meanwhile; what was acknowledged is there, and nothing else.
func TestHistoriesOfDefinitionsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, flags := range flagsFor {
		for n := range histories(t) {
			t.Run(fmt.Sprintf("backend=%s, history %d", name, n), func(t *testing.T) {
				if n == 0 {
					t.Parallel()
				}
				given := flags(t)
				h := newOwnHistory(t, startExtended(t, given...).url, false)
				if name == "etcd3" {
					place := place3{given[3], given[5]}
					h.store = func() map[string]string { return place.keys(t) }
				}
				h.run(uint64(n), 8)
			})
		}
	}
}

// The same, while the program and etcd are killed at any moment, for KUBE2014_CHAOS with each API of etcd.
func TestDefinitionsOfServersThatAreKilledLoseNothing(t *testing.T) {
	duration := chaosTime(t)
	onBackends(t, func(t *testing.T, b backend) {
		store := b.startOne(t)
		seed := uint64(time.Now().UnixNano())
		t.Log("the seed is", seed)
		port := loopbacktest.FreePort(t)
		server := processVictim(t, "server", append(b.flags(store.URL), "-scheduler", "none", "-port", port))
		server.start()
		victims := []victim{server, {"etcd", func() { assert.NoError(t, store.Kill()) }, func() { assert.NoError(t, store.Restart()) }}}
		random, rounds, kills := rand.New(rand.NewPCG(seed, 2014)), uint64(0), 0
		for end := time.Now().Add(duration); time.Now().Before(end) && !t.Failed(); rounds++ {
			h := newOwnHistory(t, "http://"+net.JoinHostPort("127.0.0.1", port), true)
			var group sync.WaitGroup
			group.Go(func() {
				for int(h.changed.Load()) < len(h.kinds) {
					time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
					v := victims[random.IntN(len(victims))]
					v.kill()
					time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
					v.start()
					kills++
				}
			})
			h.run(seed+rounds, 8)
			group.Wait()
			h.insist("GET", "/readyz", "", 200)
			for key := range b.keys(t, store.URL) {
				assert.NotContains(t, key, "things", "nothing is left over")
			}
		}
		t.Log(rounds, "histories,", kills, "killed")
	})
}
