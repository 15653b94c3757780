package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/util/pems"
	"kube2014/pkg/webhook/webhooktest"
)

func TestAServerThatIsAskedOnceIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{200, 307, 429, 500, 503} {
		var asked atomic.Int32
		server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			assert.Equal(t, "/a?timeout=1m", r.URL.RequestURI())
			assert.Empty(t, r.Header.Get("Authorization"))
			w.Header().Set("Location", "/answ3r")
			w.WriteHeader(code)
			fmt.Fprint(w, yes)
		})
		pool, err := pems.Pool("ca", webhooktest.CA(server))
		require.NoError(t, err)
		var answer review
		err = NewAt(server.URL+"/a?timeout=1m", pool).PostOnce(t.Context(), time.Minute, 1<<20, question(), &answer)
		if code == 200 {
			require.NoError(t, err)
			assert.Equal(t, "yes", answer.Text)
		} else {
			assert.Equal(t, Answered(code), err)
			assert.EqualError(t, err, fmt.Sprintf("it answered %d", code))
		}
		assert.EqualValues(t, 1, asked.Load())
	}
}

func TestOneCallTakesAsLongAsItMay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, n *network) {
		n.handle = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		for _, timeout := range []time.Duration{time.Second, 30 * time.Second} {
			start := time.Now()
			err := n.PostOnce(t.Context(), timeout, 100, question(), &review{})
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assertSafe(t, err)
			assert.Equal(t, timeout, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		assert.ErrorIs(t, n.PostOnce(ctx, time.Minute, 100, question(), &review{}), context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestTheAnswerOfOneCallIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, n *network) {
		answer := strings.Replace(yes, "yes", strings.Repeat("answ3r", 100), 1)
		n.handle = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }
		assert.NoError(t, n.PostOnce(t.Context(), time.Minute, int64(len(answer)), question(), &review{}))
		err := n.PostOnce(t.Context(), time.Minute, int64(len(answer)-1), question(), &review{})
		assert.EqualError(t, err, fmt.Sprintf("the answer has more than %d bytes", len(answer)-1))
		assert.Equal(t, errUnwanted, n.PostOnce(t.Context(), time.Minute, 1000, &review{"v1", "Other", ""}, &review{}))
		assert.Equal(t, errUnencoded, n.PostOnce(t.Context(), time.Minute, 1000, func() {}, &review{}))
	})
}

func TestAServerOfAnotherAuthorityIsNotAskedOnce(t *testing.T) {
	t.Parallel()
	server := webhooktest.Serve(t, func(http.ResponseWriter, *http.Request) { t.Error("it is asked") })
	client := NewAt(server.URL+"/?qu3ry", certtest.Authority(t, "other").Pool())
	err := client.PostOnce(t.Context(), time.Minute, 100, question(), &review{})
	assert.EqualError(t, err, "tls: failed to verify certificate: x509: certificate signed by unknown authority")
}
