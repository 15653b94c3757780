package printers

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// RoleBindings prints *rbacv1.RoleBinding, ClusterRoleBindings *rbacv1.ClusterRoleBinding. Roles need no printer.
var (
	RoleBindings        = bindings[rbacv1.RoleBinding]("roleBinding", rbacv1.RoleBinding{}.SwaggerDoc())
	ClusterRoleBindings = bindings[rbacv1.ClusterRoleBinding]("clusterRoleBinding", rbacv1.ClusterRoleBinding{}.SwaggerDoc())
)

func bindings[T any](kind string, doc map[string]string) Printer {
	subjects := func(title, of string) column {
		return wide(with(text(title, "subjects", title+" in the "+kind), func(subjects []rbacv1.Subject) string {
			var names []string
			for _, subject := range subjects {
				if subject.Kind != of {
					continue
				}
				name := subject.Name
				if of == rbacv1.ServiceAccountKind {
					name = subject.Namespace + "/" + name
				}
				names = append(names, name)
			}
			return strings.Join(names, ", ")
		}))
	}
	role := strings.TrimSuffix(doc["roleRef"], " This field is immutable.") // today's server describes it as older versions of the group do
	return table[T](name, with(text("Role", "roleRef", role), func(role rbacv1.RoleRef) string { return role.Kind + "/" + role.Name }), age,
		subjects("Users", rbacv1.UserKind), subjects("Groups", rbacv1.GroupKind), subjects("ServiceAccounts", rbacv1.ServiceAccountKind))
}
