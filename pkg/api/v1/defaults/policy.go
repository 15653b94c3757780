package defaults

import rbacv1 "k8s.io/api/rbac/v1"

// RoleBinding sets the fields that a role binding leaves out.
func RoleBinding(binding *rbacv1.RoleBinding) { bound(&binding.RoleRef, binding.Subjects) }

// ClusterRoleBinding sets the fields that a cluster role binding leaves out.
func ClusterRoleBinding(binding *rbacv1.ClusterRoleBinding) {
	bound(&binding.RoleRef, binding.Subjects)
}

func bound(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if role.APIGroup == "" {
		role.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		if subject := &subjects[i]; subject.APIGroup == "" && (subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind) {
			subject.APIGroup = rbacv1.GroupName
		}
	}
}
