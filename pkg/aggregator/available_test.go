package aggregator_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	. "kube2014/pkg/master/endpointstest"
)

func answering(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://elsewhere.example.com/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// K104: today's server is content with any answer of success.
func TestAServerThatDoesNotListItsResourcesIsUnavailable(t *testing.T) {
	t.Parallel()
	for why, row := range map[string]struct {
		handler http.HandlerFunc
		host    string
		tells   string
	}{
		"it is broken":             {answering(500, ""), "", "bad status from"},
		"it redirects":             {answering(302, ""), "", ": 302"},
		"it sends rubbish":         {answering(200, "rubbish"), "", "the document is not the expected JSON"},
		"it sends nothing":         {answering(204, ""), "", "the document is not the expected JSON"},
		"it never ends":            {func(w http.ResponseWriter, _ *http.Request) { endless(w) }, "", "the document has more than 1048576 bytes"},
		"it is of another group":   {answering(200, `{"groupVersion":"other.com/v1"}`), "", `it lists the resources of "other.com/v1"`},
		"it lists nothing, often":  {answering(200, `{"groupVersion":"example.com/v1","resources":[{},{}]}`), "", "it lists a resource without a name"},
		"it has countless parts":   {answering(200, `{"groupVersion":"example.com/v1","resources":[{"name":"a"}`+strings.Repeat(`,{}`, 100_001)+`]}`), "", "the document has more than 100000 objects"},
		"it repeats itself":        {answering(200, `{"groupVersion":"`+strings.Repeat("a", 1<<19)+`"}`), "", "it lists the resources of"},
		"it has the wrong name":    {list, "other.default.svc", "x509: certificate is valid for other.default.svc, not api.default.svc"},
		"it hangs":                 {func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, "", "context deadline exceeded"},
		"it closes the connection": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", "failing or missing response from https://"},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if why == "it hangs" {
				timeout = time.Second / 10
			}
			f := openWaiting(t, timeout)
			var hosts []string
			if row.host != "" {
				hosts = []string{row.host}
			}
			f.serve(f.other(row.handler, hosts...))
			condition := f.register("")
			assert.Equal(t, apiregistrationv1.ConditionFalse, condition.Status)
			assert.Equal(t, "FailedDiscoveryCheck", condition.Reason)
			assert.Contains(t, condition.Message, row.tells)
			assert.Less(t, len(condition.Message), 1100)
			for _, path := range []string{"/apis/example.com/v1", "/apis/example.com/v1/things", "/openapi/v3/apis/example.com/v1"} {
				status, body, _ := f.get(path)
				assert.Equal(t, []any{503, "service unavailable\n"}, []any{status, body}, path)
			}
			status, _, _ := f.get("/api/v1/pods")
			assert.Equal(t, 200, status, "another group is served")
		})
	}
}

func endless(w http.ResponseWriter) {
	for {
		if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
			return
		}
	}
}

func TestARequestForTheListIsNotGivenUpWhenAnotherIsAnswered(t *testing.T) {
	t.Parallel()
	f := open(t)
	var asked atomic.Int32
	registered, givenUp := make(chan struct{}), make(chan bool, 16)
	server := f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/apis/example.com/v1" && asked.Add(1) > 1 {
			begin := time.Now()
			select {
			case <-registered:
				givenUp <- false
			case <-req.Context().Done():
				givenUp <- time.Since(begin) < time.Minute/2 // after a minute, it may be
			}
		}
		serve(w, req)
	}))
	f.serve(server)
	subset := fmt.Sprintf(`{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":%d}]}`, server.Listener.Addr().(*net.TCPAddr).Port)
	assert.Equal(t, 200, f.Patch(Endpoints+"/api", MergePatch, `{"subsets":[`+subset+`,`+subset+`]}`).Status, "two addresses")
	assert.Equal(t, apiregistrationv1.ConditionTrue, f.register("").Status)
	close(registered)
	assert.False(t, <-givenUp, "the server would log an error")
}
