package fieldmanager

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/typed"
	"kube2014/pkg/rest"
)

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
