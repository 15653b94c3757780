// Package endpoints is the second door: it serves the resources of a catalog over HTTP, as
// today's server does. It knows no resource by name.
package endpoints

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/endpoints/responsewriters"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// Config is what servers of today's API share.
type Config struct {
	// MaxWatches bounds how many watches are served at once: each holds a connection, and
	// about 50 KB.
	MaxWatches int64
	// MinWatchTime is the minimum duration of a watch without a timeout of the client; the maximum
	// is twice that.
	MinWatchTime time.Duration
	// WriteTimeout bounds how long a write waits for the client of a watch.
	WriteTimeout time.Duration
	// WatchEvents returns a function that is called with the size of each event of a watch, in
	// bytes. It may be nil.
	WatchEvents func(group, version, resource string) func(size int)
	// Admission decides about changes. If it is nil, all are admitted.
	Admission *admission.Chain
	// Hides reports whether a path belongs to the older API. It may be nil.
	Hides func(path string) bool
	// Now returns the time.
	Now func() time.Time

	watches watches
}

// NewConfig returns a configuration with the usual limits.
func NewConfig(now func() time.Time) *Config {
	c := &Config{MaxWatches: 50000, MinWatchTime: 30 * time.Minute, WriteTimeout: 10 * time.Second, Now: now}
	c.watches.serving, c.watches.endAll = context.WithCancel(context.Background())
	return c
}

// Server serves the resources of a catalog, and other paths. It is safe for concurrent use.
type Server struct {
	*Config
	Catalog *rest.Catalog
	// All has the catalogs of all servers of today's API. It is set in the last one of them only, which also
	// answers requests that none of them serves, and lists the known names.
	All rest.Catalogs
	// Incomplete reports whether resources may still be missing in the catalogs. It may be nil.
	Incomplete func() bool
	// Documents returns the handler of a path of discovery, nil for any other path. It may be nil.
	Documents func(path string) http.Handler

	others map[string]http.Handler // by path
	below  map[string]http.Handler // by prefix
}

// New returns a server of a catalog. The configuration is not changed after the first request.
func New(config *Config, catalog *rest.Catalog) *Server {
	return &Server{Config: config, Catalog: catalog, others: map[string]http.Handler{}, below: map[string]http.Handler{}}
}

// Handle lets a handler serve GET and HEAD of a path. Call it before the first request.
func (s *Server) Handle(path string, handler http.Handler) { s.others[path] = handler }

// HandlePrefix lets a handler serve GET and HEAD of all paths with a prefix. Call it before the first request.
func (s *Server) HandlePrefix(prefix string, handler http.Handler) { s.below[prefix] = handler }

// Serves implements request.Server.
func (s *Server) Serves(req *http.Request, record *request.Record) bool {
	path := req.URL.Path
	if s.Hides != nil && s.Hides(path) {
		return false
	}
	if path == healthzPath { // without details it is the first door's
		if query := req.URL.Query(); !query.Has("verbose") && !query.Has("exclude") {
			return false
		}
	}
	switch today := isToday(path); {
	case today && record.Today(req).IsResource:
		if resource := s.find(&record.Info); resource != nil {
			record.Row, record.Info.IsServed = resource, true
		}
		return record.Row != nil || s.All != nil
	case s.other(path) != nil, today && s.All != nil:
		record.Today(req)
		return true
	}
	return false
}

const healthzPath = "/healthz"

// isToday reports whether a path can only be one of today's API.
func isToday(path string) bool {
	return strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") || path == "/api" || path == "/apis"
}

// other returns the handler of a path that is no resource's, nil for none.
func (s *Server) other(path string) http.Handler {
	if handler := s.others[path]; handler != nil {
		return handler
	}
	for prefix, handler := range s.below {
		if strings.HasPrefix(path, prefix) {
			return handler
		}
	}
	if s.Documents != nil {
		return s.Documents(path)
	}
	return nil
}

// ServeHTTP answers a request whose record Serves has completed.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	record := request.RecordOf(req.Context())
	resource, _ := record.Row.(*rest.Resource)
	r := &call{responsewriters.Response{Request: req, W: w, Resource: resource, Now: s.Now}, &record.Info, s}
	if resource == nil {
		incomplete := s.Incomplete != nil && s.Incomplete()
		if handler := s.other(req.URL.Path); handler != nil {
			getOnly(handler).ServeHTTP(w, req)
		} else {
			r.Error(s.notFound(req.Method, r.info, incomplete))
		}
		return
	}
	if resource.Warning != "" {
		r.Warn(resource.Warning)
	}
	if err := r.serve(); err != nil {
		r.Error(err)
	}
}

// Fail implements request.Server.
func (s *Server) Fail(w http.ResponseWriter, req *http.Request, err error) {
	(&responsewriters.Response{Request: req, W: w}).Error(rest.StatusError(forbidden(err), schema.GroupResource{}, ""))
}

// forbidden returns the status for an error that is that of an authorizer, and any other error as it is.
func forbidden(err error) error {
	var denied *authorizer.Denied
	if !errors.As(err, &denied) {
		return err
	}
	a := denied.Attributes
	return apierrors.NewForbidden(schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}, a.Name, denied)
}

// find returns the resource that a request names, nil if there is none.
func (s *Server) find(info *request.RequestInfo) *rest.Resource {
	name := info.Resource
	if info.Subresource != "" {
		name += "/" + info.Subresource
	}
	resource := s.Catalog.Snapshot().Find(schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, name)
	switch {
	case resource == nil:
	case info.Verb == "watch" && info.Subresource != "", !resource.Namespaced && info.Namespace != "", resource.Namespaced && info.Namespace == "" && info.Name != "":
		return nil
	}
	return resource
}

// getOnly answers 405 to every method but GET and HEAD.
func getOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			(&responsewriters.Response{Request: req, W: w}).Error(notAllowed())
			return
		}
		next.ServeHTTP(w, req)
	})
}
