// Package rbac is role-based access control as the second door serves and stores it: the table
// of roles and bindings, what a server has of them from its first start, and a copy of them for
// an authorizer. Nobody can grant what they do not have.
package rbac

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Resources returns the table of roles and bindings. Without an escalation check everybody may
// grant everything.
func Resources(objects storage.Interface, now func() time.Time, check *Escalation) []rest.Resource {
	s := makeStores(objects, now)
	if check == nil {
		return []rest.Resource{rows.clusterRoleBindings.With(s.clusterRoleBindings), rows.clusterRoles.With(s.clusterRoles),
			rows.roleBindings.With(s.roleBindings), rows.roles.With(s.roles)}
	}
	return []rest.Resource{
		rows.clusterRoleBindings.With(guarded[*rbacv1.ClusterRoleBinding]{s.clusterRoleBindings, check.ofClusterRoleBinding(s)}),
		rows.clusterRoles.With(guarded[*rbacv1.ClusterRole]{s.clusterRoles, check.ofClusterRole}),
		rows.roleBindings.With(guarded[*rbacv1.RoleBinding]{s.roleBindings, check.ofRoleBinding(s)}),
		rows.roles.With(guarded[*rbacv1.Role]{s.roles, check.ofRole}),
	}
}
