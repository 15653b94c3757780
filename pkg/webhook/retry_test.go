package webhook

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kube2014/pkg/util/loopback"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// network is one in memory with a server of a webhook, where waits take no time.
type network struct {
	*Client
	handle http.HandlerFunc
	asked  atomic.Int32
	away   func() // closes the server
}

func inBubble(t *testing.T, test func(t *testing.T, n *network)) {
	synctest.Test(t, func(t *testing.T) {
		client, err := New(write(t, t.TempDir(), "config", config(`server: "http://a.b/?qu3ry"`, "token: t0ken")))
		require.NoError(t, err)
		pipes := loopback.Listen()
		n := &network{Client: client}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			n.asked.Add(1)
			n.handle(w, r)
		})}
		n.away = func() { server.Close() }
		go server.Serve(pipes)
		transport := client.http
		transport.DialContext = pipes.DialContext
		defer synctest.Wait()
		defer transport.CloseIdleConnections()
		defer n.away()
		test(t, n)
	})
}

// post posts, and returns how long that took.
func (n *network) post(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	err := n.Post(ctx, question(), &review{})
	return time.Since(start), err
}

func TestAServerThatCannotAnswerNowIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{429, 500, 503} {
		inBubble(t, func(t *testing.T, n *network) {
			n.handle = func(w http.ResponseWriter, _ *http.Request) {
				if n.asked.Load() < 3 {
					w.WriteHeader(code)
				}
				fmt.Fprint(w, yes)
			}
			took, err := n.post(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, 750*time.Millisecond, took)
			assert.EqualValues(t, 3, n.asked.Load())

			n.handle = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
			n.asked.Store(0)
			took, err = n.post(t.Context())
			assert.ErrorContains(t, err, fmt.Sprintf("it answered %d", code))
			assert.Equal(t, 1750*time.Millisecond, took)
			assert.EqualValues(t, 4, n.asked.Load())
		})
	}
}

func TestABrokenConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, n *network) {
		n.handle = func(w http.ResponseWriter, _ *http.Request) {
			switch n.asked.Load() {
			case 1:
				panic(http.ErrAbortHandler)
			case 2:
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, yes) // and no more
			default:
				fmt.Fprint(w, yes)
			}
		}
		_, err := n.post(t.Context())
		assert.NoError(t, err)
		assert.EqualValues(t, 3, n.asked.Load())
	})
}

func TestAServerThatIsAwayIsAnErrorSoon(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, n *network) {
		n.away()
		took, err := n.post(t.Context())
		assert.ErrorContains(t, err, "closed")
		assertSafe(t, err)
		assert.Equal(t, 1750*time.Millisecond, took)

		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		took, err = n.post(ctx)
		assert.ErrorContains(t, err, "closed", "the cause is told, not that there was no time for more")
		assert.Equal(t, 300*time.Millisecond, took)
	})
}

func TestAServerThatHangsTakesAsLongAsACallMay(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]http.HandlerFunc{
		"before the answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"in the answer": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, yes[:10])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		inBubble(t, func(t *testing.T, n *network) {
			n.handle = hang
			took, err := n.post(t.Context())
			assert.ErrorIs(t, err, context.DeadlineExceeded, name)
			assertSafe(t, err)
			assert.Equal(t, CallTimeout, took, name)

			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			took, err = n.post(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded, name)
			assert.Equal(t, time.Second, took, name)
			assert.EqualValues(t, 2, n.asked.Load(), "it is not asked again")
		})
	}
}

func TestAllCallsTogetherTakeFourSecondsAtMost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, n *network) {
		n.handle = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(CallTimeout - time.Millisecond)
			w.WriteHeader(503)
		}
		took, err := n.post(t.Context())
		assert.Error(t, err)
		assert.Equal(t, AnswerTimeout, took)
		time.Sleep(CallTimeout) // the server sees it no sooner
	})
}
