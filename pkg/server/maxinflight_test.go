package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

// busy is an API whose toys take until they are released, with the paths of a server beside them.
type busy struct {
	toys
	release chan struct{}
}

func newBusy() busy {
	b := busy{release: make(chan struct{})}
	wait := func(w http.ResponseWriter, _ *http.Request) {
		<-b.release
		_, _ = io.WriteString(w, "at last") // the recorder takes all
	}
	at := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "at once") }
	b.toys = toys{"/slow": wait, "/version/slow": wait, "/healthz": at, "/livez": at, "/readyz/ping": at, "/healthzx": at, "/quick": at}
	return b
}

func (b busy) Serves(req *http.Request, record *request.Record) bool {
	record.Info = b.info(req)
	return true
}

func (b busy) info(req *http.Request) request.RequestInfo {
	if path := req.URL.Path; path != "/slow" && path != "/quick" {
		verb := map[string]string{"GET": "get", "HEAD": "head", "POST": "post"}[req.Method]
		return request.RequestInfo{Path: path, Verb: verb}
	}
	return b.toys.info(req)
}

// flood sends requests until all are being served or refused, and returns what became of them once
// the toys are released.
func (b busy) flood(handler http.Handler, n int, method, path string, headers ...string) (wait func() map[int]int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	codes := map[int]int{}
	for range n {
		all.Go(func() {
			code := ask(handler, method, path, headers...).Code
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
		})
	}
	synctest.Wait()
	return func() map[int]int {
		all.Wait()
		return codes
	}
}

func TestOfAThousandSlowRequestsThoseBeyondTheLimitAreToldToTryAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, m := newBusy(), toyMetrics()
		config := server.Config{Chain: &server.Delegate{Server: b}, Metrics: m, MaxReads: 400, MaxChanges: 200, RequestTimeout: time.Hour}
		handler := config.Complete().New().InsecureHandler()
		watches := b.flood(handler, 50, "GET", "/slow?watch")
		reads := b.flood(handler, 1000, "GET", "/slow")
		changes := b.flood(handler, 1000, "POST", "/slow")
		assert.Equal(t, []string{`apiserver_current_inflight_requests{request_kind="mutating"} 200`, `apiserver_current_inflight_requests{request_kind="readOnly"} 400`},
			measured(m, "apiserver_current"))
		refused := ask(handler, "GET", "/quick")
		assert.Equal(t, http.StatusTooManyRequests, refused.Code)
		assert.Equal(t, "1", refused.Header().Get("Retry-After"))
		assert.Equal(t, "Too many requests, please try again later.", refused.Body.String())
		for _, path := range []string{"/healthz", "/livez", "/readyz/ping"} {
			assert.Equal(t, http.StatusOK, ask(handler, "GET", path).Code, path)
		}
		assert.Equal(t, http.StatusTooManyRequests, ask(handler, "GET", "/healthzx").Code, "it only looks like a check")
		assert.Equal(t, http.StatusTooManyRequests, ask(handler, "HEAD", "/version/slow").Code)
		close(b.release)
		assert.Equal(t, map[int]int{200: 50}, watches())
		assert.Equal(t, map[int]int{200: 400, 429: 600}, reads())
		assert.Equal(t, map[int]int{200: 200, 429: 800}, changes())
		assert.Equal(t, http.StatusOK, ask(handler, "GET", "/quick").Code, "there is room again")
	})
}

func TestWithoutALimitAllAreServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		config := server.Config{Chain: &server.Delegate{Server: b}, RequestTimeout: time.Hour}
		requests := b.flood(config.Complete().New().InsecureHandler(), 1000, "POST", "/slow")
		close(b.release)
		assert.Equal(t, map[int]int{200: 1000}, requests())
	})
}

// inGroup knows everybody as a member of a group, which the request names.
var inGroup = authenticator.RequestFunc(func(req *http.Request) (*user.Info, bool, error) {
	return &user.Info{Name: "ann", Groups: []string{req.Header.Get("Authorization")}}, true, nil
})

func TestBothPortsShareTheLimitAndOnlyMastersAreServedBeyondIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		config := server.Config{Chain: &server.Delegate{Server: b}, MaxReads: 2, MaxChanges: 2, RequestTimeout: time.Hour, Auth: server.Auth{Authenticator: inGroup, Authorizer: authorizer.AlwaysAllow{}}}
		s := config.Complete().New()
		requests := b.flood(s.SecureHandler(), 2, "GET", "/slow", "Authorization: system:masters")
		assert.Equal(t, http.StatusTooManyRequests, ask(s.InsecureHandler(), "GET", "/quick").Code, "nobody is known to be a master there")
		assert.Equal(t, http.StatusTooManyRequests, ask(s.SecureHandler(), "GET", "/quick", "Authorization: others").Code)
		assert.Equal(t, http.StatusOK, ask(s.SecureHandler(), "GET", "/quick", "Authorization: system:masters").Code)
		assert.Equal(t, http.StatusOK, ask(s.InsecureHandler(), "POST", "/quick").Code, "changes have a limit of their own")
		close(b.release)
		assert.Equal(t, map[int]int{200: 2}, requests())
	})
}

func TestTheLimitStandsBeforeAuthorization(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy()
		config := server.Config{Chain: &server.Delegate{Server: b}, MaxReads: 1, RequestTimeout: time.Hour, Auth: server.Auth{Authenticator: inGroup, Authorizer: rules{"ann get toys slow"}}}
		handler := config.Complete().New().SecureHandler()
		requests := b.flood(handler, 1, "GET", "/slow", "Authorization: g")
		assert.Equal(t, http.StatusTooManyRequests, ask(handler, "GET", "/quick", "Authorization: g").Code, "the limit stands before authorization")
		close(b.release)
		assert.Equal(t, map[int]int{200: 1}, requests())
		assert.Equal(t, http.StatusForbidden, ask(handler, "GET", "/quick", "Authorization: g").Code)
		assert.Equal(t, http.StatusForbidden, ask(handler, "GET", "/quick", "Authorization: g").Code, "who is refused leaves")
	})
}

func TestARequestThatPanicsLeaves(t *testing.T) {
	t.Parallel()
	handler := chainOf(bear, server.Config{MaxReads: 1})
	assert.Equal(t, http.StatusInternalServerError, ask(handler, "GET", "/broken").Code)
	assert.Panics(t, func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/half", nil)) })
	assert.Equal(t, http.StatusOK, ask(handler, "GET", "/bear").Code)
}
