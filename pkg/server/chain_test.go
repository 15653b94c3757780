package server_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util"
)

// toys is an API that has nothing to do with tasks.
type toys map[string]http.HandlerFunc

func (a toys) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if handler := a[req.URL.Path]; handler != nil {
		handler(w, req)
		return
	}
	http.NotFound(w, req)
}

func (toys) info(req *http.Request) request.RequestInfo {
	verb := map[string]string{"GET": "get", "POST": "create", "PUT": "update", "DELETE": "delete"}[req.Method]
	if req.URL.Query().Has("watch") {
		verb = "watch"
	}
	return request.RequestInfo{Path: req.URL.Path, Verb: verb, IsResource: true, APIVersion: "v1", Resource: "toys", Name: strings.TrimPrefix(req.URL.Path, "/"),
		NoTimeout: verb == "watch", OwnTimeout: req.URL.Query().Has("keeps"), IsServed: true}
}

func (a toys) Serves(req *http.Request, record *request.Record) bool {
	record.Info = a.info(req)
	return true
}

var toyStatus = map[api.ErrorKind]int{api.Unauthorized: 401, api.Forbidden: 403, api.Invalid: 400, api.TooManyRequests: 429, api.Internal: 500, api.Unavailable: 503, api.Timeout: 504}

func (toys) Fail(w http.ResponseWriter, _ *http.Request, err error) {
	w.WriteHeader(toyStatus[api.KindOf(err)])
	_, _ = io.WriteString(w, err.Error()) // the recorder takes all
}

var bear = toys{
	"/bear":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a bear") },
	"/broken": func(http.ResponseWriter, *http.Request) { panic("a toy broke") },
	"/half": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half a b")
		panic("a toy broke in two")
	},
}

// chainOf returns the chain before an API, as the rest of a configuration says.
func chainOf(a toys, config server.Config) http.Handler {
	config.Chain = &server.Delegate{Server: a}
	if config.RequestTimeout == 0 {
		config.RequestTimeout = time.Minute
	}
	s := config.Complete().New()
	if config.Auth != (server.Auth{}) {
		return s.SecureHandler()
	}
	return s.InsecureHandler()
}

// ask sends a request with headers, each "Name: value".
func ask(handler http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, nil)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Add(name, value)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, req)
	return recorder
}

// logOf returns what is logged while f runs. It replaces the process's log, so
// its tests are not parallel.
func logOf(f func()) string {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	f()
	return logged.String()
}

func TestD47ARequestIsLoggedOnOneLineWithStatusAndDuration(t *testing.T) {
	for name, row := range map[string]struct{ uri, logged string }{
		"a plain URI":         {"/bear?labels=a%3Db", "GET /bear?labels=a%3Db 200 "},
		"a missing object":    {"/nope", "GET /nope 404 "},
		"a URI with a break":  {"/nope\nGET / 200", `GET "/nope\nGET / 200" 404 `},
		"a URI of other text": {"/né", `GET "/n\u00e9" 404 `},
		"a long URI":          {"/" + strings.Repeat("x", 4000), "GET /" + strings.Repeat("x", util.MaxLine-1) + "... 404 "},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest("GET", "/nope", nil)
			if strings.HasPrefix(row.uri, "/bear") {
				req = httptest.NewRequest("GET", row.uri, nil)
			}
			req.RequestURI = row.uri
			logged := logOf(func() { chainOf(bear, server.Config{}).ServeHTTP(httptest.NewRecorder(), req) })
			assert.Regexp(t, `^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `, logged)
			assert.Contains(t, logged, row.logged)
			assert.Regexp(t, ` \d+(\.\d+)?(µs|ms|s)\n$`, logged)
			assert.Equal(t, 1, strings.Count(logged, "\n"))
		})
	}
}

func TestTheLoggedDurationIsTheRequests(t *testing.T) {
	slow := toys{"/slow": func(http.ResponseWriter, *http.Request) { time.Sleep(time.Minute - time.Second) }}
	logged := logOf(func() {
		synctest.Test(t, func(*testing.T) { ask(chainOf(slow, server.Config{}), "GET", "/slow") }) // it takes no time
	})
	assert.Contains(t, logged, "GET /slow 0 59s\n")
}

// Whether or not a goroutine of its own serves it.
func TestD48APanicIsA500AndALoggedStack(t *testing.T) {
	for _, method := range []string{"GET", "POST", "GET?watch"} {
		var answer *httptest.ResponseRecorder
		method, query, _ := strings.Cut(method, "?")
		logged := logOf(func() { answer = ask(chainOf(bear, server.Config{}), method, "/broken?"+query) })
		assert.Equal(t, http.StatusInternalServerError, answer.Code)
		assert.Equal(t, "the request failed; the server's log has the reason", answer.Body.String())
		assert.Contains(t, logged, "panic in "+method+" /broken?"+query+": a toy broke\n")
		assert.Contains(t, logged, "server_test.init", "the stack names where")
		assert.Contains(t, logged, method+" /broken?"+query+" 500 ")
	}
}

func TestAPanicAfterTheStatusCutsTheConnection(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		logged := logOf(func() {
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(chainOf(bear, server.Config{}), method, "/half") })
		})
		assert.Contains(t, logged, "a toy broke in two")
	}
}

// D32: a page of another site cannot change anything.
func TestD32CrossSiteRequestsOfBrowsers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		method, header string
		status         int
	}{
		"curl sends neither header":              {"POST", "", 200},
		"a page of the server itself":            {"POST", "Sec-Fetch-Site: same-origin", 200},
		"a page of another site":                 {"POST", "Sec-Fetch-Site: cross-site", 403},
		"a page of a sibling site":               {"PUT", "Sec-Fetch-Site: same-site", 403},
		"an old browser on another site":         {"DELETE", "Origin: http://evil.example", 403},
		"an old browser on the server itself":    {"POST", "Origin: http://example.com", 200},
		"a page without an origin":               {"POST", "Origin: null", 403},
		"a page of another site that only looks": {"GET", "Sec-Fetch-Site: cross-site", 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := ask(chainOf(bear, server.Config{}), row.method, "/bear", row.header)
			assert.Equal(t, row.status, answer.Code)
			if row.status == http.StatusForbidden {
				assert.Equal(t, "a browser may not send a cross-site "+row.method+" request", answer.Body.String())
			}
		})
	}
}

// What may be read by pages of other sites stays what may not be changed by them (D32).
func TestK35PagesOfAllowedOriginsMayReadButChangeNothing(t *testing.T) {
	t.Parallel()
	open := chainOf(bear, server.Config{CORSAllowedOrigins: []*regexp.Regexp{regexp.MustCompile(`^http://a\.example$`), regexp.MustCompile(`b\.example`)}})
	for name, row := range map[string]struct {
		method, origin string
		status         int
		allowed        string
	}{
		"an allowed origin reads":             {"GET", "http://a.example", 200, "http://a.example"},
		"an origin that matches in part":      {"GET", "https://x.b.example:80", 200, "https://x.b.example:80"},
		"another origin":                      {"GET", "http://a.example.evil", 200, ""},
		"no origin":                           {"GET", "", 200, ""},
		"an allowed origin asks what it may":  {"OPTIONS", "http://a.example", 204, "http://a.example"},
		"another one asks":                    {"OPTIONS", "http://evil.example", 200, ""},
		"an allowed origin changes something": {"POST", "http://a.example", 403, "http://a.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			if row.origin != "" {
				headers = []string{"Origin: " + row.origin}
			}
			answer := ask(open, row.method, "/bear", headers...)
			assert.Equal(t, row.status, answer.Code)
			assert.Equal(t, row.allowed, answer.Header().Get("Access-Control-Allow-Origin"))
			assert.Equal(t, "Origin", answer.Header().Get("Vary"))
			if row.allowed != "" {
				assert.Equal(t, "GET, HEAD, OPTIONS", answer.Header().Get("Access-Control-Allow-Methods"))
			}
			assert.Empty(t, ask(chainOf(bear, server.Config{}), row.method, "/bear", headers...).Header().Get("Access-Control-Allow-Origin"), "by default none is")
		})
	}
}
