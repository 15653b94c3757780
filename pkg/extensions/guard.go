package extensions

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiextensions"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/storage"
)

// guarded returns the base of the objects of a definition: a new object is only stored if the definition has not changed
// since it was read, so that none is left over when the definition is gone. Another one of the same name may have another scope.
func (s *Server) guarded(crd *apiextensionsv1.CustomResourceDefinition) rest.Base {
	base := s.Base
	base.Objects = guard{base.Objects, api.Key{Kind: apiextensions.Kind, ID: crd.Name}, crd.UID, s}
	return base
}

// guard is a store of the objects of a definition. It is safe for concurrent use.
type guard struct {
	storage.Interface
	definition api.Key
	uid        types.UID
	server     *Server
}

var _ storage.Clock = guard{}

// Now implements storage.Clock.
func (g guard) Now() time.Time { return storage.ClockOf(g.Interface)() }

// Commit implements storage.Interface. If the definition has changed since it was read, it is read again.
func (g guard) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	creates := slices.ContainsFunc(changes, func(c storage.Change) bool { return c.Action == storage.Write && c.Expected == storage.Absent })
	return storage.CommitChecked(g.Interface, changes, func(fresh bool) ([]storage.Change, error) {
		if !creates {
			return nil, nil
		}
		return g.check(fresh)
	})
}

// check returns the change that requires the definition as the server knows it, or as it is in the store.
func (g guard) check(fresh bool) ([]storage.Change, error) {
	if d := g.server.find(g.definition.ID); d != nil && !fresh && g.mayHaveObjects(d.crd) {
		return []storage.Change{{Key: g.definition, Expected: d.version, Action: storage.Check}}, nil
	}
	resource := schema.ParseGroupResource(g.definition.ID)
	stored, err := g.Get(g.definition)
	if err != nil {
		return nil, rest.StatusError(err, resource, "")
	}
	crd, err := g.server.decode(stored)
	if err != nil {
		return nil, err
	}
	if !g.mayHaveObjects(crd) {
		return nil, customresource.Terminating(resource, "")
	}
	return []storage.Change{{Key: g.definition, Expected: stored.Version(), Action: storage.Check}}, nil
}

func (g guard) mayHaveObjects(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return crd.UID == g.uid && crd.DeletionTimestamp == nil
}
