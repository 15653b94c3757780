package rbac

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/util"
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

// writers is the number of objects that are written at once: a write on etcd is mostly a wait for its disk.
const writers = 8

// Bootstrap creates the default roles and bindings, and restores missing parts of existing ones. It
// does not remove additional parts, does not change objects that are annotated not to be updated,
// and does not write complete objects. It is safe to run on several servers at once, and to repeat
// after an error.
func Bootstrap(ctx context.Context, objects storage.Interface, now func() time.Time) error {
	s, defaults := newStores(objects, now), Defaults()
	errs := make([]error, len(defaults))
	util.InParallel(len(defaults), writers, func(i int) {
		wanted := defaults[i]
		kind, store := s.of(wanted)
		if err := repair(ctx, store, wanted); err != nil {
			errs[i] = fmt.Errorf("the default %s %s: %w", kind, path.Join(wanted.GetNamespace(), wanted.GetName()), err)
		}
	})
	return errors.Join(errs...)
}

// writer is what a repair needs of a storage.
type writer interface {
	rest.Updater
	rest.Deleter
}

// of returns the kind of an object, in words, and the storage of its kind.
func (s stores) of(object rest.Object) (kind string, store writer) {
	switch object.(type) {
	case *rbacv1.ClusterRole:
		return "cluster role", s.clusterRoles
	case *rbacv1.ClusterRoleBinding:
		return "cluster role binding", s.clusterRoleBindings
	case *rbacv1.Role:
		return "role", s.roles
	default:
		return "role binding", s.roleBindings
	}
}

// errOtherRole ends the repair of a binding that refers to another role.
var errOtherRole = errors.New("it grants another role, and does not go away")

func repair(ctx context.Context, store writer, wanted rest.Object) error {
	key := rest.Key{Namespace: wanted.GetNamespace(), Name: wanted.GetName()}
	for range 3 { // others may change it at the same time; the wanted object itself is stored at most once
		var other metav1.Preconditions
		_, _, err := store.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
			if current == nil {
				return wanted, nil
			}
			if current.GetAnnotations()[autoupdate] == "false" {
				return current, nil
			}
			uid := current.GetUID()
			other.UID = &uid
			repairMeta(current, wanted)
			return current, repairParts(current, wanted)
		}, rest.AsServer())
		if !errors.Is(err, errOtherRole) {
			return err
		}
		// The role of a binding is immutable: the binding is created again.
		_, err = store.Delete(ctx, key, rest.DeleteOptions{DeleteOptions: metav1.DeleteOptions{Preconditions: &other}})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return errOtherRole
}

// repairParts adds the rules, selectors and subjects that an object lacks. The error is errOtherRole for a binding of
// another role.
func repairParts(object, wanted rest.Object) error {
	switch object := object.(type) {
	case *rbacv1.ClusterRole:
		wanted := wanted.(*rbacv1.ClusterRole)
		object.Rules = with(object.Rules, wanted.Rules)
		if rule := object.AggregationRule; rule != nil && wanted.AggregationRule != nil {
			rule.ClusterRoleSelectors = with(rule.ClusterRoleSelectors, wanted.AggregationRule.ClusterRoleSelectors)
		} else {
			object.AggregationRule = wanted.AggregationRule.DeepCopy()
		}
	case *rbacv1.Role:
		object.Rules = with(object.Rules, wanted.(*rbacv1.Role).Rules)
	case *rbacv1.ClusterRoleBinding:
		wanted := wanted.(*rbacv1.ClusterRoleBinding)
		object.Subjects = with(object.Subjects, wanted.Subjects)
		return ifOther(object.RoleRef, wanted.RoleRef)
	case *rbacv1.RoleBinding:
		wanted := wanted.(*rbacv1.RoleBinding)
		object.Subjects = with(object.Subjects, wanted.Subjects)
		return ifOther(object.RoleRef, wanted.RoleRef)
	}
	return nil
}

func ifOther(role, wanted rbacv1.RoleRef) error {
	if role != wanted {
		return errOtherRole
	}
	return nil
}

// repairMeta adds the labels and annotations that an object lacks.
func repairMeta(object, wanted rest.Object) {
	labels, annotations := maps.Clone(wanted.GetLabels()), maps.Clone(wanted.GetAnnotations())
	maps.Copy(labels, object.GetLabels())
	maps.Copy(annotations, object.GetAnnotations())
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
}

// with returns a list with the missing elements of another one.
func with[T any](list, others []T) []T {
	for _, other := range others {
		if !slices.ContainsFunc(list, func(one T) bool { return equality.Semantic.DeepEqual(one, other) }) {
			list = append(list, other)
		}
	}
	return list
}
