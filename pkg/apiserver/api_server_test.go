package apiserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/util"
	"kube2014/pkg/util/loopback"
)

// toy is an object that has nothing to do with tasks.
type toy struct {
	Name string `json:"name"`
}

func (o toy) GetID() string                { return o.Name }
func (o toy) WithID(id string) interface{} { o.Name = id; return o }

// toyStorage stores toys. When fail is set, every method returns it.
type toyStorage struct {
	fail error

	mu   sync.Mutex // guards toys
	toys map[string]interface{}
}

func (s *toyStorage) List(u *url.URL) (interface{}, error) {
	return map[string]string{"query": u.RawQuery}, s.fail
}

func (s *toyStorage) Get(id string) (interface{}, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if object, ok := s.toys[id]; ok {
		return object, nil
	}
	return nil, api.NewNotFound("toy", id)
}

func (s *toyStorage) Delete(id string) error { return s.fail }

func (s *toyStorage) Extract(body string) (interface{}, error) {
	var object toy
	err := v1beta1.Codec.Decode(body, &object)
	return object, err
}

func (s *toyStorage) Create(object interface{}) error { return s.put(object) }
func (s *toyStorage) Update(object interface{}) error { return s.put(object) }

func (s *toyStorage) put(object interface{}) error {
	if s.fail != nil {
		return s.fail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toys[object.(toy).Name] = object
	return nil
}

// strangeStorage returns objects that cannot be encoded as JSON, and panics.
type strangeStorage struct{ toyStorage }

func (s *strangeStorage) List(*url.URL) (interface{}, error) { return make(chan int), nil }
func (s *strangeStorage) Get(string) (interface{}, error)    { panic("a toy broke") }

// plainStorage stores objects without an id: strings.
type plainStorage struct{ toyStorage }

func (s *plainStorage) Extract(body string) (interface{}, error) { return body, nil }
func (s *plainStorage) Update(object interface{}) error          { return nil }

func newServer(fail error) *ApiServer {
	return New(map[string]RESTStorage{
		"toys":    &toyStorage{fail: fail, toys: map[string]interface{}{"bear": toy{"bear"}}},
		"strange": &strangeStorage{},
		"plain":   &plainStorage{},
	}, "/prefix/v1")
}

func ask(server http.Handler, method, target, body string) *httptest.ResponseRecorder {
	return send(server, httptest.NewRequest(method, target, strings.NewReader(body)))
}

func send(server http.Handler, req *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, req)
	return recorder
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	const bear = "{\n    \"name\": \"bear\"\n}"
	for name, row := range map[string]struct {
		method, target, body string
		status               int
		contentType, answer  string
	}{
		"the index":                        {"GET", "/", "", 200, "text/html; charset=utf-8", "<html><body>Welcome to Kubernetes</body></html>"},
		"the index by name":                {"GET", "/index.html", "", 200, "text/html; charset=utf-8", "<html><body>Welcome to Kubernetes</body></html>"},
		"health":                           {"GET", "/healthz", "", 200, plainText, "ok"},
		"the list gets the query":          {"GET", "/prefix/v1/toys?labels=a%3Db", "", 200, "application/json", "{\n    \"query\": \"labels=a%3Db\"\n}"},
		"D4: a slash after the collection": {"GET", "/prefix/v1/toys/", "", 200, "application/json", "{\n    \"query\": \"\"\n}"},
		"D17: an object is JSON":           {"GET", "/prefix/v1/toys/bear", "", 200, "application/json", bear},
		"create":                           {"POST", "/prefix/v1/toys", `{"name": "<car>"}`, 200, "application/json", "{\n    \"name\": \"\\u003ccar\\u003e\"\n}"},
		"create below a slash":             {"POST", "/prefix/v1/toys/", `{"name": "bear"}`, 200, "application/json", bear},
		"replace":                          {"PUT", "/prefix/v1/toys/bear", `{"name": "bear"}`, 200, "application/json", bear},
		"D13: the path's id for a body without one":    {"PUT", "/prefix/v1/toys/bear", `{}`, 200, "application/json", bear},
		"D13: an object that cannot tell its id":       {"PUT", "/prefix/v1/plain/x", `text`, 200, "application/json", `"text"`},
		"D15: delete":                                  {"DELETE", "/prefix/v1/toys/bear", "", 200, "application/json", "{\n    \"success\": true\n}"},
		"D1: outside the prefix":                       {"GET", "/nope", "", 404, plainText, "Not Found: GET /nope"},
		"D1: an unknown resource, whatever the method": {"PATCH", "/prefix/v1/cars", "", 404, plainText, "Not Found: PATCH /prefix/v1/cars"},
		"D1: a path that is not one line":              {"GET", "/a%0Ab", "", 404, plainText, "Not Found: GET /a%0Ab"},
		"D2: the prefix ends at a slash":               {"GET", "/prefix/v1x/toys", "", 404, plainText, "Not Found: GET /prefix/v1x/toys"},
		"the prefix alone":                             {"GET", "/prefix/v1", "", 404, plainText, "Not Found: GET /prefix/v1"},
		"no resource":                                  {"GET", "/prefix/v1//toys", "", 404, plainText, "Not Found: GET /prefix/v1//toys"},
		"a path that goes up":                          {"GET", "/prefix/v1/x/../toys", "", 404, plainText, "Not Found: GET /prefix/v1/x/../toys"},
		"deeper than an id":                            {"GET", "/prefix/v1/toys/bear/log", "", 404, plainText, "Not Found: GET /prefix/v1/toys/bear/log"},
		"a slash after an id":                          {"GET", "/prefix/v1/toys/bear/", "", 404, plainText, "Not Found: GET /prefix/v1/toys/bear/"},
		"D3: a missing object":                         {"GET", "/prefix/v1/toys/nope", "", 404, plainText, `Not Found: toy "nope" does not exist`},
		"D9: a body that is no object":                 {"POST", "/prefix/v1/toys", `[]`, 400, plainText, "Bad Request: body: must be a JSON object"},
		"D13: another id in the body":                  {"PUT", "/prefix/v1/toys/bear", `{"name": "car"}`, 400, plainText, `Bad Request: id: "car" in the body differs from "bear" in the path`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := ask(newServer(nil), row.method, row.target, row.body)
			assert.Equal(t, row.answer, answer.Body.String())
			assert.Equal(t, row.status, answer.Code)
			assert.Equal(t, row.contentType, answer.Header().Get("Content-Type"))
			assert.Equal(t, fmt.Sprint(len(row.answer)), answer.Header().Get("Content-Length"))
		})
	}
}

// D16: the path exists, the method is not served.
func TestD16OtherMethodsAreToldWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for target, allow := range map[string]string{
		"/":                    "GET, HEAD",
		"/index.html":          "GET, HEAD",
		"/healthz":             "GET, HEAD",
		"/prefix/v1/toys":      "GET, HEAD, POST",
		"/prefix/v1/toys/":     "GET, HEAD, POST",
		"/prefix/v1/toys/bear": "GET, HEAD, PUT, DELETE",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE", "X"} {
			t.Run(method+" "+target, func(t *testing.T) {
				t.Parallel()
				answer := ask(newServer(nil), method, target, `{}`)
				if strings.Contains(allow+",", method+",") {
					assert.Equal(t, http.StatusOK, answer.Code)
					return
				}
				assert.Equal(t, http.StatusMethodNotAllowed, answer.Code)
				assert.Equal(t, allow, answer.Header().Get("Allow"))
				assert.Equal(t, fmt.Sprintf("Method Not Allowed: %s is not allowed at %s; allowed: %s", method, target, allow), answer.Body.String())
			})
		}
	}
}

func TestD16HeadIsGetWithoutABody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newServer(nil))
	defer server.Close()
	for _, path := range []string{
		"/", "/healthz", "/prefix/v1/toys", "/prefix/v1/toys/bear", "/prefix/v1/toys/nope",
		"/nope", "/prefix/v1/cars", "/prefix/v1/toys/bear/log", "/prefix/v1/strange",
	} {
		get, err := http.Get(server.URL + path)
		require.NoError(t, err)
		get.Body.Close()
		head, err := http.Head(server.URL + path)
		require.NoError(t, err)
		head.Body.Close()
		assert.Equal(t, get.StatusCode, head.StatusCode, path)
		assert.Equal(t, get.ContentLength, head.ContentLength, path)
		assert.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
	}
}

// D7: a storage that fails is never answered with 200.
func TestD7AStoragesErrorBecomesAStatusAndALine(t *testing.T) {
	t.Parallel()
	requests := []struct{ method, target, body string }{
		{"GET", "/prefix/v1/toys", ""},
		{"GET", "/prefix/v1/toys/bear", ""},
		{"POST", "/prefix/v1/toys", `{"name": "bear"}`},
		{"PUT", "/prefix/v1/toys/bear", `{"name": "bear"}`},
		{"DELETE", "/prefix/v1/toys/bear", ""},
	}
	for name, row := range map[string]struct {
		err    error
		status int
		line   string
	}{
		"invalid":             {api.NewInvalid("port", "%d is not between 0 and 65535", 70000), 400, "Bad Request: port: 70000 is not between 0 and 65535"},
		"forbidden":           {&api.Error{Kind: api.Forbidden, Message: "no"}, 403, "Forbidden: no"},
		"not found":           {api.NewNotFound("toy", "bear"), 404, `Not Found: toy "bear" does not exist`},
		"already exists":      {api.NewAlreadyExists("toy", "bear"), 409, `Conflict: toy "bear" already exists`},
		"conflict":            {api.NewConflict("no room"), 409, "Conflict: no room"},
		"host port taken":     {api.NewHostPortTaken("b", 80, "m", "a"), 409, `Conflict: task "b" needs host port 80, but on machine m task "a" has it`},
		"unavailable":         {api.NewUnavailable("get toy", errors.New("dial 10.0.0.1")), 503, "Service Unavailable: get toy: the store cannot be reached"},
		"internal":            {&api.Error{Kind: api.Internal, Message: "the stored toy is not JSON"}, 500, "Internal Error: the stored toy is not JSON"},
		"an unknown kind":     {&api.Error{Kind: "odd", Message: "odd"}, 500, "Internal Error: odd"},
		"an untyped error":    {errors.New("dial tcp 10.0.0.1"), 500, "Internal Error: the request failed; the server's log has the reason"},
		"an error of lines":   {api.NewConflict("a toy\nbroke\r\x00"), 409, "Conflict: a toy broke  "},
		"an error of 1 MiB":   {api.NewConflict("%s", strings.Repeat("x", 1<<20)), 409, "Conflict: " + strings.Repeat("x", util.MaxLine) + "..."},
		"an error cut inside": {api.NewConflict("%s", strings.Repeat("x", util.MaxLine-1)+"éé"), 409, "Conflict: " + strings.Repeat("x", util.MaxLine-1) + "?..."},
		"a typed error below": {fmt.Errorf("sync: %w", api.NewConflict("no room")), 409, "Conflict: sync: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, request := range requests {
				answer := ask(newServer(row.err), request.method, request.target, request.body)
				assert.Equal(t, row.status, answer.Code, request.method)
				assert.Equal(t, row.line, answer.Body.String(), request.method)
				assert.Equal(t, plainText, answer.Header().Get("Content-Type"))
			}
		})
	}
}

func TestAnAnswerThatCannotBeEncodedIsA500(t *testing.T) {
	t.Parallel()
	answer := ask(newServer(nil), "GET", "/prefix/v1/strange", "")
	assert.Equal(t, http.StatusInternalServerError, answer.Code)
	assert.Equal(t, "Internal Error: the answer could not be encoded", answer.Body.String())
}

// D29: a body of 1 MiB is read, a larger one refused.
func TestD29LargeBodies(t *testing.T) {
	t.Parallel()
	bodyOf := func(size int) string {
		const frame = `{"name": ""}`
		return `{"name": "` + strings.Repeat("x", size-len(frame)) + `"}`
	}
	assert.Equal(t, 200, ask(newServer(nil), "POST", "/prefix/v1/toys", bodyOf(MaxBodySize)).Code)
	declared := httptest.NewRequest("POST", "/prefix/v1/toys", strings.NewReader(bodyOf(MaxBodySize+1)))
	chunked := httptest.NewRequest("POST", "/prefix/v1/toys", strings.NewReader(bodyOf(3<<20)))
	chunked.ContentLength = -1
	for _, req := range []*http.Request{declared, chunked} {
		answer := send(newServer(nil), req)
		assert.Equal(t, http.StatusRequestEntityTooLarge, answer.Code)
		assert.Equal(t, "Request Entity Too Large: the body has more than 1048576 bytes", answer.Body.String())
		assert.Equal(t, "close", answer.Header().Get("Connection"))
	}
}

// brokenBody is a client that goes away.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// When the time for reading is over, so is that for writing: an answer gets a
// second more.
func TestABodyThatNeverComesIsToldSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := loopback.Listen()
		server := &http.Server{Handler: newServer(nil), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
		go func() { _ = server.Serve(network) }()
		defer server.Close()
		conn, err := network.Dial(context.Background())
		require.NoError(t, err)
		defer conn.Close()
		start := time.Now()
		_, err = io.WriteString(conn, "POST /prefix/v1/toys HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
		assert.Equal(t, server.ReadTimeout, time.Since(start))
	})
}

func TestABodyThatBreaksOffIsABadRequest(t *testing.T) {
	t.Parallel()
	answer := send(newServer(nil), httptest.NewRequest("POST", "/prefix/v1/toys", brokenBody{}))
	assert.Equal(t, http.StatusBadRequest, answer.Code)
	assert.Equal(t, "Bad Request: body: is incomplete: the client stopped sending it or was too slow", answer.Body.String())
}

func TestD42HealthzTellsWhetherTheStoreCanBeUsed(t *testing.T) {
	t.Parallel()
	server := newServer(nil)
	server.Healthz = func() ([]string, error) { return nil, api.NewUnavailable("ping", errors.New("refused")) }
	answer := ask(server, "GET", "/healthz", "")
	assert.Equal(t, http.StatusServiceUnavailable, answer.Code)
	assert.Equal(t, "Service Unavailable: ping: the store cannot be reached", answer.Body.String())
	server.Healthz = func() ([]string, error) { return nil, errors.New("broken") }
	assert.Equal(t, "Service Unavailable: broken", ask(server, "GET", "/healthz", "").Body.String())
	server.Healthz = func() ([]string, error) { return nil, nil }
	assert.Equal(t, "ok", ask(server, "GET", "/healthz", "").Body.String())
}

// D41: what is wrong but stops nobody is told with a 200, on lines that are bounded.
func TestD41HealthzWarnsBesideItsOK(t *testing.T) {
	t.Parallel()
	server := newServer(nil)
	warnings := []string{"key /a is bad", "key /b\n\x1b is bad"}
	server.Healthz = func() ([]string, error) { return warnings, nil }
	answer := ask(server, "GET", "/healthz", "")
	assert.Equal(t, http.StatusOK, answer.Code)
	assert.Equal(t, "ok\nwarning: key /a is bad\nwarning: key /b?? is bad", answer.Body.String())
	for range 1000 {
		warnings = append(warnings, "key /c is bad")
	}
	lines := strings.Split(ask(server, "GET", "/healthz", "").Body.String(), "\n")
	assert.Len(t, lines, 1+maxWarnings+1)
	assert.Equal(t, "warning: and 992 more", lines[len(lines)-1])
}

func TestAPrefixMayBeTheRootOrEndInASlash(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"/", "/p", "/p/"} {
		server := New(map[string]RESTStorage{"toys": &toyStorage{}}, prefix)
		target := strings.TrimRight(prefix, "/") + "/toys"
		assert.Equal(t, 200, ask(server, "GET", target, "").Code, prefix)
		assert.Equal(t, 200, ask(server, "GET", "/", "").Code, prefix)
	}
}

func TestTheServerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	server := newServer(nil)
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			name := fmt.Sprintf("toy-%d", i)
			body, _ := json.Marshal(toy{name})
			for range 20 {
				assert.Equal(t, 200, ask(server, "PUT", "/prefix/v1/toys/"+name, string(body)).Code)
				assert.Equal(t, 200, ask(server, "GET", "/prefix/v1/toys/"+name, "").Code)
			}
		})
	}
	group.Wait()
}
