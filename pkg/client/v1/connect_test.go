package v1

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/util/loopback"
)

func TestAClientConnectsAsItsKubeconfigSays(t *testing.T) {
	t.Parallel()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		seen = append(seen, req.Header.Get("Authorization")+" "+req.UserAgent()+" "+req.URL.Path)
		fmt.Fprint(w, aPod)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte("current-context: c\ncontexts: [{name: c, context: {cluster: s, user: u}}]\n"+
		"clusters: [{name: s, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: t0ken}}]\n"), 0o600))

	c, err := Connect(server.URL, file, "scheduler")
	require.NoError(t, err)
	_, err = c.Pods().Get(t.Context(), "x")
	require.NoError(t, err)
	assert.Equal(t, []string{"Bearer t0ken scheduler /api/v1/namespaces/default/pods/x"}, seen)

	c, err = Connect("", file, "scheduler")
	require.NoError(t, err)
	assert.Equal(t, "http://127.0.0.1:1", c.Host)
	_, err = Connect("", file+"-none", "scheduler")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestTheAddressOfAServerIsAURL(t *testing.T) {
	t.Parallel()
	for _, master := range []string{"", "127.0.0.1:8080", "ftp://a", "http://", "http://ann:s3cret@a", "http://a?x", "http://a#x", "http://%zz"} {
		_, err := Connect(master, "", "")
		assert.ErrorIs(t, err, ErrMaster, master)
	}
	for _, master := range []string{"http://127.0.0.1:8080", "https://a.b/prefix/"} {
		c, err := Connect(master, "", "")
		require.NoError(t, err)
		assert.Equal(t, master, c.Host)
	}
}

func TestAClientNeedsNoSocket(t *testing.T) {
	t.Parallel()
	listener := loopback.Listen()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, aPod) })}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	defer server.Close()
	pod, err := Over(listener.DialContext, "").Pods().Get(t.Context(), "x")
	require.NoError(t, err)
	assert.Equal(t, "x", pod.Name)
}

func TestAClientOfAnotherNamespaceIsAnother(t *testing.T) {
	t.Parallel()
	c, requests := serve(t, answer{200, aPod}, answer{200, aPod}, page(""))
	_, err := c.In("other").Pods().Get(t.Context(), "x")
	require.NoError(t, err)
	_, err = c.Pods().Get(t.Context(), "x")
	require.NoError(t, err)
	for range c.Pods().Everywhere().All(t.Context(), metav1.ListOptions{}) {
		assert.Fail(t, "there are none")
	}
	var lines []string
	for _, request := range *requests {
		lines = append(lines, request.line)
	}
	assert.Equal(t, []string{"GET /api/v1/namespaces/other/pods/x", "GET /api/v1/namespaces/default/pods/x", "GET /api/v1/pods?limit=500"}, lines)
}
