// Package aggregator is the outermost of the servers of today's API. An APIService that names a service sends the requests for a version of a
// group to another server, as their user. All servers show what they serve as one API.
package aggregator

import (
	"context"
	"crypto/tls"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/endpoints/proxy"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/server/request"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/services"
	"kube2014/pkg/util/workqueue"
)

// Config is what a Server needs.
type Config struct {
	// Endpoints serves the APIServices, and the paths that all servers share.
	Endpoints *endpoints.Server
	Services  *apiregistration.Services
	Catalogs  rest.Catalogs // of all servers of today's API in this process
	Reader    services.Reader
	Resolve   services.Resolver
	// SlicesKind, ServicesKind and EndpointsKind are the stored kinds that are followed.
	SlicesKind, ServicesKind, EndpointsKind api.Kind
	// Certificate returns what this server shows to others, by which they trust the names of users. Nil: it shows nothing.
	Certificate func() (*tls.Certificate, error)
	// Timeout bounds how long another server may take to say what it serves.
	Timeout time.Duration
	// Serving ends when this server is about to end. Requests to others that have no time limit end then.
	Serving context.Context
	// Around is put around the work on one APIService, for a trace. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// Server is the aggregator. It serves nothing of other servers until Run has read the APIServices. It is safe for concurrent use.
type Server struct {
	*endpoints.Server
	Config

	queue       *workqueue.Queue // names of APIServices whose servers are looked at
	followed    context.Context  // ends when all APIServices have been read
	setFollowed context.CancelFunc

	mu      sync.Mutex // held by writers of the snapshot
	current atomic.Pointer[snapshot]
}

// snapshot has the versions of other servers at one moment. It does not change.
type snapshot struct {
	byName map[string]*remoteAPI // by the name of the APIService
	byPath map[schema.GroupVersion]*remoteAPI
}

// New returns a server that knows no other server yet.
func New(config Config) *Server {
	s := &Server{Server: config.Endpoints, Config: config, queue: workqueue.New("aggregator")}
	s.followed, s.setFollowed = context.WithCancel(context.Background())
	s.current.Store(&snapshot{})
	s.installDocuments()
	return s
}

// snapshot returns the versions that other servers serve now.
func (s *Server) snapshot() *snapshot { return s.current.Load() }

// Followed reports whether all APIServices have been read.
func (s *Server) Followed() bool { return s.followed.Err() != nil }

// Serves implements request.Server.
func (s *Server) Serves(req *http.Request, record *request.Record) bool {
	if v := s.find(req.URL.Path); v != nil {
		info := record.Today(req)
		info.IsServed, info.GetMayBlock, info.NoTimeout = true, true, info.NoTimeout || proxy.IsUpgrade(req)
		record.Row = v
		return true
	}
	return s.Server.Serves(req, record)
}

// ServeHTTP answers a request whose record Serves has completed.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if v, isRemote := request.RecordOf(req.Context()).Row.(*remoteAPI); isRemote {
		s.proxyTo(w, req, v)
		return
	}
	s.Server.ServeHTTP(w, req)
}

// find returns the version of another server that a path belongs to, nil for none.
func (s *Server) find(path string) *remoteAPI {
	snapshot := s.snapshot()
	if len(snapshot.byPath) == 0 || s.Hides != nil && s.Hides(path) {
		return nil
	}
	described, isDescription := strings.CutPrefix(path, "/openapi/v3/")
	if isDescription {
		path = "/" + strings.TrimSuffix(described, "/")
	}
	parts := strings.SplitN(path, "/", 5) // the first one is empty
	switch {
	case len(parts) < 2 || parts[0] != "":
		return nil
	case isDescription && (parts[1] != "apis" || len(parts) != 4): // what is below is nobody's
		return nil
	case parts[1] == "api":
		return snapshot.byPath[schema.GroupVersion{Version: "v1"}]
	case parts[1] == "apis" && len(parts) > 3:
		return snapshot.byPath[schema.GroupVersion{Group: parts[2], Version: parts[3]}]
	}
	return nil
}

// workers is how many servers are looked at at once: those that hang do not delay the others, unless they are as many.
const workers = 64

// Run follows the APIServices and what is behind them, and looks at their servers, until the context ends.
func (s *Server) Run(ctx context.Context) {
	go storage.Follow(ctx, s.Services.Objects, apiregistration.Kind, s.applyAPIServices)
	for _, kind := range []api.Kind{s.ServicesKind, s.SlicesKind, s.EndpointsKind} {
		go storage.Follow(ctx, s.Services.Objects, kind, s.recheckServices)
	}
	s.queue.Run(ctx, workers, workqueue.Sync(s.syncAvailability).Inside(s.Around))
}

// applyAPIServices takes over APIServices: all of them, or those that have changed.
func (s *Server) applyAPIServices(changed []storage.Event, _ uint64, isAll bool) {
	var looks []func()
	s.changeSnapshot(func(byName map[string]*remoteAPI) {
		if isAll {
			for name := range byName {
				if !slices.ContainsFunc(changed, func(change storage.Event) bool { return change.Key().ID == name }) {
					dropAPI(byName, name)
				}
			}
		}
		for _, change := range changed {
			name := change.Key().ID
			pause, err := s.readAPIService(byName, name, change.After)
			looks = append(looks, func() { s.queue.AddAfter(name, pause) })
			if err != nil {
				log.Printf("the APIService %s cannot be read: %s", name, api.Printable(err.Error(), ' '))
			}
		}
	})
	for _, look := range looks { // in the new snapshot
		look()
	}
	s.setFollowed()
}

// changeSnapshot publishes a new snapshot.
func (s *Server) changeSnapshot(change func(byName map[string]*remoteAPI)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.snapshot()
	next := &snapshot{byName: maps.Clone(now.byName), byPath: map[schema.GroupVersion]*remoteAPI{}}
	if next.byName == nil {
		next.byName = map[string]*remoteAPI{}
	}
	if change(next.byName); maps.Equal(next.byName, now.byName) {
		return
	}
	for _, v := range next.byName {
		if v.spec.Group != apiregistrationv1.GroupName { // which only this server serves
			next.byPath[v.groupVersion()] = v
		}
	}
	s.current.Store(next)
}

func dropAPI(byName map[string]*remoteAPI, name string) {
	if v := byName[name]; v != nil && v.remote != nil {
		v.remote.close()
	}
	delete(byName, name)
}

// readAPIService takes over one APIService, nil for a deleted one. A server goes on as before unless its spec has changed. It returns the time until the
// server is looked at.
func (s *Server) readAPIService(byName map[string]*remoteAPI, name string, object *storage.Object) (pause time.Duration, err error) {
	var service *apiregistrationv1.APIService
	if object != nil {
		if service, err = s.Services.Decoded(object); err != nil {
			return 0, err
		}
		apiregistrationv1.SetObjectDefaults_APIService(service)
	}
	before := byName[name]
	if service == nil || service.Spec.Service == nil {
		dropAPI(byName, name)
		return 0, nil
	}
	next := &remoteAPI{uid: service.UID, spec: service.Spec, stored: helper.GetAPIServiceConditionByType(service, apiregistrationv1.Available)}
	next.isAvailable = next.stored != nil && next.stored.Status == apiregistrationv1.ConditionTrue
	if before != nil && before.uid == next.uid && equality.Semantic.DeepEqual(before.spec, next.spec) {
		next.remote, next.broken, next.found = before.remote, before.broken, before.found
		if !equality.Semantic.DeepEqual(before.stored, next.stored) { // two servers must not answer each other without a pause
			pause = maxPause
		}
	} else {
		dropAPI(byName, name)
		next.remote, next.broken = newRemote(service.Spec, &s.Config)
		if before != nil {
			next.found.resources = before.found.resources
		}
	}
	byName[name] = next
	return pause, nil
}

// recheckServices looks again at the servers behind services that have changed, or whose slices have.
func (s *Server) recheckServices(changed []storage.Event, _ uint64, isAll bool) {
	of := map[types.NamespacedName]bool{}
	for _, change := range changed {
		for _, object := range []*storage.Object{change.Before, change.After} {
			switch {
			case object == nil:
			case object.Key().Kind == s.SlicesKind:
				of[types.NamespacedName{Namespace: object.Key().Namespace, Name: object.GetLabels()[discoveryv1.LabelServiceName]}] = true
			default:
				of[types.NamespacedName{Namespace: object.Key().Namespace, Name: object.Key().ID}] = true
			}
		}
	}
	for name, v := range s.snapshot().byName {
		if isAll || of[types.NamespacedName{Namespace: v.spec.Service.Namespace, Name: v.spec.Service.Name}] {
			s.queue.Add(name)
		}
	}
}
