package measure

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer answers GET /large, /missing and /stream, in chunks, and says of others what it
// was sent.
func answer(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/large": // too large for a Content-Length
		_, _ = w.Write(bytes.Repeat([]byte("0123456789"), 1000))
	case "/missing":
		http.Error(w, "it is not here", http.StatusNotFound)
	case "/stream":
		_, _ = io.WriteString(w, "one\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "two\n")
	default:
		body, _ := io.ReadAll(req.Body)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, req.Method+" "+req.Header.Get("Accept")+" "+string(body))
	}
}

func TestTheClientReadsWhatServersSend(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(answer))
		start := server.Start
		if secure {
			start = server.StartTLS
		}
		start()
		t.Cleanup(server.Close)
		s := Server{Address: server.Listener.Addr().String(), TLS: secure}
		c, err := s.Dial()
		require.NoError(t, err)
		for range 2 { // the connection is at the next answer each time
			for _, keep := range []bool{true, false} {
				body, err := c.Do(Request("GET", "/large", nil), keep)
				require.NoError(t, err)
				assert.Len(t, body, map[bool]int{true: 10000}[keep])
			}
			_, err = c.Do(Request("GET", "/missing", nil), false)
			assert.Equal(t, StatusError("404 Not Found: it is not here\n"), err)
			body, err := c.Do(Request("POST", "/", []byte("hi"), "Accept: a/b", "Content-Type: c/d"), true)
			require.NoError(t, err)
			assert.Equal(t, "POST a/b hi", string(body))
		}
		_, err = c.Stream(Request("GET", "/missing", nil))
		assert.ErrorContains(t, err, "no stream, but 404 Not Found: it is not here")
		stream, err := c.Stream(Request("GET", "/stream", nil))
		require.NoError(t, err)
		lines := bufio.NewReader(stream)
		for _, want := range []string{"one\n", "two\n"} {
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			assert.Equal(t, want, line)
		}
		require.NoError(t, c.Close())
	}
}

func TestAllRequestsAreSentOnce(t *testing.T) {
	t.Parallel()
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { got <- req.URL.Path }))
	t.Cleanup(server.Close)
	s := Server{Address: server.Listener.Addr().String()}
	_, err := s.SendAll(4, 100, func(i int) []byte { return Request("GET", "/"+strings.Repeat("x", i), nil) })
	require.NoError(t, err)
	seen := map[string]bool{}
	for range 100 {
		seen[<-got] = true
	}
	assert.Len(t, seen, 100)
}
