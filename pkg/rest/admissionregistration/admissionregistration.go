// Package admissionregistration has the webhooks and the policies of admission as objects. Packages admission/plugin/webhook and
// admission/plugin/policy obey them.
package admissionregistration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// Resources returns the table of the group. Only readers may make objects the parameters of policies; nil means everybody.
func Resources(b generic.Base, readers *Readers) []rest.Resource {
	b.Objects = readBack{b.Objects}
	var ofPolicy, ofMutating, ofValidating permission
	mutatingPolicies, validatingPolicies := build(b, mutatingPolicy), build(b, validatingPolicy)
	if readers != nil {
		ofPolicy = readers.ofPolicy
		ofMutating, ofValidating = readers.ofBinding(mutatingPolicies), readers.ofBinding(validatingPolicies)
	}
	return slices.Concat(mutatingPolicies.guarded(ofPolicy), build(b, mutatingBinding).guarded(ofMutating), build(b, mutating).rows,
		validatingPolicies.guarded(ofPolicy), build(b, validatingBinding).guarded(ofValidating), build(b, validating).rows)
}

func row(kind, name string, printer printers.Printer) rest.Resource {
	return rest.ClusterScoped(admissionregistrationv1.SchemeGroupVersion, kind, name, printer).In("api-extensions")
}

// static is the end of names that today's server keeps for objects in files.
const static = ".static.k8s.io"

// built is the storage of a kind with its rows.
type built[T rest.Object] struct {
	*generic.Store[T]
	rows []rest.Resource
}

// build builds a kind that warns of the names of objects in files.
func build[T rest.Object](b generic.Base, kind generic.Kind[T]) built[T] {
	store, rows := kind.Build(b)
	store.Strategy.Warnings = func(object, _ T) []string {
		if !strings.HasSuffix(object.GetName(), static) {
			return nil
		}
		return []string{fmt.Sprintf("metadata.name: names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", static)}
	}
	return built[T]{store, rows}
}

// guarded returns the rows. Clients write the objects, but for their status, only with the permission, unless it is nil.
func (b built[T]) guarded(permission permission) []rest.Resource {
	if permission != nil {
		b.rows[0].Storage = guarded[T]{b.Store, b.rows[0], permission}
	}
	return b.rows
}

// readBack is a store that reads after each change, so that the cache of this process has it, which the plugins obey: the
// next request obeys the change.
type readBack struct{ storage.Interface }

var _ storage.Clock = readBack{}

// Commit implements storage.Interface.
func (r readBack) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := r.Interface.Commit(changes...)
	if err == nil {
		_, _ = r.Version() // if that fails, the change is obeyed when the cache has it
	}
	return written, err
}

// Now implements storage.Clock.
func (r readBack) Now() time.Time { return storage.ClockOf(r.Interface)() }
