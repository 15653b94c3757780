package trace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/apiserver"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
)

func TestTheWorkOfAPartIsNarratedAroundItsRequests(t *testing.T) {
	t.Parallel()
	s := makeTraced(nil)
	s.now = func() time.Time { return time.Unix(0, 0) }
	answered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1"}`)
	})
	server := httptest.NewServer(filters.WithRequestInfo(s.Handler(answered), []request.Server{apiserver.New(nil, "/")}))
	defer server.Close()
	c := &clientv1.Client{Host: server.URL, UserAgent: "kube2014-scheduler", HTTP: &http.Client{Transport: s.RoundTripper(http.DefaultTransport)}}
	sync := s.Work("Scheduler")(func(ctx context.Context, key string) error {
		for range 2 {
			_, err := c.Pods().Get(ctx, key)
			require.NoError(t, err)
		}
		return errors.New("not now")
	})
	require.EqualError(t, sync(t.Context(), "web"), "not now")
	assert.Equal(t, `         Scheduler.sync("web")
      0s GET /api/v1/namespaces/default/pods/web by scheduler to ApiServer.ServeHTTP → 200 OK, 32 bytes of application/json
      0s GET /api/v1/namespaces/default/pods/web by scheduler to ApiServer.ServeHTTP → 200 OK, 32 bytes of application/json
      0s Scheduler.sync("web") → error: not now
`, s.told.String())

	s.told.Reset()
	require.NoError(t, s.Work("Scheduler")(func(context.Context, string) error { return nil })(t.Context(), "web"))
	assert.Empty(t, s.told.String(), "work that asks nothing is not told")
}
