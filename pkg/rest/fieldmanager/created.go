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
	if m.kind.Untyped.Codec != nil || m.some || len(object.GetManagedFields()) > 0 || manager == "" {
		return nil, false
	}
	text, ok := typed.Fields(object, m.skip())
	if !ok || string(text) == "{}" {
		return []metav1.ManagedFieldsEntry{}, ok
	}
	return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: m.kind.Kind.GroupVersion().String(),
		Time: &metav1.Time{Time: time.Now().UTC()}, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(text)), Subresource: m.subresource}}, true
}
