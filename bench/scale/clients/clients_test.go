package clients

import (
	"context"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/bench/measure"
	"kube2014/pkg/master/servertest"
)

func TestAllClientsStayInStepThoughAServerIsGone(t *testing.T) {
	t.Parallel()
	door := servertest.Start(t)
	stays, goes := httptest.NewServer(door), httptest.NewServer(door)
	t.Cleanup(stays.Close)
	address := func(s *httptest.Server) measure.Server {
		return measure.Server{Address: strings.TrimPrefix(s.URL, "http://")}
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := New(Size{Nodes: 4, Pods: 10 * connections}, nil, address(stays), address(goes))
	t.Cleanup(l.Wait)
	t.Cleanup(cancel)
	require.NoError(t, l.FillNodes())
	require.NoError(t, l.Follow(ctx, 1))
	require.NoError(t, l.FillPods())
	require.NoError(t, l.Follow(ctx, 1))
	require.NoError(t, l.StartNodes(ctx))
	l.speed.Store(math.Float64bits(20))
	require.NoError(t, l.Check(ctx))

	until := func(done func() bool) {
		for ok := false; !ok; ok = done() {
			_, err := l.Run(ctx, 100*time.Millisecond)
			require.NoError(t, err)
		}
	}
	times := map[string]Summary{}
	until(func() bool {
		times = l.Times.Take()
		return times["DELETE of a pod"].Count > 0
	})
	for _, kind := range []string{"POST of a pod", "POST of a binding", "GET of a pod"} {
		assert.NotZero(t, times[kind].Count, kind)
	}
	goes.CloseClientConnections()
	goes.Listener.Close()
	until(func() bool { return l.Failures.Take()["watch: ended"] > 0 })
	require.NoError(t, l.Check(ctx), "each informer knows all, each kubelet its pods")
}

func TestTimesAreSummedUpByKind(t *testing.T) {
	t.Parallel()
	var times Times
	for i := range 200 {
		times.add("GET", time.Duration(200-i))
	}
	times.add("PUT", 1)
	assert.Equal(t, map[string]Summary{"GET": {200, 101, 199, 200}, "PUT": {1, 1, 1, 1}}, times.Take())
	assert.Empty(t, times.Take())
}

func TestWhatDiffersIsTold(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(servertest.Start(t))
	t.Cleanup(server.Close)
	l := New(Size{Nodes: 1, Pods: 2}, nil, measure.Server{Address: strings.TrimPrefix(server.URL, "http://")})
	require.NoError(t, l.FillNodes())
	assert.EqualError(t, l.differs(), "of 0 pods, kubelets know 0; 2 are to be")
	require.NoError(t, l.FillPods())
	assert.NoError(t, l.differs())
	l.informers = []*informer{l.newInformer(0)}
	assert.ErrorContains(t, l.differs(), "informer 0 knows 0 objects at /api")
}
