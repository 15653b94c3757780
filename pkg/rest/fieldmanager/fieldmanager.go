// Package fieldmanager knows which manager owns which fields of an object, and merges what managers apply. The rules are
// those of apimachinery.
package fieldmanager

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/typed"
	"kube2014/pkg/rest"
)

// Bounds of the managed fields of an object: in bytes, where today's server has that of its store, and in entries, as the time that
// they take grows with the square of their number.
const (
	MaxSize    = 1 << 20
	MaxEntries = 1000
)

// June2014 is the manager of the fields that the first door writes.
const June2014 = "kube2014"

// Manager tracks the fields of the objects of a row. It is safe for concurrent use.
type Manager struct {
	kind           Kind
	tracker, whole func() *managedfields.FieldManager // whole tracks all fields
	subresource    string
	skip           func() map[string]bool // the fields that get no owner
	some           bool                   // only some others get one
}

// New returns the manager of a row or, by the name of a subresource, of that. Requests do not change the fields in reset or,
// if it is not nil, those that are not in only: these fields get no owner.
func New(row rest.Resource, subresource string, reset, only Fields) *Manager {
	k := Kind{row}
	return &Manager{k,
		sync.OnceValue(func() *managedfields.FieldManager { return k.manager(subresource, k.filters(subresource, reset, only)) }),
		sync.OnceValue(func() *managedfields.FieldManager { return k.manager("", nil) }),
		subresource,
		sync.OnceValue(func() map[string]bool {
			skip := map[string]bool{}
			for _, path := range slices.Concat(nobodys, reset) {
				skip[path] = true
			}
			return skip
		}),
		only != nil}
}

// filters returns the filter of the fields that may have an owner, by version.
func (k Kind) filters(subresource string, reset, only Fields) map[fieldpath.APIVersion]fieldpath.Filter {
	filter := fieldpath.NewExcludeSetFilter(reset.set())
	if only != nil {
		filter = only.filter()
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, version := range k.versions(subresource) {
		filters[fieldpath.APIVersion(version.String())] = filter
	}
	return filters
}

func (k Kind) manager(subresource string, filters map[fieldpath.APIVersion]fieldpath.Filter) *managedfields.FieldManager {
	manager, err := managedfields.NewDefaultCRDFieldManager(k, k, k, k, k.Kind, k.Kind.GroupVersion(), subresource, filters)
	utilruntime.Must(err) // fails only without a type converter
	return manager
}

// Update makes a manager the owner of the fields that it has changed from live, which is an empty object for a new one.
// Both objects are those of the caller. If the managed fields of live are nil, and nothing has changed, they are nil afterwards.
// The error is about too many entries.
func (m *Manager) Update(live, object rest.Object, manager string) *field.Error {
	if sent := len(object.GetManagedFields()); sent > MaxEntries {
		return field.TooMany(field.NewPath("metadata", "managedFields"), sent, MaxEntries)
	}
	if manager == m.kind.creator() && live.GetManagedFields() == nil && object.GetManagedFields() == nil {
		return nil // all is its creator's until another changes it
	}
	if live.GetUID() == "" {
		if entries, ok := m.created(object, manager); ok && !tooLarge(entries) {
			object.SetManagedFields(entries)
			return nil
		}
	}
	if entries, ok := m.renewed(live, object, manager); ok {
		object.SetManagedFields(entries)
		return nil
	}
	derived := m.Complete(live)
	_, err := m.tracker().Update(live, object, manager)
	if derived != nil {
		live.SetManagedFields(nil)
	}
	switch entries := object.GetManagedFields(); {
	case err != nil, len(entries) == 0, tooLarge(entries):
		object.SetManagedFields([]metav1.ManagedFieldsEntry{})
	case derived != nil && Same(derived, entries):
		object.SetManagedFields(nil)
	}
	return nil
}

// Apply returns the object that results when a manager applies a configuration to live, which it changes. Live is an empty object
// for a new one. The error is a conflict if another manager owns a field with another value, unless it is forced.
func (m *Manager) Apply(live rest.Object, configuration *unstructured.Unstructured, manager string, force bool) (rest.Object, error) {
	m.Complete(live)
	applied, err := m.tracker().Apply(live, configuration, manager, force)
	if err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return nil, err
		}
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: err.Error()}}
	}
	object := applied.(rest.Object)
	if object.GetManagedFields() == nil { // it has none, but not because v1 has not written it
		object.SetManagedFields([]metav1.ManagedFieldsEntry{})
	}
	if tooLarge(object.GetManagedFields()) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("the managed fields of the object would have more than %d entries or %d bytes", MaxEntries, MaxSize))
	}
	return object, nil
}

// Complete sets the managed fields of an object that v1 has not written yet, and returns them: all fields are its creator's.
func (m *Manager) Complete(live rest.Object) []metav1.ManagedFieldsEntry {
	if live.GetManagedFields() != nil || live.GetUID() == "" {
		return nil
	}
	whole, created := live.DeepCopyObject().(rest.Object), live.GetCreationTimestamp()
	if _, err := m.whole().Update(m.kind.empty(), whole, m.kind.creator()); err != nil {
		return nil
	}
	entries := whole.GetManagedFields()
	for i := range entries {
		if entries[i].Time = &created; created.IsZero() { // that of an object of 2014 may be unknown
			entries[i].Time = nil
		}
	}
	live.SetManagedFields(entries)
	return entries
}

// Check returns an error for managed fields that cannot be read, or are too many.
func Check(entries []metav1.ManagedFieldsEntry) error {
	if len(entries) > MaxEntries {
		return fmt.Errorf("there are more than %d entries", MaxEntries)
	}
	for _, e := range entries {
		if !json.Valid(e.FieldsV1.GetRawBytes()) {
			return errors.New("fieldsV1 is not JSON")
		}
	}
	return managedfields.ValidateManagedFields(entries)
}

func tooLarge(entries []metav1.ManagedFieldsEntry) bool {
	size := 0
	for _, e := range entries {
		size += len(e.FieldsV1.GetRawBytes()) + len(e.Manager)
	}
	return size > MaxSize || len(entries) > MaxEntries
}

// Same reports whether entries are the same but for their times.
func Same(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		x.Time, y.Time = nil, nil
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

// creator returns the name of the manager of objects that v1 has not written.
func (k Kind) creator() string {
	switch k.StoredKind {
	case api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind:
		return June2014
	}
	return rest.Server
}

// nobodys are the fields that never have a manager, as in apimachinery.
var nobodys = Fields{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.creationTimestamp", "metadata.selfLink",
	"metadata.uid", "metadata.clusterName", "metadata.generation", "metadata.managedFields", "metadata.resourceVersion"}

// created returns the managed fields of a new object that names no managers. It is not ok if only apimachinery can find them.
func (m *Manager) created(object rest.Object, manager string) (entries []metav1.ManagedFieldsEntry, ok bool) {
	if len(object.GetManagedFields()) > 0 {
		return nil, false
	}
	return m.all(object, manager)
}

// all returns the managed fields of an object all of whose fields a manager owns.
func (m *Manager) all(object rest.Object, manager string) (entries []metav1.ManagedFieldsEntry, ok bool) {
	if m.kind.Untyped.Codec != nil || m.some || manager == "" {
		return nil, false
	}
	text, ok := typed.Fields(object, m.skip())
	if !ok || string(text) == "{}" {
		return []metav1.ManagedFieldsEntry{}, ok
	}
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: m.kind.Kind.GroupVersion().String(),
		Time: &metav1.Time{Time: time.Now().UTC()}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(text)), Subresource: m.subresource}}, true
}

// renewed returns the managed fields of an object whose manager owns all of its fields, before and after the change. It is not ok if
// only apimachinery can find them. Leases are renewed so, more often than all other objects are written: it takes a third of the time.
func (m *Manager) renewed(live, object rest.Object, manager string) (entries []metav1.ManagedFieldsEntry, ok bool) {
	before, sent := live.GetManagedFields(), object.GetManagedFields()
	if len(before) != 1 || sent != nil && !Same(before, sent) {
		return nil, false
	}
	entries, ok = m.all(object, manager)
	return entries, ok && Same(before, entries)
}
