package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/version"

	"kube2014/pkg/metrics"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

func toyMetrics() *metrics.Metrics {
	m := metrics.New(version.Info{})
	return m
}

// measured returns the lines of the metrics whose names begin so, as "VERB CODE NUMBER" for what
// was answered.
func measured(m *metrics.Metrics, begin string) (lines []string) {
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, begin) && !strings.Contains(line, "_bucket{") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// answered returns a line of apiserver_request_total, for a toy.
func answered(verb, code, number string) string {
	return `apiserver_request_total{code="` + code + `",component="apiserver",dry_run="",group="",resource="toys",scope="resource",subresource="",verb="` + verb + `",version="v1"} ` + number
}

// K68.
func TestEachRequestCountsOnceWhateverBecomesOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, ended := toyMetrics(), 0
		a := toys{"/bear": bear["/bear"], "/broken": bear["/broken"], "/slow": func(_ http.ResponseWriter, req *http.Request) {
			<-req.Context().Done()
			ended++
		}}
		handler := chainOf(a, server.Config{Metrics: m, GetsWait: true, MaxChanges: 1, RequestTimeout: time.Minute,
			Auth: server.Auth{Authenticator: byName, Authorizer: rules{"ann get toys bear", "ann get toys broken", "ann create toys slow", "ann get toys nope"}}})
		for _, wanted := range []struct {
			method, path, who string
			status            int
		}{
			{"GET", "/bear", "ann", 200}, {"GET", "/bear", "ann", 200}, {"GET", "/nope", "ann", 404},
			{"GET", "/bear", "wrong", 401}, {"GET", "/bear", "bob", 403}, {"GET", "/broken", "ann", 500},
		} {
			assert.Equal(t, wanted.status, ask(handler, wanted.method, wanted.path, "Authorization: "+wanted.who).Code)
		}
		slow := make(chan int)
		go func() { slow <- ask(handler, "POST", "/slow", "Authorization: ann").Code }()
		synctest.Wait()
		assert.Equal(t, 429, ask(handler, "POST", "/slow", "Authorization: ann").Code)
		assert.Equal(t, 504, <-slow)
		synctest.Wait()
		assert.Equal(t, 1, ended, "the goroutine of the 504 has ended")
		assert.ElementsMatch(t, []string{answered("GET", "200", "2"), answered("GET", "404", "1"), answered("GET", "401", "1"), answered("GET", "403", "1"),
			answered("GET", "500", "1"), answered("POST", "429", "1"), answered("POST", "504", "1")}, measured(m, "apiserver_request_total"))
		assert.Equal(t, []string{
			`apiserver_request_terminations_total{code="429",component="apiserver",group="",resource="toys",scope="resource",subresource="",verb="POST",version="v1"} 1`,
			`apiserver_request_terminations_total{code="504",component="apiserver",group="",resource="toys",scope="resource",subresource="",verb="POST",version="v1"} 1`,
		}, measured(m, "apiserver_request_terminations"))
		assert.Contains(t, measured(m, "apiserver_request_duration_seconds_sum"),
			`apiserver_request_duration_seconds_sum{component="apiserver",dry_run="",group="",resource="toys",scope="resource",subresource="",verb="POST",version="v1"} 60`)
	})
}

func TestAnAnswerThatBreaksOffCountsWithItsStatusAndSize(t *testing.T) {
	t.Parallel()
	m := toyMetrics()
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(chainOf(bear, server.Config{Metrics: m}), "GET", "/half") })
	assert.Equal(t, []string{answered("GET", "200", "1")}, measured(m, "apiserver_request_total"))
	assert.Equal(t, []string{`apiserver_response_sizes_sum{component="apiserver",group="",resource="toys",scope="resource",subresource="",verb="GET",version="v1"} 8`},
		measured(m, "apiserver_response_sizes_sum"))
}

func TestAWatchCountsAsLongAsItIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, end := toyMetrics(), make(chan struct{})
		handler := chainOf(toys{"/bear": func(w http.ResponseWriter, _ *http.Request) {
			<-end
			_, _ = io.WriteString(w, "an event")
		}}, server.Config{Metrics: m})
		go ask(handler, "GET", "/bear?watch")
		synctest.Wait()
		const line = `apiserver_longrunning_requests{component="apiserver",group="",resource="toys",scope="resource",subresource="",verb="WATCH",version="v1"} `
		assert.Equal(t, []string{line + "1"}, measured(m, "apiserver_longrunning"))
		assert.Empty(t, measured(m, "apiserver_request_total"))
		close(end)
		synctest.Wait()
		assert.Equal(t, []string{line + "0"}, measured(m, "apiserver_longrunning"))
		assert.Equal(t, []string{answered("WATCH", "200", "1")}, measured(m, "apiserver_request_total"))
	})
}

func TestMetricsAreServedAtTheirPath(t *testing.T) {
	t.Parallel()
	mux := paths{}
	config := server.Config{Chain: &server.Delegate{Server: bear}, Mux: mux, Metrics: toyMetrics()}
	config.Complete().New().PrepareRun()
	require.Contains(t, mux, "/metrics")
	code, text := mux.get("/metrics")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "kubernetes_build_info")
	mux = paths{}
	config = server.Config{Chain: &server.Delegate{Server: bear}, Mux: mux}
	config.Complete().New().PrepareRun()
	assert.NotContains(t, mux, "/metrics", "who has none serves none")
}

// counting is an API that counts how often it says what is asked for.
type counting struct {
	toys
	asked *int
}

func (c counting) Serves(req *http.Request, record *request.Record) bool {
	*c.asked++
	return c.toys.Serves(req, record)
}

func TestWhatIsAskedForIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	for name, auth := range map[string]server.Auth{"insecure": {}, "secure": {Authenticator: byName, Authorizer: rules{"ann get toys bear", "ann create toys bear"}}} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				asked := 0
				config := server.Config{Chain: &server.Delegate{Server: counting{bear, &asked}}, Metrics: toyMetrics(), RequestTimeout: time.Minute, Auth: auth}
				s := config.Complete().New()
				handler := s.InsecureHandler()
				if name == "secure" {
					handler = s.SecureHandler()
				}
				assert.Equal(t, http.StatusOK, ask(handler, method, "/bear", "Authorization: ann").Code)
				assert.Equal(t, 1, asked)
			})
		}
	}
}
