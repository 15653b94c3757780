package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
)

// autoupdate is the annotation that is false for a default that must not be repaired.
const autoupdate = rbacv1.AutoUpdateAnnotationKey

var (
	reads  = []string{"get", "list", "watch"}
	writes = []string{"create", "delete", "deletecollection", "patch", "update"}
	all    = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

	coreGroup = []string{""}

	viewRules = []rbacv1.PolicyRule{
		{Verbs: reads, APIGroups: coreGroup, Resources: []string{"endpoints", "pods", "replicationcontrollers", "replicationcontrollers/scale", "services", "services/status"}},
		{Verbs: reads, APIGroups: coreGroup, Resources: []string{"bindings", "limitranges", "pods/log", "pods/status", "replicationcontrollers/status", "resourcequotas", "resourcequotas/status"}},
		{Verbs: reads, APIGroups: coreGroup, Resources: []string{"namespaces"}},
		{Verbs: reads, APIGroups: coreGroup, Resources: []string{"events"}},
		{Verbs: reads, APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}},
	}
	editRules = slices.Concat([]rbacv1.PolicyRule{
		{Verbs: writes, APIGroups: coreGroup, Resources: []string{"pods"}},
		{Verbs: writes, APIGroups: coreGroup, Resources: []string{"replicationcontrollers", "replicationcontrollers/scale", "services"}},
		{Verbs: writes, APIGroups: coreGroup, Resources: []string{"events"}},
	}, viewRules)
	adminRules = slices.Concat([]rbacv1.PolicyRule{
		{Verbs: all, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings", "roles"}},
	}, editRules)
)

// defaultRoles returns the useful roles of today's server, limited to the resources of this server.
// There is no aggregation here, so admin, edit and view have their rules themselves.
func defaultRoles() []*rbacv1.ClusterRole {
	get, post := []string{"get"}, []string{"create"}
	return []*rbacv1.ClusterRole{
		defaultRole("cluster-admin", everything...),
		defaultRole("admin", adminRules...),
		defaultRole("edit", editRules...),
		defaultRole("view", viewRules...),
		defaultRole("system:discovery", rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{
			"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/"}}),
		defaultRole("system:basic-user",
			rbacv1.PolicyRule{Verbs: post, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
			rbacv1.PolicyRule{Verbs: post, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}}),
		defaultRole("system:public-info-viewer", rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{
			"/healthz", "/livez", "/readyz", "/version", "/version/"}}),
		defaultRole("system:service-account-issuer-discovery", rbacv1.PolicyRule{Verbs: get, NonResourceURLs: []string{
			"/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/"}}),
	}
}

func defaultBindings() []*rbacv1.ClusterRoleBinding {
	return []*rbacv1.ClusterRoleBinding{
		defaultBinding("cluster-admin", user.Masters),
		defaultBinding("system:discovery", user.AllAuthenticated),
		defaultBinding("system:basic-user", user.AllAuthenticated),
		defaultBinding("system:public-info-viewer", user.AllAuthenticated, user.AllUnauthenticated),
		defaultBinding("system:service-account-issuer-discovery", user.AllServiceAccounts),
	}
}

func defaultRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: defaultMeta(name), Rules: rules}
}

// defaultBinding grants a role to groups. The binding has the name of the role.
func defaultBinding(role string, groups ...string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: defaultMeta(role), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group})
	}
	return binding
}

func defaultMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}, Annotations: map[string]string{autoupdate: "true"}}
}
