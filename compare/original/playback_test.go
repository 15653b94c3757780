package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedStep is a step with the stores on which the original's answer was the
// contract's.
type recordedStep struct {
	step
	SameAsOriginal map[string]bool `json:"same_as_original"`
}

type fullRecording struct {
	Steps        []recordedStep
	EtcdAtTheEnd map[string]string `json:"etcd_at_the_end"`
}

func loadFull(t *testing.T, name string) fullRecording {
	data, err := os.ReadFile(recordingsDir + "/" + name)
	require.NoError(t, err)
	var recorded fullRecording
	require.NoError(t, json.Unmarshal(data, &recorded))
	return recorded
}

// playback plays the original on one store: it answers the steps of both
// recordings in their order, and all other requests from what it holds.
type playback struct {
	*httptest.Server
	t     *testing.T
	store string

	mu      sync.Mutex // guards what is below
	steps   []step
	answers []answer
	next    int
	held    map[object]bool
	changes int                        // requests that were no GET
	before  map[string]func(*playback) // called before the answer to the step of this name
}

func playOriginal(t *testing.T, store string) *playback {
	p := &playback{t: t, store: store, held: map[object]bool{}, before: map[string]func(*playback){}}
	for _, recorded := range []fullRecording{loadFull(t, "happy.json"), loadFull(t, "wrong.json")} {
		for _, recordedStep := range recorded.Steps {
			p.steps = append(p.steps, recordedStep.step)
			p.answers = append(p.answers, originalAnswer(t, store, recordedStep))
		}
	}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// answerTo returns the answer to a step, to be changed by a test.
func (p *playback) answerTo(name string) *answer {
	at := slices.IndexFunc(p.steps, func(s step) bool { return s.Name == name })
	require.GreaterOrEqual(p.t, at, 0, name)
	return &p.answers[at]
}

func (p *playback) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	assert.NoError(p.t, err)
	got := p.answer(req.Method, req.URL.RequestURI(), string(body))
	if got.Status == 0 {
		panic(http.ErrAbortHandler)
	}
	if got.ContentType != "" {
		w.Header().Set("Content-Type", got.ContentType)
	}
	w.WriteHeader(got.Status) // without a content type it is guessed, as the original's is
	_, _ = io.WriteString(w, got.Body)
}

func (p *playback) answer(method, path, body string) answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method != "GET" {
		p.changes++
	}
	step := p.steps[p.next%len(p.steps)]
	if step.Method == method && step.Path == path && step.Body == body {
		if before := p.before[step.Name]; before != nil {
			before(p)
		}
		got := p.answers[p.next%len(p.steps)]
		p.next++
		p.keep(step, got)
		return got
	}
	resource, id, named := strings.Cut(strings.TrimPrefix(path, prefix), "/")
	switch {
	case method == "GET" && slices.Contains(resources, resource) && !named:
		return answer{Status: 200, Body: p.listOf(resource)}
	case method == "DELETE" && named:
		delete(p.held, object{resource, id})
		if p.store == "etcd" && resource == "services" {
			return answer{Status: 500, Body: "Internal Error: &etcd.EtcdError{}"} // D14
		}
		return answer{Status: 200, Body: "{}"}
	}
	p.t.Errorf("nobody expects %s %s %s", method, path, body)
	return answer{Status: 404}
}

// keep holds what the original stores. On etcd an empty id is the key of a
// directory, which cannot be set, and an id with slashes leads out of the
// directory that is listed.
func (p *playback) keep(step step, got answer) {
	resource, id, _ := strings.Cut(strings.TrimPrefix(step.Path, prefix), "/")
	if step.Method == "DELETE" {
		delete(p.held, object{resource, id})
	}
	if made := step.makes(); len(made) > 0 && got.Status == 200 {
		if p.store == "memory" || made[0].id != "" && !strings.Contains(made[0].id, "/") {
			p.held[made[0]] = true
		}
	}
}

func (p *playback) listOf(resource string) string {
	var items []string
	for held := range p.held {
		if held.resource == resource {
			items = append(items, fmt.Sprintf(`{"id": %q}`, held.id))
		}
	}
	if len(items) == 0 {
		return map[string]string{
			"tasks":                  "{\n    \"items\": []\n}",
			"replicationControllers": "{}",
			"services":               "{\n    \"items\": null\n}", // D36
		}[resource]
	}
	return `{"items": [` + strings.Join(items, ", ") + `]}`
}

// originalAnswer is what the original answered to a step, on a computer without
// a kubelet.
func originalAnswer(t *testing.T, store string, recorded recordedStep) answer {
	if got, ok := recorded.Original[store]; ok {
		// What was masked or varies has other values this time.
		got.Body = strings.NewReplacer("0xPTR", "0xc000123456", "0x48", "0x51", "/endpoints\"", "/endpoints/s1\"").Replace(got.Body)
		return got
	}
	got := answer{Status: recorded.Contract.Status, Body: recorded.Contract.Body}
	switch {
	case recorded.Name == "set-up":
		got.Body = setUp(t, recorded.Path)
		if store == "etcd" && recorded.Path == prefix+"tasks" {
			got.Body = withEnvironment(t, got.Body)
		}
	case strings.HasPrefix(recorded.Name, "get task"): // D21
		got = answer{Status: 500, Body: `Internal Error: &url.Error{Op:"Get", URL:"http://127.0.0.1:10250/containerInfo?container=redis", Err:(*net.OpError)(0xc0001)}`}
	case recorded.SameAsOriginal[store]:
		return got
	case got.Status == 404: // D1
		got.Body = fmt.Sprintf("Not Found: &http.Request{Method:%q, URL:(*url.URL)(0xc0001), Proto:\"HTTP/1.1\"}", recorded.Method)
	case recorded.Method == "DELETE": // D15
		got.Body = "{}"
	case recorded.Method == "POST": // D24
		got.Body = withEnvironment(t, got.Body)
	case recorded.Method == "GET": // D18, D28
		got.Body = asListed(t, store, got.Body)
	}
	require.NotEqual(t, recorded.Contract.Body, got.Body, recorded.Name)
	return got
}

// setUp is the answer to a step that sets up wrong.json, which does not have it:
// the objects are those of happy.json, with other ids.
func setUp(t *testing.T, path string) string {
	for _, recorded := range loadFull(t, "happy.json").Steps {
		if recorded.Method == "POST" && recorded.Path == path {
			other := strings.NewReplacer("webController", "c1", "frontend", "s1", ",\n        \"tier\": \"front\"", "")
			return other.Replace(recorded.Contract.Body)
		}
	}
	require.Fail(t, "no step of happy.json makes an object", path)
	return ""
}

// withEnvironment puts the environment into the answer to a new task, as it was
// found in etcd afterwards (D24).
func withEnvironment(t *testing.T, body string) string {
	type manifest struct {
		ID         string
		Containers json.RawMessage
	}
	// The recording deletes this task before its end.
	manifests := []manifest{{"cased", json.RawMessage(`[{"image":"busybox","env":[{"name":"SERVICE_HOST","value":"127.0.0.1"}]}]`)}}
	for key, value := range loadFull(t, "happy.json").EtcdAtTheEnd {
		if strings.HasSuffix(key, "/kubelet") {
			var ofMachine []manifest
			require.NoError(t, json.Unmarshal([]byte(value), &ofMachine))
			manifests = append(manifests, ofMachine...)
		}
	}
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, []byte(body)))
	var task struct {
		ID           string
		DesiredState struct{ Manifest manifest }
	}
	require.NoError(t, json.Unmarshal(compact.Bytes(), &task))
	at := slices.IndexFunc(manifests, func(m manifest) bool { return m.ID == task.ID })
	require.GreaterOrEqual(t, at, 0, task.ID)
	text := strings.Replace(compact.String(), string(task.DesiredState.Manifest.Containers), string(manifests[at].Containers), 1)
	var indented bytes.Buffer
	require.NoError(t, json.Indent(&indented, []byte(text), "", "    "))
	return indented.String()
}

// asListed turns a list around (D28); on memory its tasks have no machine (D18).
func asListed(t *testing.T, store, body string) string {
	if store == "memory" {
		for _, machine := range []string{"127.0.0.1", "127.0.0.2"} {
			body = strings.ReplaceAll(body, ",\n                \"host\": \""+machine+"\"", "")
		}
	}
	const begin, between, end = "{\n    \"items\": [\n        ", ",\n        {", "\n    ]\n}"
	require.True(t, strings.HasPrefix(body, begin) && strings.HasSuffix(body, end), body)
	items := strings.Split(strings.TrimSuffix(strings.TrimPrefix(body, begin+"{"), end), between)
	slices.Reverse(items)
	return begin + "{" + strings.Join(items, between) + end
}
