package standin_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/standin"
)

func TestItAnswersWhetherItIsWellAndNothingElse(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/health":         `{"health":"true","reason":"","storage":"none"}` + "\n",
		"/v2/keys/":       "nothing is behind this etcd: kube2014 keeps its objects in memory\n",
		"/v3/kv/range":    "nothing is behind this etcd: kube2014 keeps its objects in memory\n",
		"/health/of/what": "nothing is behind this etcd: kube2014 keeps its objects in memory\n",
	} {
		answer := httptest.NewRecorder()
		standin.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, want, answer.Body.String(), path)
	}
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAServerKnowsItFromARealOne(t *testing.T) {
	t.Parallel()
	standIn := serve(t, standin.Handler().ServeHTTP)
	says := func(text string) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	assert.True(t, standin.Answers(t.Context(), []string{standIn}))
	assert.True(t, standin.Answers(t.Context(), []string{standIn + "/"}))
	for what, members := range map[string][]string{
		"none":              nil,
		"an etcd":           {says(`{"health":"true","reason":""}`)},
		"no JSON":           {says(`ok`)},
		"a long answer":     {says(`{"health":"` + string(make([]byte, 1<<16)))},
		"two members":       {standIn, standIn},
		"one that is away":  {closed.URL},
		"one of TLS":        {"https" + standIn[len("http"):]},
		"a URL that is bad": {"http://%zz"},
	} {
		assert.False(t, standin.Answers(t.Context(), members), what)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	assert.False(t, standin.Answers(ended, []string{standIn}))
}

func TestItListensAtEachURLOrAtNone(t *testing.T) {
	t.Parallel()
	listeners, err := standin.Listen("http://127.0.0.1:0,http://localhost:0")
	require.NoError(t, err)
	require.Len(t, listeners, 2)
	taken := listeners[0].Addr().String()
	for urls, says := range map[string]string{
		"http://127.0.0.1:0,http://" + taken: "--listen-client-urls: cannot listen on " + taken + ": address already in use",
		"https://127.0.0.1:0":                `--listen-client-urls: "https://127.0.0.1:0" is not a URL like http://127.0.0.1:2379`,
		"127.0.0.1:2379":                     `--listen-client-urls: "127.0.0.1:2379" is not a URL like http://127.0.0.1:2379`,
		"http://127.0.0.1:0,":                `--listen-client-urls: "" is not a URL like http://127.0.0.1:2379`,
	} {
		_, err := standin.Listen(urls)
		assert.EqualError(t, err, says)
	}
	for _, listener := range listeners {
		require.NoError(t, listener.Close())
	}
}
