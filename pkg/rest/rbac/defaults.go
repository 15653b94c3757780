package rbac

import (
	_ "embed"
	"maps"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
)

const (
	// autoupdate is the annotation that is false for a default that must not be repaired.
	autoupdate = rbacv1.AutoUpdateAnnotationKey
	// aggregateTo begins the labels of the roles whose rules an aggregated one takes.
	aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"
)

//go:embed defaults.txt
var defaultsText string

// Defaults returns the roles and bindings that today's server makes, each role before its bindings. The caller owns them.
// The file tells how it is to be read.
func Defaults() (objects []rest.Object) {
	var role rest.Object // the last one, with its rules
	var rules *[]rbacv1.PolicyRule
	for line := range strings.Lines(defaultsText) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case line[0] != '\t':
			role, rules = defaultRole(fields[0], fields[1], fields[2:])
			objects = append(objects, role)
		case fields[0] == "for":
			objects = append(objects, defaultBinding(role, fields[1], fields[2:]))
		default:
			*rules = append(*rules, defaultRule(fields))
		}
	}
	return objects
}

// defaultRole returns a role, and where its rules are.
func defaultRole(kind, name string, aggregation []string) (rest.Object, *[]rbacv1.PolicyRule) {
	if kind == "Role" {
		namespace, name, _ := strings.Cut(name, "/")
		role := &rbacv1.Role{ObjectMeta: defaultMeta(namespace, name)}
		return role, &role.Rules
	}
	role := &rbacv1.ClusterRole{ObjectMeta: defaultMeta("", name)}
	for _, way := range aggregation {
		label := map[string]string{aggregateTo + way[1:]: "true"}
		if way[0] == '+' {
			maps.Copy(role.Labels, label)
		} else {
			role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: label}}}
		}
	}
	return role, &role.Rules
}

func defaultRule(fields []string) rbacv1.PolicyRule {
	list := func(i int) []string { return strings.Split(fields[i], ",") }
	if len(fields) == 2 {
		return rbacv1.PolicyRule{Verbs: list(0), NonResourceURLs: list(1)}
	}
	rule := rbacv1.PolicyRule{Verbs: list(0), APIGroups: list(1), Resources: list(2)}
	if rule.APIGroups[0] == "core" {
		rule.APIGroups[0] = ""
	}
	if len(fields) == 4 {
		rule.ResourceNames = list(3)
	}
	return rule
}

// defaultBinding grants a role to subjects, such as Group/NAME or ServiceAccount/NAMESPACE/NAME.
func defaultBinding(role rest.Object, name string, texts []string) rest.Object {
	var subjects []rbacv1.Subject
	for _, text := range texts {
		kind, named, _ := strings.Cut(text, "/")
		subject := rbacv1.Subject{Kind: kind, APIGroup: rbacv1.GroupName, Name: named}
		if kind == rbacv1.ServiceAccountKind {
			subject.APIGroup = ""
			subject.Namespace, subject.Name, _ = strings.Cut(named, "/")
		}
		subjects = append(subjects, subject)
	}
	ref, meta := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()}, defaultMeta(role.GetNamespace(), name)
	if meta.Namespace == "" {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
	}
	ref.Kind = "Role"
	return &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
}

func defaultMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}, Annotations: map[string]string{autoupdate: "true"}}
}
