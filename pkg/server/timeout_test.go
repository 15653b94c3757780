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

	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

// waiting is an API whose answers come when their requests end, or a toy is released.
func waiting(released <-chan struct{}) toys {
	return toys{"/toy": func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Toy", "bear")
		select {
		case <-released:
		case <-req.Context().Done():
			<-released
		}
		_, err := io.WriteString(w, "too late")
		if err != nil {
			panic("a toy was not wanted any more: " + err.Error())
		}
	}}
}

// What takes too long is told so in time, whether or not it notices. A get that waits for
// nobody may take any time (K46).
func TestARequestThatTakesTooLongIsA504(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		target   string
		getsWait bool
		status   int
		took     time.Duration
	}{
		"a get that may wait":     {"/toy", true, 504, time.Minute},
		"a get that waits for no": {"/toy", false, 200, time.Hour},
		"a client in a hurry":     {"/toy?timeout=3s", true, 504, 3 * time.Second},
		"more than there may be":  {"/toy?timeout=2h", true, 504, time.Minute},
		"a time of nothing":       {"/toy?timeout=0", true, 504, time.Minute},
		"what is no time":         {"/toy?timeout=abc", true, 400, 0},
		"a watch":                 {"/toy?watch", true, 200, time.Hour},
		"what keeps its own time": {"/toy?keeps", true, 200, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				released, start := make(chan struct{}), time.Now()
				time.AfterFunc(time.Hour, func() { close(released) })
				answer := ask(chainOf(waiting(released), server.Config{GetsWait: row.getsWait}), "GET", row.target)
				assert.Equal(t, row.status, answer.Code)
				assert.Equal(t, row.took, time.Since(start))
				if row.status == 504 {
					assert.Equal(t, "request did not complete within the allotted timeout", answer.Body.String())
					assert.Empty(t, answer.Header().Get("X-Toy"), "nothing of the other answer is in it")
					<-released
					synctest.Wait()
					assert.Equal(t, 504, answer.Code)
				}
			})
		})
	}
}

// deadlines counts what reaches a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set, flushed int
}

func (d *deadlines) SetReadDeadline(time.Time) error  { d.set++; return nil }
func (d *deadlines) SetWriteDeadline(time.Time) error { d.set++; return nil }
func (d *deadlines) FlushError() error                { d.flushed++; return nil }

func TestAConnectionIsLeftAloneWhenTheTimeOfItsRequestIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, over := false, make(chan struct{})
		slow := toys{"/toy": func(w http.ResponseWriter, req *http.Request) {
			control := http.NewResponseController(w)
			assert.NoError(t, control.SetReadDeadline(time.Now()))
			assert.NoError(t, control.SetWriteDeadline(time.Now()))
			req.Header.Set("X-Toy", "bear")
			<-over
			assert.ErrorIs(t, control.SetReadDeadline(time.Now()), http.ErrHandlerTimeout)
			assert.ErrorIs(t, control.SetWriteDeadline(time.Now()), http.ErrHandlerTimeout)
			assert.ErrorIs(t, control.Flush(), http.ErrHandlerTimeout)
			ended = true
		}}
		connection, req := &deadlines{ResponseRecorder: httptest.NewRecorder()}, httptest.NewRequest("PUT", "/toy", strings.NewReader("x"))
		chainOf(slow, server.Config{}).ServeHTTP(connection, req)
		assert.Equal(t, 504, connection.Code)
		assert.Equal(t, 3, connection.set, "one is the chain's")
		assert.Empty(t, req.Header, "who answers 504 may read them at the same time")
		close(over)
		synctest.Wait()
		assert.True(t, ended)
		assert.Equal(t, 3, connection.set)
		assert.Zero(t, connection.flushed)
	})
}

func TestD50TheAnswerToAChangeOfJune2014IsNotLostAfterTenSeconds(t *testing.T) {
	t.Parallel()
	for method, set := range map[string]int{"POST": 1, "PUT": 1, "DELETE": 1, "GET": 0} {
		connection := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		chainOf(bear, server.Config{}).ServeHTTP(connection, httptest.NewRequest(method, "/bear?keeps=1", nil))
		assert.Equal(t, set, connection.set, method)
	}
}

func TestAFlushBeginsTheAnswer(t *testing.T) {
	t.Parallel()
	streamed := toys{"/toy": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Toy", "bear")
		assert.NoError(t, http.NewResponseController(w).Flush())
	}}
	connection := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	chainOf(streamed, server.Config{}).ServeHTTP(connection, httptest.NewRequest("PUT", "/toy", nil))
	assert.Equal(t, "bear", connection.Result().Header.Get("X-Toy"))
	assert.Equal(t, 1, connection.flushed)
}

func TestWhoCutsTheConnectionOffIsNoPanic(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		logged := logOf(func() {
			assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
				ask(chainOf(toys{"/toy": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }}, server.Config{}), method, "/toy")
			})
		})
		assert.NotContains(t, logged, "panic in")
	}
}

func TestAnInformationalAnswerIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	hints := toys{"/toy": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		http.Error(w, "a teapot", http.StatusTeapot)
	}}
	answer := ask(chainOf(hints, server.Config{}), "PUT", "/toy")
	assert.Equal(t, []any{418, "a teapot\n"}, []any{answer.Code, answer.Body.String()})
}

func TestAnAnswerThatHasBegunIsCutOffWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := toys{"/toy": func(w http.ResponseWriter, req *http.Request) {
			_, err := io.WriteString(w, "half")
			require.NoError(t, err)
			<-req.Context().Done()
			synctest.Wait() // the end has been told
			_, err = io.WriteString(w, " a toy")
			assert.ErrorIs(t, err, http.ErrHandlerTimeout)
		}}
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(chainOf(slow, server.Config{}), "PUT", "/toy") })
	})
}

// failing is toys whose failures tell of their request.
type failing struct {
	toys
	failed func(req *http.Request)
}

func (f failing) Fail(w http.ResponseWriter, req *http.Request, err error) {
	f.failed(req)
	f.toys.Fail(w, req, err)
}

func TestTheAnswerOfATimeoutUsesNothingThatTheHandlerMayChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var handled, failed *request.Record
		slow := failing{toys{"/toy": func(_ http.ResponseWriter, req *http.Request) {
			handled = request.RecordOf(req.Context())
			<-req.Context().Done()
		}}, func(req *http.Request) { failed = request.RecordOf(req.Context()) }}
		config := server.Config{Chain: &server.Delegate{Server: slow}, GetsWait: true, RequestTimeout: time.Minute}
		assert.Equal(t, http.StatusGatewayTimeout, ask(config.Complete().New().InsecureHandler(), "GET", "/toy").Code)
		synctest.Wait()
		assert.NotSame(t, handled, failed)
	})
}
