package extensions

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiextensions"
	"kube2014/pkg/rest/customresource"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// guarded returns the base of the objects of a definition: a new object is only stored if the definition has not changed
// since it was read, so that none is left over when the definition is gone.
func (s *Server) guarded(name string) generic.Base {
	base := s.Base
	base.Objects = guard{base.Objects, api.Key{Kind: apiextensions.Kind, ID: name}, s}
	return base
}

// guard is a store of the objects of a definition. It is safe for concurrent use.
type guard struct {
	storage.Interface
	definition api.Key
	server     *Server
}

var _ storage.Clock = guard{}

// Now implements storage.Clock.
func (g guard) Now() time.Time { return storage.ClockOf(g.Interface)() }

// Commit implements storage.Interface. If the definition has changed since it was read, it is read again.
func (g guard) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	if !slices.ContainsFunc(changes, func(c storage.Change) bool { return c.Action == storage.Write && c.Expected == storage.Absent }) {
		return g.Interface.Commit(changes...)
	}
	checked, err := g.known()
	if err != nil {
		checked, err = g.fresh()
	}
	for err == nil {
		written, failed := g.Interface.Commit(append(slices.Clone(changes), checked)...)
		if kind := api.KindOf(failed); kind != api.Conflict && kind != api.NotFound {
			return written[:min(len(written), len(changes))], failed
		}
		before := checked
		if checked, err = g.fresh(); err == nil && checked == before { // another change is the cause
			return nil, failed
		}
	}
	return nil, err
}

// known returns the change that requires the definition as the server knows it.
func (g guard) known() (storage.Change, error) {
	if d := g.server.find(g.definition.ID); d != nil {
		return g.check(d.crd, d.version)
	}
	return storage.Change{}, apierrors.NewNotFound(schema.ParseGroupResource(g.definition.ID), "")
}

// fresh returns the change that requires the definition as it is in the store.
func (g guard) fresh() (storage.Change, error) {
	stored, err := g.Get(g.definition)
	if err != nil {
		return storage.Change{}, rest.StatusError(err, schema.ParseGroupResource(g.definition.ID), "")
	}
	crd, err := g.server.decode(stored)
	if err != nil {
		return storage.Change{}, err
	}
	return g.check(crd, stored.Version())
}

func (g guard) check(crd *apiextensionsv1.CustomResourceDefinition, version uint64) (storage.Change, error) {
	if crd.DeletionTimestamp != nil {
		return storage.Change{}, customresource.Terminating(schema.ParseGroupResource(crd.Name), "")
	}
	return storage.Change{Key: g.definition, Expected: version, Action: storage.Check}, nil
}
