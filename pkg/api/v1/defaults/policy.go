package defaults

import rbacv1 "k8s.io/api/rbac/v1"

// RoleBinding sets the API groups of the role and the subjects.
func RoleBinding(binding *rbacv1.RoleBinding) { bound(&binding.RoleRef, binding.Subjects) }

// ClusterRoleBinding sets the API groups of the role and the subjects.
func ClusterRoleBinding(binding *rbacv1.ClusterRoleBinding) {
	bound(&binding.RoleRef, binding.Subjects)
}

func bound(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	set(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subject := &subjects[i]; subject.Kind == rbacv1.UserKind || subject.Kind == rbacv1.GroupKind {
			set(&subject.APIGroup, rbacv1.GroupName)
		}
	}
}
