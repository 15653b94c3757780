package apiserver

import (
	"bytes"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

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
		"a plain URI":         {"/prefix/v1/toys?labels=a%3Db", "GET /prefix/v1/toys?labels=a%3Db 200 "},
		"a missing object":    {"/prefix/v1/toys/nope", "GET /prefix/v1/toys/nope 404 "},
		"a URI with a break":  {"/nope\nGET / 200", `GET "/nope\nGET / 200" 404 `},
		"a URI of other text": {"/né", `GET "/n\u00e9" 404 `},
		"a long URI":          {"/" + strings.Repeat("x", 4000), "GET /" + strings.Repeat("x", maxLine-1) + "... 404 "},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest("GET", "/prefix/v1/toys/nope", nil)
			if path, query, _ := strings.Cut(row.uri, "?"); strings.HasPrefix(path, "/prefix/") {
				req = httptest.NewRequest("GET", path+"?"+query, nil)
			}
			req.RequestURI = row.uri
			logged := logOf(func() { send(newServer(nil), req) })
			assert.Regexp(t, `^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `, logged)
			assert.Contains(t, logged, row.logged)
			assert.Regexp(t, ` \d+(\.\d+)?(µs|ms|s)\n$`, logged)
			assert.Equal(t, 1, strings.Count(logged, "\n"))
		})
	}
}

// slowStorage takes a minute.
type slowStorage struct{ toyStorage }

func (s *slowStorage) List(*url.URL) (interface{}, error) { time.Sleep(time.Minute); return "", nil }

func TestTheLoggedDurationIsTheRequests(t *testing.T) {
	logged := logOf(func() {
		synctest.Test(t, func(t *testing.T) { // the minute takes no time
			ask(New(map[string]RESTStorage{"slow": &slowStorage{}}, "/p"), "GET", "/p/slow", "")
		})
	})
	assert.Contains(t, logged, "GET /p/slow 200 1m0s\n")
}

func TestD48APanicIsA500AndALoggedStack(t *testing.T) {
	var answer *httptest.ResponseRecorder
	logged := logOf(func() { answer = ask(newServer(nil), "GET", "/prefix/v1/strange/x", "") })
	assert.Equal(t, http.StatusInternalServerError, answer.Code)
	assert.Equal(t, "Internal Error: the request failed; the server's log has the reason", answer.Body.String())
	assert.Contains(t, logged, "panic in GET /prefix/v1/strange/x: a toy broke")
	assert.Contains(t, logged, "strangeStorage", "the stack names where")
	assert.Contains(t, logged, "GET /prefix/v1/strange/x 500 ")
}

// failingWriter panics while the body is written, after the status.
type failingWriter struct{ *httptest.ResponseRecorder }

func (failingWriter) Write([]byte) (int, error) { panic("the wire broke") }

func TestAPanicAfterTheStatusCutsTheConnection(t *testing.T) {
	logged := logOf(func() {
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
			newServer(nil).ServeHTTP(failingWriter{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
		})
	})
	assert.Contains(t, logged, "the wire broke")
}

func TestTheCauseOfAServersFaultIsLoggedAndNotSent(t *testing.T) {
	var answer *httptest.ResponseRecorder
	logged := logOf(func() { answer = ask(newServer(nil), "GET", "/prefix/v1/strange", "") })
	assert.NotContains(t, answer.Body.String(), "chan")
	assert.Contains(t, logged, "unsupported type: chan int")
}
