package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/webhook"
	"kube2014/pkg/webhook/webhooktest"
)

func answer(status string) string {
	return `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":` + status + `}`
}

const ann = `{"authenticated":true,"user":{"username":"ann","uid":"1","groups":["dev"],"extra":{"Scope":["a","b"]}}}`

// ask asks a real server that has one answer, by a new client.
func ask(t *testing.T, handler http.HandlerFunc) (*user.Info, bool, error) {
	client, err := webhook.New(webhooktest.Kubeconfig(t, webhooktest.Serve(t, handler), "token: 0urs3cret"))
	require.NoError(t, err)
	return New(client.Post, DefaultTTL).AuthenticateToken(t.Context(), "s3cret")
}

func TestAServerSaysWhoseATokenIs(t *testing.T) { // not parallel, for the log is everybody's
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	for _, row := range []struct {
		name, answer string
		user         *user.Info
		problem      string
	}{
		{"yes", answer(ann), &user.Info{Name: "ann", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"scope": {"a", "b"}}}, ""},
		{"yes, of a name only", answer(`{"authenticated":true,"user":{"username":"ann"}}`), &user.Info{Name: "ann"}, ""},
		{"no", answer(`{"authenticated":false}`), nil, ""},
		{"no, although it names a user", answer(`{"user":{"username":"ann"}}`), nil, ""},
		{"nothing", answer(`{}`), nil, ""},
		{"an error", answer(`{"error":"[s3cret is unknown]"}`), nil, "the authentication webhook says: [TOKEN is unknown]"},
		{"a long error", answer(`{"error":"` + strings.Repeat("ä", 1000) + `"}`), nil, strings.Repeat("ä", 200)},
		{"a user without a name", answer(`{"authenticated":true}`), nil, "the authentication webhook knows a user without a name"},
		{"another type", answer(`{"authenticated":"s3cret"}`), nil, "the answer is of another kind or version, or broken"},
		{"another kind", strings.ReplaceAll(answer(ann), "TokenReview", "s3cret"), nil, "the answer is of another kind or version, or broken"},
		{"another version", strings.ReplaceAll(answer(ann), "/v1", "/v1beta1"), nil, "the answer is of another kind or version, or broken"},
		{"rubbish", "s3cret", nil, "the answer is of another kind or version, or broken"},
		{"too much", answer(`"` + strings.Repeat("s3cret", 1<<20)), nil, "the answer has more than 1048576 bytes"},
	} {
		who, ok, err := ask(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			assert.JSONEq(t, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","metadata":{},"spec":{"token":"s3cret"},"status":{"user":{}}}`, string(body))
			fmt.Fprint(w, row.answer)
		})
		assert.Equal(t, row.user, who, row.name)
		assert.Equal(t, row.user != nil, ok, row.name)
		if row.problem == "" {
			assert.NoError(t, err, row.name)
			continue
		}
		assert.ErrorContains(t, err, row.problem, row.name)
		assert.NotContains(t, err.Error(), "s3cret", row.name)
		assert.Less(t, len(err.Error()), 1000, row.name)
	}
	assert.Empty(t, lines.String())
}

func TestAServerThatHangsIsLeftWithTheRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	client, err := webhook.New(webhooktest.Kubeconfig(t, server, ""))
	require.NoError(t, err)
	_, ok, err := New(client.Post, DefaultTTL).AuthenticateToken(ctx, "s3cret")
	assert.False(t, ok)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAServerThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	_, ok, err := New(func(context.Context, any, any) error { return away }, DefaultTTL).AuthenticateToken(t.Context(), "s3cret")
	assert.False(t, ok)
	assert.ErrorIs(t, err, away)
}

// counted answers with a status, and counts.
type counted struct {
	status string
	asked  int
}

func (c *counted) post(_ context.Context, _, into any) error {
	c.asked++
	return json.Unmarshal([]byte(answer(c.status)), into)
}

func TestAnAnswerCountsForItsTimeAndAnErrorDoesNot(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status string
		asked  int
	}{{ann, 2}, {`{}`, 2}, {`{"error":"x"}`, 6}, {`{"authenticated":true}`, 6}} {
		synctest.Test(t, func(t *testing.T) {
			server := &counted{status: row.status}
			a := New(server.post, time.Minute)
			for range 6 {
				_, ok, _ := a.AuthenticateToken(t.Context(), "s3cret")
				assert.Equal(t, row.status == ann, ok)
				time.Sleep(20 * time.Second)
			}
			assert.Equal(t, row.asked, server.asked, row.status)
			_, _, _ = a.AuthenticateToken(t.Context(), "other")
			assert.Equal(t, row.asked+1, server.asked)
			_, ok, err := a.AuthenticateToken(t.Context(), "")
			assert.False(t, ok || err != nil)
			assert.Equal(t, row.asked+1, server.asked, "nobody has no token")
		})
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(ann, "s3cret")
	f.Add(`{"error":"s3cret"}`, "s3cret")
	f.Add(`{"error":"a\u0000\ud800"}`, "a")
	f.Fuzz(func(t *testing.T, status, token string) {
		var told authenticationv1.TokenReviewStatus
		if json.Unmarshal([]byte(status), &told) != nil {
			return
		}
		who, ok, err := New((&counted{status: status}).post, 0).AuthenticateToken(t.Context(), token)
		assert.Equal(t, ok, who != nil)
		assert.False(t, ok && (err != nil || !told.Authenticated || who.Name == ""))
		if err != nil {
			assert.Less(t, len(err.Error()), 600)
		}
	})
}

func BenchmarkKnown(b *testing.B) {
	a := New((&counted{status: ann}).post, time.Hour)
	for b.Loop() {
		_, _, _ = a.AuthenticateToken(b.Context(), "s3cret")
	}
}
