package core_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// fakeKubelets answer with what they were asked, or with an error.
type fakeKubelets struct{ err error }

func (f fakeKubelets) ContainerLogs(_ context.Context, host string, port uint, namespace, pod, container string, query url.Values) (io.ReadCloser, error) {
	if f.err != nil {
		return nil, f.err
	}
	asked := strings.Join([]string{host, namespace, pod, container, query.Encode()}, " ")
	return io.NopCloser(strings.NewReader(asked)), nil
}

func (fakeKubelets) At(host string, port uint) (*url.URL, http.RoundTripper) {
	return &url.URL{Scheme: "https", Host: net.JoinHostPort(host, strconv.Itoa(int(port)))}, nil
}

type refusal int

func (r refusal) Error() string { return "container \"a\" is waiting to start" }
func (r refusal) Code() int     { return int(r) }

// logOf asks for a log of pods on a node with a kubelet: one has a container, two has two and an
// init container, none has no node.
func logOf(t *testing.T, kubelets connect.Kubelets, path string) (status int, text string) {
	store := memory.New(1)
	server := endpointstest.Handler(endpointstest.NewServer(time.Now, core.Resources(core.Config{Objects: unread{store}, Placer: stored{store}, Now: time.Now, Kubelets: kubelets})...))
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, req)
		return w
	}
	for _, made := range [][3]string{
		{http.MethodPost, "/api/v1/nodes", `{"metadata":{"name":"m1"}}`},
		{http.MethodPatch, "/api/v1/nodes/m1/status", `{"status":{"addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":7}}}}`},
		{http.MethodPost, "/api/v1/nodes", `{"metadata":{"name":"silent"}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"one"},"spec":{"nodeName":"m1","containers":[{"name":"a","image":"i"}]}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"two"},"spec":{"nodeName":"m1","initContainers":[{"name":"i","image":"i"}],"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"none"},"spec":{"containers":[{"name":"a","image":"i"}]}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"unheard"},"spec":{"nodeName":"silent","containers":[{"name":"a","image":"i"}]}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"away"},"spec":{"nodeName":"unread","containers":[{"name":"a","image":"i"}]}}`},
		{http.MethodPost, "/api/v1/namespaces/default/pods", `{"metadata":{"name":"lost"},"spec":{"nodeName":"gone","containers":[{"name":"a","image":"i"}]}}`},
	} {
		answer := ask(made[0], made[1], made[2])
		require.Less(t, answer.Code, 300, answer.Body.String())
	}
	answer := ask(http.MethodGet, "/api/v1/namespaces/default/pods/"+path, "")
	return answer.Code, answer.Body.String()
}

// unread is a store that fails to read one node.
type unread struct{ storage.Interface }

func (u unread) Get(key api.Key) (*storage.Object, error) {
	if key == api.DefaultKey(api.NodeKind, "unread") {
		return nil, api.NewUnavailable("reading a node", errors.New("the store is away"))
	}
	return u.Interface.Get(key)
}

type stored struct{ objects storage.Interface }

func (s stored) Create(task *api.Task) (*storage.Object, error) {
	written, err := s.objects.Commit(storage.Create(task))
	if err != nil {
		return nil, err
	}
	return written[0], nil
}

func TestALogComesFromTheKubeletOfThePod(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"one/log": "10.0.0.1 default one a ",
		"one/log?container=a&follow=true&tailLines=5&pretty=1": "10.0.0.1 default one a follow=true&tailLines=5",
		"two/log?container=b&previous=true":                    "10.0.0.1 default two b previous=true",
		"two/log?container=i&limitBytes=1":                     "10.0.0.1 default two i limitBytes=1",
	} {
		status, text := logOf(t, fakeKubelets{}, path)
		assert.Equal(t, http.StatusOK, status, path)
		assert.Equal(t, want, text, path)
	}
}

func TestASwitchOfALogIsOnUnlessItIsZeroOrFalse(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"follow=x":                       "follow=true",
		"follow=":                        "follow=true",
		"follow":                         "follow=true",
		"follow=1&previous=no":           "follow=true&previous=true",
		"timestamps=00":                  "timestamps=true",
		"timestamps=f":                   "timestamps=true",
		"follow=0":                       "",
		"follow=FALSE&previous=False":    "",
		"follow=false&timestamps=TRUE":   "timestamps=true",
		"follow=false&follow=true":       "", // the first one counts
		"follow=yes&follow=0&tailLines=": "follow=true&tailLines=",
	} {
		status, text := logOf(t, fakeKubelets{}, "one/log?"+query)
		assert.Equal(t, http.StatusOK, status, query)
		assert.Equal(t, "10.0.0.1 default one a "+want, text, query)
	}
}

func TestALogThatThereIsNotIsToldWhy(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		path   string
		err    error
		status int
		text   string
	}{
		{"two/log", nil, 400, "a container name must be specified for pod two, choose one of: [i a b]"},
		{"one/log?container=x", nil, 400, "container x is not valid for pod one"},
		{"unheard/log", nil, 400, "no kubelet has started it"},
		{"lost/log", nil, 404, `pods \"gone\" not found`},
		{"away/log", nil, 503, "reading a node: the store cannot be reached"},
		{"x/log", nil, 404, `pods \"x\" not found`},
		{"one/log?tailLines=-1", nil, 422, "tailLines: Invalid value: -1: must be greater than or equal to 0"},
		{"one/log?limitBytes=0", nil, 422, "limitBytes: Invalid value: 0: must be greater than 0"},
		{"one/log?sinceSeconds=x", nil, 422, "sinceSeconds: Invalid value"},
		{"one/log?sinceTime=x", nil, 422, "sinceTime: Invalid value"},
		{"one/log?sinceTime=2014-06-06T12:00:00Z&sinceSeconds=1", nil, 422, "at most one of `sinceTime` or `sinceSeconds` may be specified"},
		{"one/log", refusal(400), 400, `container \"a\" is waiting to start`},
		{"one/log", refusal(404), 404, ""},
		{"one/log", errors.New("the kubelet at 10.0.0.1:7 does not answer"), 503, "the kubelet at 10.0.0.1:7 does not answer"},
	} {
		status, text := logOf(t, fakeKubelets{row.err}, row.path)
		assert.Equal(t, row.status, status, row.path)
		assert.Contains(t, text, row.text, row.path)
		assert.Contains(t, text, `"kind":"Status"`, row.path)
	}
}
