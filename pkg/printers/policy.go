package printers

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RoleBindings prints *rbacv1.RoleBinding. Roles need no printer.
var RoleBindings = bindings("roleBinding", rbacv1.RoleBinding{}.SwaggerDoc(), of(func(binding *rbacv1.RoleBinding, now time.Time) []any {
	return bindingCells(binding, binding.RoleRef, binding.Subjects, now)
}))

// ClusterRoleBindings prints *rbacv1.ClusterRoleBinding.
var ClusterRoleBindings = bindings("clusterRoleBinding", rbacv1.ClusterRoleBinding{}.SwaggerDoc(), of(func(binding *rbacv1.ClusterRoleBinding, now time.Time) []any {
	return bindingCells(binding, binding.RoleRef, binding.Subjects, now)
}))

func bindings(kind string, doc map[string]string, cells func(runtime.Object, time.Time) []any) Printer {
	return Printer{
		Columns: []metav1.TableColumnDefinition{
			nameColumn,
			text("Role", strings.TrimSuffix(doc["roleRef"], " This field is immutable.")), // today's server describes it as older versions of the group do
			ageColumn,
			wide(text("Users", "Users in the "+kind)),
			wide(text("Groups", "Groups in the "+kind)),
			wide(text("ServiceAccounts", "ServiceAccounts in the "+kind)),
		},
		Cells: cells,
	}
}

func bindingCells(meta metav1.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	names := map[string][]string{}
	for _, subject := range subjects {
		name := subject.Name
		if subject.Kind == rbacv1.ServiceAccountKind {
			name = subject.Namespace + "/" + name
		}
		names[subject.Kind] = append(names[subject.Kind], name)
	}
	return []any{
		meta.GetName(),
		role.Kind + "/" + role.Name,
		since(meta.GetCreationTimestamp().Time, now),
		strings.Join(names[rbacv1.UserKind], ", "),
		strings.Join(names[rbacv1.GroupKind], ", "),
		strings.Join(names[rbacv1.ServiceAccountKind], ", "),
	}
}
