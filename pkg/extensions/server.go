// Package extensions makes kinds of CustomResourceDefinitions while the server runs: it follows the definitions in the store,
// and installs the resources of each in the catalog of the extension server. Its controllers accept names, establish
// definitions, and delete the objects of deleted ones.
package extensions

import (
	"context"
	"log"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiextensions"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/workqueue"
)

// Config has the dependencies of a server.
type Config struct {
	Base    rest.Base // of the objects
	Catalog *rest.Catalog
	// Others have the resources of the other servers, whose names cannot be taken.
	Others rest.Catalogs
	// NewConverter returns the converter between the versions of a definition.
	NewConverter func(*apiextensionsv1.CustomResourceDefinition) (customresource.Converter, error)
}

// Server follows the definitions. It is safe for concurrent use.
type Server struct {
	Config
	definitions apiextensions.Definitions

	names, establishing, finalizing *workqueue.Queue
	followed                        context.Context // ends when the resources of all definitions have been installed once
	setFollowed                     context.CancelFunc

	free *time.Timer // gives memory back to the system, some time after the last change

	mu      sync.Mutex // guards what follows
	known   map[string]*definition
	version uint64        // up to which changes have been followed
	moved   chan struct{} // closed when the version increases
}

// definition is a definition as the server knows it. It is read-only.
type definition struct {
	crd     *apiextensionsv1.CustomResourceDefinition // without its schemas, with the names that it has in fact
	named   bool                                      // the stored names are those that it wants
	serving *customresource.Definition
	rows    []rest.Resource // in the catalog; none if its names are not accepted
	version uint64
}

// New returns a server that follows nothing yet.
func New(config Config) *Server {
	s := &Server{Config: config, known: map[string]*definition{}, moved: make(chan struct{}),
		names: workqueue.New("naming"), establishing: workqueue.New("establishing"), finalizing: workqueue.New("finalizing")}
	s.followed, s.setFollowed = context.WithCancel(context.Background())
	s.free = time.AfterFunc(time.Hour, debug.FreeOSMemory)
	s.free.Stop()
	base := config.Base
	base.Objects = followed{base.Objects, s}
	s.definitions = apiextensions.NewDefinitions(base)
	return s
}

// Rows returns the rows of the definitions themselves.
func (s *Server) Rows() []rest.Resource { return s.definitions.Rows() }

// Follow installs the resources of all definitions, and then follows each change, until the context ends.
func (s *Server) Follow(ctx context.Context) {
	storage.Follow(ctx, s.Base.Objects, apiextensions.Kind, func(changed []storage.Event, version uint64, isAll bool) {
		current := map[string]*storage.Object{}
		if isAll {
			for name := range s.snapshot() {
				current[name] = nil // unless it is there
			}
		}
		for _, change := range changed {
			current[change.Key().ID] = change.After
		}
		s.apply(current, version)
		s.setFollowed()
	})
}

// freeDelay is the time from the last change of a definition until memory is given back to the system: to decode and check a
// large definition takes 40 MB for a moment, which the runtime would keep.
const freeDelay = 2 * time.Second

// snapshot returns the known definitions by name.
func (s *Server) snapshot() map[string]*definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.known)
}

func (s *Server) find(name string) *definition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[name]
}

// apply installs definitions, and removes those that are nil. Only Follow calls it.
func (s *Server) apply(changed map[string]*storage.Object, version uint64) {
	var removed, installed []rest.Resource
	known := s.snapshot()
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		before := known[name]
		after, err := s.read(changed[name], before, known)
		if err != nil {
			log.Printf("the definition %s is not served: %v", name, err)
		}
		if before != nil && (after == nil || after.serving != before.serving) {
			removed = append(removed, before.rows...)
		}
		if after == nil {
			delete(known, name)
			continue
		}
		if before == nil || after.serving != before.serving {
			installed = append(installed, after.rows...)
		}
		known[name] = after
	}
	s.Catalog.Replace(removed, installed)
	s.free.Reset(freeDelay)
	s.mu.Lock()
	s.known, s.version = known, max(s.version, version)
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	for name, object := range changed {
		for _, queue := range []*workqueue.Queue{s.names, s.establishing, s.finalizing} {
			queue.Add(name)
		}
		if object == nil {
			s.reconsider(name)
		}
	}
}

// read returns a stored definition, nil for none. It goes on serving as before if nothing that matters for that has changed.
// Names that are free are served at once: they are written later.
func (s *Server) read(object *storage.Object, before *definition, known map[string]*definition) (*definition, error) {
	if object == nil {
		return nil, nil
	}
	crd, err := s.decode(object)
	if err != nil {
		return nil, err
	}
	d := &definition{crd: crd, version: object.Version(), named: equality.Semantic.DeepEqual(crd.Spec.Names, crd.Status.AcceptedNames)}
	if !d.named {
		s.takenNames(crd, known).accept(crd)
	}
	again := func() (*apiextensionsv1.CustomResourceDefinition, error) { return s.decode(object) }
	if before != nil && servesAlike(before.crd, crd) {
		d.serving, d.rows = before.serving, before.rows
	} else {
		converter, err := s.NewConverter(crd)
		if err != nil {
			converter = customresource.Broken(err) // only other versions than the stored one cannot be served
		}
		d.serving = customresource.New(crd, again, converter, s.guarded(crd))
		if isServed(crd) {
			d.rows = d.serving.Rows()
		}
	}
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil
	}
	return d, nil
}

// decode returns a stored definition. It is the caller's, but for the labels and annotations.
func (s *Server) decode(object *storage.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	return s.definitions.Whole.Decoded(object)
}

// servesAlike reports whether the resources of two versions of a definition are the same.
func servesAlike(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	return a.UID == b.UID && a.Generation == b.Generation && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		isServed(a) == isServed(b) && equality.Semantic.DeepEqual(a.Status.AcceptedNames, b.Status.AcceptedNames)
}

// isServed reports whether the resources of a definition are served. They are before it is established: who sees that it is
// can use them.
func isServed(crd *apiextensionsv1.CustomResourceDefinition) bool {
	names := crd.Status.AcceptedNames
	return names.Plural != "" && names.Kind != "" && names.ListKind != "" && names.Singular != "" &&
		(apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established))
}

// WaitUntilFollowed waits until the resources of all definitions are installed. The error is that of the context.
func (s *Server) WaitUntilFollowed(ctx context.Context) error {
	select {
	case <-s.followed.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Followed reports whether the resources of all definitions have been installed.
func (s *Server) Followed() bool { return s.followed.Err() != nil }
