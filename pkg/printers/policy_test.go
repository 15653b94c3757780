package printers

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestABindingIsShownWithItsRoleAndItsSubjects(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Name: "b", CreationTimestamp: ago(3 * time.Minute)}
	subjects := []rbacv1.Subject{{Kind: "User", Name: "u"}, {Kind: "ServiceAccount", Name: "s", Namespace: "n"}, {Kind: "User", Name: "v"}, {Kind: "Group", Name: "g"}}
	want := map[string]any{"Name": "b", "Role": "ClusterRole/view", "Age": "3m", "Users": "u, v", "Groups": "g", "ServiceAccounts": "n/s"}
	role := rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"}
	contains(t, want, cells(t, RoleBindings, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}))
	contains(t, want, cells(t, ClusterRoleBindings, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: role, Subjects: subjects}))
	contains(t, map[string]any{"Users": "", "Groups": "", "ServiceAccounts": ""}, cells(t, RoleBindings, &rbacv1.RoleBinding{ObjectMeta: meta}))
}
