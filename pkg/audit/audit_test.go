package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/audit"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// lines are what is written. Who writes them takes care that it is one at a time.
type lines struct{ bytes.Buffer }

func (l *lines) events(t *testing.T) (events []auditv1.Event) {
	for line := range strings.Lines(l.String()) {
		var event auditv1.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		events = append(events, event)
	}
	return events
}

// request returns a request with headers, each "Name: value".
func request(method, target string, headers ...string) *http.Request {
	req := httptest.NewRequest(method, target, nil)
	for _, header := range headers {
		if name, value, ok := strings.Cut(header, ": "); ok {
			req.Header.Add(name, value)
		}
	}
	return req
}

func begin(auditor *audit.Auditor, method, target string, headers ...string) *audit.Event {
	return auditor.Begin(request(method, target, headers...))
}

var (
	metadata = &audit.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}
	withAll  = &audit.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelRequestResponse}}, OmitManagedFields: true}
)

// written returns the one line of a request that is decided about, and then told more.
func written(t *testing.T, policy *audit.Policy, req *http.Request, a authorizer.Attributes, tell func(*audit.Event)) auditv1.Event {
	out := &lines{}
	event := audit.New(policy, out).Begin(req)
	require.True(t, event.Decide(req, a))
	tell(event)
	event.Write(auditv1.StageResponseComplete)
	events := out.events(t)
	require.Len(t, events, 1)
	return events[0]
}

func TestALineTellsWhoAskedFromWhere(t *testing.T) {
	t.Parallel()
	a := path("/version")
	a.User = &user.Info{Name: "ann", UID: "7", Groups: []string{"dev"}, Extra: map[string][]string{"team": {"a", "b"}}}
	event := written(t, metadata, request("GET", "/version?a=b%20c", "X-Forwarded-For: 10.0.0.1, nonsense, 10.0.0.2", "X-Real-Ip: 10.0.0.1",
		"User-Agent: "+strings.Repeat("a", 2000), "Audit-ID: own"), a, func(event *audit.Event) {
		event.ActsAs(&user.Info{Name: "eve"})
		event.Annotate("a", "1")
		event.Annotate("a", "2")
	})
	text, err := json.Marshal(event.User)
	require.NoError(t, err)
	assert.Equal(t, `{"username":"ann","uid":"7","groups":["dev"],"extra":{"team":["a","b"]}}`, string(text))
	assert.Equal(t, "eve", event.ImpersonatedUser.Username)
	assert.Equal(t, "/version?a=b%20c", event.RequestURI)
	assert.Equal(t, []string{"10.0.0.1", "10.0.0.2", "192.0.2.1"}, event.SourceIPs)
	assert.Equal(t, strings.Repeat("a", 1024)+"...TRUNCATED", event.UserAgent)
	assert.Equal(t, map[string]string{"a": "1"}, event.Annotations, "the first value stays")
	assert.Equal(t, "own", string(event.AuditID))
	assert.Nil(t, event.ObjectRef)
}

func TestARequestWithoutAnIDGetsOneOfItsOwn(t *testing.T) {
	t.Parallel()
	auditor := audit.New(metadata, &lines{})
	first, second := begin(auditor, "GET", "/").ID(), begin(auditor, "GET", "/", "Audit-ID: ").ID()
	assert.Regexp(t, `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, first)
	assert.NotEqual(t, first, second)
}

func TestManagedFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	const managed = `"managedFields":[{"manager":"m"}]`
	for sent, told := range map[string]string{
		`{"kind":"Pod","metadata":{"name":"a",` + managed + `},"spec":{"n":12345678901234567890}}`: `{"kind":"Pod","metadata":{"name":"a"},"spec":{"n":12345678901234567890}}`,
		`{"items":[{"metadata":{` + managed + `}},7,{}],"metadata":null}`:                          `{"items":[{"metadata":{}},7,{}],"metadata":null}`,
		`{"rows":[{"object":{"metadata":{` + managed + `}}},{"object":null},7]}`:                   `{"rows":[{"object":{"metadata":{}}},{"object":null},7]}`,
		`[{"metadata":{` + managed + `}}]`:                                                         `[{"metadata":{` + managed + `}}]`,
		`{ "z": "managedFields", "a": 1.50 }`:                                                      `{"z":"managedFields","a":1.50}`,
		`{ "z": 1, "a": 1.50 }`:                                                                    `{"z":1,"a":1.50}`,
	} {
		event := written(t, withAll, request("POST", "/"), resource("create", "", "pods", "default", ""), func(event *audit.Event) {
			event.RequestObject([]byte(sent))
			event.Answered(201, "application/json", []byte(sent))
		})
		assert.Equal(t, told, string(event.RequestObject.Raw))
		assert.Equal(t, told, string(event.ResponseObject.Raw))
	}
}

// K58.
func TestWhatIsNoJSONIsLeftOutOfALine(t *testing.T) {
	t.Parallel()
	for _, object := range []any{"{", "", []byte(nil), []byte("\xff"), make(chan int), "{}{}"} {
		event := written(t, withAll, request("PATCH", "/"), resource("patch", "", "pods", "default", "a"), func(event *audit.Event) {
			event.RequestObject(object)
			event.Answered(200, "application/json", []byte("{"))
		})
		assert.Nil(t, event.RequestObject)
		assert.Nil(t, event.ResponseObject)
		assert.Equal(t, int32(200), event.ResponseStatus.Code)
	}
}

func TestOnlyTheBodyOfAnObjectOrOfAnErrorIsKept(t *testing.T) {
	t.Parallel()
	written(t, withAll, request("GET", "/metrics"), path("/metrics"), func(event *audit.Event) {
		assert.False(t, event.Keeps(200), "it is no object")
		assert.True(t, event.Keeps(403))
	})
	written(t, withAll, request("GET", "/"), resource("get", "", "pods", "default", "a"), func(event *audit.Event) { assert.True(t, event.Keeps(200)) })
	written(t, metadata, request("GET", "/"), resource("get", "", "pods", "default", "a"), func(event *audit.Event) { assert.False(t, event.Keeps(200)) })
	written(t, metadata, request("DELETE", "/"), resource("delete", "", "pods", "default", "a"), func(event *audit.Event) {
		assert.True(t, event.Keeps(200), "it may be a Status, which tells what was deleted")
	})
}

func TestTheTextOfAnErrorIsItsMessage(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{
		"Not Found: x": "Not Found: x", "a\nb\x00\xff": "a b ?", strings.Repeat("x", 5000): strings.Repeat("x", 1024) + "...", "": "",
	} {
		event := written(t, withAll, request("GET", "/"), resource("get", "", "pods", "default", "a"), func(event *audit.Event) {
			event.Answered(404, "text/plain; charset=utf-8", []byte(text))
		})
		assert.Equal(t, "Failure", event.ResponseStatus.Status)
		assert.Equal(t, wanted, event.ResponseStatus.Message)
		assert.Nil(t, event.ResponseObject)
	}
	event := written(t, metadata, request("GET", "/"), path("/"), func(event *audit.Event) { event.Answered(200, "text/plain", []byte("ok")) })
	assert.Empty(t, event.ResponseStatus.Message, "what is no error has none")
}

// counts implements audit.Counters.
type counts struct {
	mu             sync.Mutex
	events, errors int
	levels         map[string]int
}

func (c *counts) Event() { c.mu.Lock(); c.events++; c.mu.Unlock() }
func (c *counts) Error() { c.mu.Lock(); c.errors++; c.mu.Unlock() }
func (c *counts) Level(level string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.levels == nil {
		c.levels = map[string]int{}
	}
	c.levels[level]++
}

// disk takes as much as there is room for.
type disk struct {
	lines
	room int
}

var errFull = errors.New("no space left on\ndevice")

func (d *disk) Write(piece []byte) (int, error) {
	written := min(len(piece), d.room)
	d.room -= written
	_, _ = d.lines.Write(piece[:written]) // it takes all
	if written < len(piece) {
		return written, errFull
	}
	return written, nil
}

// It replaces the process's log, so it is not parallel.
func TestAFullDiskIsCountedAndLoggedNowAndThen(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		out, counted := &disk{room: 1 << 20}, &counts{}
		auditor := audit.New(metadata, out)
		auditor.Counters = counted
		ask := func() {
			req := request("GET", "/version")
			event := auditor.Begin(req)
			require.True(t, event.Decide(req, path("/version")))
			event.Write(auditv1.StageRequestReceived)
		}
		ask()
		require.Len(t, out.events(t), 1)
		out.room = 100
		for range 50 {
			ask()
		}
		assert.Equal(t, 50, counted.errors)
		assert.Equal(t, 1, strings.Count(logged.String(), "\n"), logged.String())
		assert.Contains(t, logged.String(), "1 audit events are lost: the last one could not be written: no space left on device\n")
		time.Sleep(10 * time.Second)
		ask()
		assert.Contains(t, logged.String(), "50 audit events are lost: ")
		assert.Equal(t, 2, strings.Count(logged.String(), "\n"))

		out.room = 1 << 20
		ask()
		assert.Equal(t, 51, counted.errors)
		assert.Equal(t, 53, counted.events)
		assert.Equal(t, map[string]int{"Metadata": 53}, counted.levels)
		written := strings.Split(out.String(), "\n")
		require.Len(t, written, 4, "what was written in part has its own line")
		assert.Len(t, written[1], 100)
		assert.True(t, json.Valid([]byte(written[2])), "the next line is whole")
	})
}

// fill writes lines of about 100 KB.
func fill(t *testing.T, auditor *audit.Auditor, count int) {
	target := "/" + strings.Repeat("x", 100_000)
	for range count {
		req := request("GET", target)
		event := auditor.Begin(req)
		require.True(t, event.Decide(req, path("/")))
		event.Write(auditv1.StageRequestReceived)
	}
}

// A file is full at its size, and of those that are full only some are kept, if that is wanted.
func TestAFullFileIsRenamedAndANewOneBegins(t *testing.T) {
	t.Parallel()
	for _, kept := range []int{0, 1} {
		dir, counted := t.TempDir(), &counts{}
		out, err := audit.File{Path: filepath.Join(dir, "logs", "audit.log"), MaxSize: 1, MaxBackups: kept}.Open()
		require.NoError(t, err)
		auditor := audit.New(metadata, out)
		auditor.Counters = counted
		fill(t, auditor, 35)
		assert.Zero(t, counted.errors)
		files := func() (names []string, lines int) {
			entries, err := os.ReadDir(filepath.Join(dir, "logs"))
			require.NoError(t, err)
			for _, entry := range entries {
				text, err := os.ReadFile(filepath.Join(dir, "logs", entry.Name()))
				if errors.Is(err, os.ErrNotExist) {
					continue // it was one too many
				}
				require.NoError(t, err)
				assert.LessOrEqual(t, len(text), 1<<20)
				names, lines = append(names, entry.Name()), lines+bytes.Count(text, []byte("\n"))
			}
			return names, lines
		}
		names, count := files()
		if kept == 0 {
			assert.Len(t, names, 4)
			assert.Equal(t, 35, count, "no line is lost")
			info, err := os.Stat(filepath.Join(dir, "logs", "audit.log"))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode())
			continue
		}
		assert.Eventually(t, func() bool { names, _ := files(); return len(names) == 2 }, time.Minute, 10*time.Millisecond, "others are removed soon")
	}
}

// Otherwise, a client could hide what it does in a request that is large.
func TestALineThatIsLargerThanAFileIsNotLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := audit.File{Path: filepath.Join(dir, "audit.log"), MaxSize: 1}.Open()
	require.NoError(t, err)
	auditor, counted := audit.New(withAll, out), &counts{}
	auditor.Counters = counted
	for _, size := range []int{1, 2 << 20, 1, 1} {
		req := request("POST", "/")
		event := auditor.Begin(req)
		require.True(t, event.Decide(req, resource("create", "", "pods", "default", "")))
		event.RequestObject(`{"a":"` + strings.Repeat("x", size) + `"}`)
		event.Write(auditv1.StageResponseComplete)
	}
	assert.Zero(t, counted.errors)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 2, "after the large line, the file is full")
	lines := 0
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		lines += bytes.Count(text, []byte("\n"))
	}
	assert.Equal(t, 4, lines)
}

func TestAFileThatCannotBeMadeIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "file", "audit.log"), dir} {
		_, err := audit.File{Path: path}.Open()
		assert.Error(t, err, path)
	}
	out, err := audit.File{Path: "-"}.Open()
	require.NoError(t, err)
	assert.Equal(t, os.Stdout, out)
}

func TestAPipeIsWrittenToButNotRenamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := audit.File{Path: path}.Open()
	assert.ErrorIs(t, err, syscall.ENXIO, "nobody reads it")

	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	out, err := audit.File{Path: path, MaxSize: 1}.Open()
	require.NoError(t, err)
	const line, lines = 1 << 16, 32 // more than the megabyte
	go func() {
		for range lines {
			_, err := out.Write(bytes.Repeat([]byte{'x'}, line))
			assert.NoError(t, err)
		}
		assert.NoError(t, out.(io.Closer).Close())
	}()
	read, err := io.Copy(io.Discard, reader)
	require.NoError(t, err)
	assert.EqualValues(t, line*lines, read)
	files, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, files, 1)
}

func TestAnEventIsUTF8WhateverAClientSends(t *testing.T) {
	t.Parallel()
	event := written(t, withAll, request("POST", "/"), resource("create", "", "pods", "default", ""), func(event *audit.Event) {
		event.RequestObject([]byte("{\"a\":\"x\xff\xfey\"}"))
	})
	assert.Equal(t, "{\"a\":\"x\ufffdy\"}", string(event.RequestObject.Raw))
}
