// Package rbac is role-based access control as the second door serves and stores it: the table
// of roles and bindings, what a server has of them from its first start, and a copy of them for
// an authorizer. Nobody can grant what they do not have.
package rbac

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Resources returns the table of roles and bindings. Without an escalation check everybody may
// grant everything.
func Resources(objects storage.Interface, scheme v1.Converter, now func() time.Time, check *Escalation) []rest.Resource {
	s := makeStores(objects, scheme, now)
	table := []rest.Resource{
		{Name: "clusterrolebindings", Singular: "clusterrolebinding", Kind: group.WithKind("ClusterRoleBinding"), Storage: s.clusterRoleBindings, Printer: printers.ClusterRoleBindings},
		{Name: "clusterroles", Singular: "clusterrole", Kind: group.WithKind("ClusterRole"), Storage: s.clusterRoles},
		{Name: "rolebindings", Singular: "rolebinding", Kind: group.WithKind("RoleBinding"), Storage: s.roleBindings, Printer: printers.RoleBindings, Namespaced: true},
		{Name: "roles", Singular: "role", Kind: group.WithKind("Role"), Storage: s.roles, Namespaced: true},
	}
	if check != nil {
		for i, storage := range []any{
			guarded[*rbacv1.ClusterRoleBinding]{s.clusterRoleBindings, check.ofClusterRoleBinding(s)},
			guarded[*rbacv1.ClusterRole]{s.clusterRoles, check.ofClusterRole},
			guarded[*rbacv1.RoleBinding]{s.roleBindings, check.ofRoleBinding(s)},
			guarded[*rbacv1.Role]{s.roles, check.ofRole},
		} {
			table[i].Storage = storage
		}
	}
	for i := range table {
		table[i].GroupVersion = group
	}
	return table
}

// Types has the Go type of each kind that the resources have, their lists included.
func Types() map[schema.GroupVersionKind]interface{} {
	return map[schema.GroupVersionKind]interface{}{
		group.WithKind("ClusterRole"):            rbacv1.ClusterRole{},
		group.WithKind("ClusterRoleBinding"):     rbacv1.ClusterRoleBinding{},
		group.WithKind("ClusterRoleBindingList"): rbacv1.ClusterRoleBindingList{},
		group.WithKind("ClusterRoleList"):        rbacv1.ClusterRoleList{},
		group.WithKind("Role"):                   rbacv1.Role{},
		group.WithKind("RoleBinding"):            rbacv1.RoleBinding{},
		group.WithKind("RoleBindingList"):        rbacv1.RoleBindingList{},
		group.WithKind("RoleList"):               rbacv1.RoleList{},
	}
}
