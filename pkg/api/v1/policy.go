package v1

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
)

// The objects of role-based access control are remainder too. They are of another group of
// the API, which has one version, of this one's name.

func inPolicy(meta metav1.ObjectMeta) (in api.Policy, rest metav1.ObjectMeta) {
	in.ID = meta.Name
	in.ObjectMeta, rest = inMeta(meta)
	in.Labels, rest.Labels = rest.Labels, nil
	return in, rest
}

func inRole(role rbacv1.Role) (in api.Role, err error) {
	in.Policy, role.ObjectMeta = inPolicy(role.ObjectMeta)
	role.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(role)
	return in, err
}

func outRole(in api.Role) (rbacv1.Role, error) {
	role, err := decodeRest[rbacv1.Role](&in)
	if err != nil {
		return rbacv1.Role{}, err
	}
	outMeta(&role.ObjectMeta, &in, Namespace)
	role.Labels = in.Labels
	return role, nil
}

func inRoleBinding(binding rbacv1.RoleBinding) (in api.RoleBinding, err error) {
	in.Policy, binding.ObjectMeta = inPolicy(binding.ObjectMeta)
	binding.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(binding)
	return in, err
}

func outRoleBinding(in api.RoleBinding) (rbacv1.RoleBinding, error) {
	binding, err := decodeRest[rbacv1.RoleBinding](&in)
	if err != nil {
		return rbacv1.RoleBinding{}, err
	}
	outMeta(&binding.ObjectMeta, &in, Namespace)
	binding.Labels = in.Labels
	return binding, nil
}

func inClusterRole(role rbacv1.ClusterRole) (in api.ClusterRole, err error) {
	in.Policy, role.ObjectMeta = inPolicy(role.ObjectMeta)
	role.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(role)
	return in, err
}

func outClusterRole(in api.ClusterRole) (rbacv1.ClusterRole, error) {
	role, err := decodeRest[rbacv1.ClusterRole](&in)
	if err != nil {
		return rbacv1.ClusterRole{}, err
	}
	outMeta(&role.ObjectMeta, &in, "")
	role.Labels = in.Labels
	return role, nil
}

func inClusterRoleBinding(binding rbacv1.ClusterRoleBinding) (in api.ClusterRoleBinding, err error) {
	in.Policy, binding.ObjectMeta = inPolicy(binding.ObjectMeta)
	binding.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(binding)
	return in, err
}

func outClusterRoleBinding(in api.ClusterRoleBinding) (rbacv1.ClusterRoleBinding, error) {
	binding, err := decodeRest[rbacv1.ClusterRoleBinding](&in)
	if err != nil {
		return rbacv1.ClusterRoleBinding{}, err
	}
	outMeta(&binding.ObjectMeta, &in, "")
	binding.Labels = in.Labels
	return binding, nil
}
