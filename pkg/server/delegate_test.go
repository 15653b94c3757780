package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
	"kube2014/pkg/server"
	"kube2014/pkg/server/healthz"
	"kube2014/pkg/server/request"
)

// below is a server of the paths that begin with a name.
type below string

func (b below) Serves(req *http.Request, record *request.Record) bool {
	isOurs := strings.HasPrefix(req.URL.Path, string(b))
	if isOurs {
		record.Today(req).Verb += " at " + string(b)
	}
	return isOurs
}

func (b below) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.WriteString(w, string(b)+": "+request.RecordOf(req.Context()).Today(req).Verb) // the recorder takes all
}

func (b below) Fail(w http.ResponseWriter, _ *http.Request, err error) {
	w.WriteHeader(toyStatus[api.KindOf(err)])
	_, _ = io.WriteString(w, string(b)+" fails")
}

func chainOfThree() (first, second, third *server.Delegate) {
	third = &server.Delegate{Name: "third", Server: below("/")}
	second = &server.Delegate{Name: "second", Server: below("/b"), Next: third}
	first = &server.Delegate{Name: "first", Server: below("/bar"), Next: second}
	return first, second, third
}

func TestARequestIsForTheFirstDelegateThatServesIt(t *testing.T) {
	t.Parallel()
	first, _, _ := chainOfThree()
	config := server.Config{Chain: first, RequestTimeout: time.Minute}
	handler := config.Complete().New().InsecureHandler()
	for path, want := range map[string]string{
		"/bar": "/bar: get at /bar", "/baz": "/b: get at /b", "/": "/: get at /",
	} {
		assert.Equal(t, want, ask(handler, "GET", path).Body.String(), "what it asks for is found out once")
	}
	refused := ask(handler, "POST", "/baz", "Sec-Fetch-Site: cross-site")
	assert.Equal(t, http.StatusForbidden, refused.Code)
	assert.Equal(t, "/b fails", refused.Body.String(), "the handlers before it refuse in its words")
}

func TestChecksAndHooksOfADelegateAreThoseOfTheNextOnesToo(t *testing.T) {
	t.Parallel()
	first, second, third := chainOfThree()
	first.Checks = []healthz.Check{healthz.Ping}
	third.Checks = []healthz.Check{{Name: "store", Check: func() error { return errors.New("it is away") }}}
	second.AddPostStartHook("roles", nil)
	assert.Panics(t, func() { first.AddPostStartHook("roles", nil) }, "a name is used once")
	mux := paths{}
	config := server.Config{Chain: first, Mux: mux}
	config.Complete().New().PrepareRun()
	_, text := mux.get("/readyz")
	assert.Equal(t, "[+]ping ok\n[-]store failed: reason withheld\n[-]poststarthook/roles failed: reason withheld\nreadyz check failed\n", text)
}
