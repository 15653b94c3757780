package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

// review is one of nothing.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Text       string `json:"text"`
}

func question() *review { return &review{"v1", "Review", "s3cret"} }

const yes = `{"apiVersion":"v1","kind":"Review","text":"yes"}`

func TestAReviewIsPostedAndAnswered(t *testing.T) {
	t.Parallel()
	server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.Equal(t, "POST /?", r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery)
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
		assert.Equal(t, "Bearer t0ken", r.Header.Get("Authorization"))
		assert.Empty(t, r.TLS.PeerCertificates)
		assert.JSONEq(t, `{"apiVersion":"v1","kind":"Review","text":"s3cret"}`, string(body))
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, yes)
	})
	client, err := New(webhooktest.Kubeconfig(t, server, "token: t0ken"))
	require.NoError(t, err)
	for range 2 {
		var answer review
		require.NoError(t, client.Post(t.Context(), question(), &answer))
		assert.Equal(t, review{"v1", "Review", "yes"}, answer)
	}
}

func TestCallsOfAURLDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	const calls = maxCallsAtOnce + 8
	var all sync.WaitGroup
	all.Add(calls)
	server := webhooktest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		all.Done()
		all.Wait() // each until the last one is there
		fmt.Fprint(w, yes)
	})
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	client := NewAt(server.URL, authorities)
	var asked sync.WaitGroup
	for range calls {
		asked.Go(func() {
			assert.NoError(t, client.PostOnce(t.Context(), time.Minute, 1<<20, question(), &review{}))
		})
	}
	asked.Wait()
}

func TestAServerMayWantACertificate(t *testing.T) {
	t.Parallel()
	authority := certtest.Authority(t, "ca")
	server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "us", r.TLS.PeerCertificates[0].Subject.CommonName)
		fmt.Fprint(w, yes)
	}, func(server *httptest.Server) {
		server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authority.Pool()}
	})
	certificate, key := authority.Client(t, "us", nil).Files(t)
	client, err := New(webhooktest.Kubeconfig(t, server, fmt.Sprintf("client-certificate: %s, client-key: %s", certificate, key)))
	require.NoError(t, err)
	assert.NoError(t, client.Post(t.Context(), question(), &review{}))
}

func TestAServerThatIsNotTheOneIsNotAsked(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := webhooktest.Serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	other, _ := certtest.Authority(t, "other").Files(t)
	for _, cluster := range []string{"certificate-authority: " + other, "tls-server-name: a.b"} {
		file := write(t, t.TempDir(), "config", config("server: "+server.URL+", "+cluster, "token: t0ken"))
		client, err := New(file)
		require.NoError(t, err)
		err = client.Post(t.Context(), question(), &review{})
		var distrusted *tls.CertificateVerificationError
		assert.ErrorAs(t, err, &distrusted)
		assertSafe(t, err)
	}
	assert.Zero(t, asked.Load())

	file := write(t, t.TempDir(), "config", config("server: "+server.URL+", insecure-skip-tls-verify: true", ""))
	client, err := New(file)
	require.NoError(t, err)
	assert.ErrorIs(t, client.Post(t.Context(), question(), &review{}), errUnwanted, "if any one will do, it is asked")
	assert.EqualValues(t, 1, asked.Load())
}

// assertSafe checks that an error has no secret of these tests.
func assertSafe(t *testing.T, err error) {
	for _, secret := range []string{"s3cret", "t0ken", "answ3r", "qu3ry"} {
		assert.NotContains(t, err.Error(), secret)
	}
}

func TestAnAnswerThatIsNoneIsAnErrorWithoutIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, answer string
		code         int
		problem      string
	}{
		{"no JSON", "answ3r", 200, errUnwanted.Error()},
		{"nothing", "", 200, errUnwanted.Error()},
		{"null", "null", 200, errUnwanted.Error()},
		{"another kind", strings.ReplaceAll(yes, "Review", "answ3r"), 200, errUnwanted.Error()},
		{"another version", strings.ReplaceAll(yes, "v1", "v2"), 200, errUnwanted.Error()},
		{"other letters", strings.ReplaceAll(yes, "kind", "Kind"), 200, errUnwanted.Error()},
		{"another type", strings.ReplaceAll(yes, `"yes"`, `["answ3r"]`), 200, errUnwanted.Error()},
		{"more behind it", yes + "answ3r", 200, errUnwanted.Error()},
		{"too much", strings.ReplaceAll(yes, "yes", strings.Repeat("answ3r", 1<<20)), 200, "the answer has more than 1048576 bytes"},
		{"refused", "answ3r", 401, "it answered 401"},
		{"another place", "answ3r", 307, "it answered 307"},
	} {
		var asked atomic.Int32
		server := webhooktest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", "https://%zz/answ3r")
			w.WriteHeader(row.code)
			fmt.Fprint(w, row.answer)
		})
		file := webhooktest.Kubeconfig(t, server, "token: t0ken")
		client, err := New(file)
		require.NoError(t, err)
		err = client.Post(t.Context(), question(), &review{})
		if assert.EqualError(t, err, "the webhook of "+file+": "+row.problem, row.name) {
			assertSafe(t, err)
		}
		assert.EqualValues(t, 1, asked.Load(), "%s: nor is it asked again, or another one", row.name)
	}
}

func TestAHangEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := webhooktest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	client, err := New(webhooktest.Kubeconfig(t, server, "token: t0ken"))
	require.NoError(t, err)
	err = client.Post(ctx, question(), &review{})
	assert.ErrorIs(t, err, context.Canceled)
	assertSafe(t, err)
}

func TestWhatCannotBeEncodedIsNotSent(t *testing.T) {
	t.Parallel()
	client, err := New(write(t, t.TempDir(), "config", config(`server: "http://a.b"`, "")))
	require.NoError(t, err)
	assert.EqualError(t, client.Post(t.Context(), func() {}, &review{}), "the review cannot be encoded")
}

func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{yes, "", "null", "[]", `{"apiVersion":"v1","kind":"Review","text":{}}`, strings.Repeat(`{"a":`, 20000)} {
		f.Add(seed)
	}
	asked := []byte(`{"apiVersion":"v1","kind":"Review","text":"s3cret"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var answer review
		if err := decode([]byte(text), asked, &answer); err != nil {
			assert.Equal(t, errUnwanted, err)
		} else {
			assert.Equal(t, "v1 Review", answer.APIVersion+" "+answer.Kind)
		}
	})
}
