// Package servertest serves the second door in memory to clients in the same test. It works in a
// synctest bubble.
package servertest

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/registry"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/admissionregistration"
	"kube2014/pkg/rest/apps"
	"kube2014/pkg/rest/batch"
	"kube2014/pkg/rest/coordination"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/discovery"
	"kube2014/pkg/rest/rbac"
	"kube2014/pkg/rest/volumes"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage/memory"
	"kube2014/pkg/util/loopback"
)

// Server is a second door over a store in memory. It places no pods, and syncs no endpoints.
type Server struct {
	Objects *memory.Store
	// Resources returns the resources whose objects can be listed and deleted.
	Resources func() []metav1.APIResource

	door http.Handler

	mu      sync.Mutex // guards what follows
	between func(w http.ResponseWriter, req *http.Request, next http.Handler)
	network *loopback.Listener
	server  *http.Server
}

// Start returns a server that ends with the test.
func Start(t testing.TB) *Server {
	store := memory.New(1)
	s := &Server{Objects: store}
	catalog := &rest.Catalog{}
	all := rest.Catalogs{catalog}
	objects := core.NewLifecycle(store, all)
	catalog.Install(core.Resources(core.Config{Objects: objects, Placer: registry.MakePodPlacer(objects, nil), Now: time.Now})...)
	base := rest.Base{Objects: objects, Now: time.Now}
	catalog.Install(slices.Concat(apps.Resources(base), batch.Resources(base), coordination.Resources(base), discovery.Resources(base), volumes.Resources(base),
		admissionregistration.Resources(base, nil))...)
	catalog.Install(rbac.Resources(objects, time.Now, nil)...)
	door := endpoints.New(endpoints.NewConfig(time.Now), catalog)
	door.All, s.Resources = all, rest.Derived(rest.Deletable, all)
	s.door = filters.WithRequestInfo(http.HandlerFunc(filters.Serve), []request.Server{door})
	s.Restart()
	t.Cleanup(s.Stop)
	return s
}

// Client returns a client of the server with a user agent. Its connections end with the test.
func (s *Server) Client(t testing.TB, userAgent string) *clientv1.Client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return s.listener().Dial(ctx)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &clientv1.Client{Host: "http://loopback", HTTP: &http.Client{Transport: transport}, UserAgent: userAgent}
}

// Run runs a client of the server, such as a controller, until the function that it returns is called, or the test ends.
// stop returns when the client has ended.
func Run(t testing.TB, run func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func (s *Server) listener() *loopback.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network
}

// Intercept passes each request to a function first, which calls next or answers itself. Nil
// removes it.
func (s *Server) Intercept(between func(w http.ResponseWriter, req *http.Request, next http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = between
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	between := s.between
	s.mu.Unlock()
	if between != nil {
		between(w, req, s.door)
		return
	}
	s.door.ServeHTTP(w, req)
}

// Stop cuts all connections, and takes no more.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.server.Close() // it cannot fail: there is no file behind
}

// Restart takes connections after a Stop. The objects are still there.
func (s *Server) Restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = loopback.Listen()
	s.server = &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	go func(server *http.Server, network *loopback.Listener) { _ = server.Serve(network) }(s.server, s.network) // it ends with Stop
}
