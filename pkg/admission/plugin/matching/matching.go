// Package matching decides which changes a webhook or a policy is asked about, and in which version it sees them.
package matching

import (
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// Rule says which requests match.
type Rule = admissionregistrationv1.NamedRuleWithOperations

// Criteria say which changes match: those that a rule names, none of the excluded ones, of objects and in namespaces that are
// selected. They are read-only.
type Criteria struct {
	Rules, Excluded     []Rule
	Namespaces, Objects labels.Selector
	Equivalent          bool // a rule also matches a request in another version of its resource
}

// Handles reports whether a rule has an operation.
func (c *Criteria) Handles(operation admission.Operation) bool {
	return slices.ContainsFunc(c.Rules, func(rule Rule) bool { return has(rule.Operations, admissionregistrationv1.OperationType(operation)) })
}

// Matcher matches changes. The zero value knows neither namespaces nor versions. It is safe for concurrent use.
type Matcher struct {
	objects  storage.Interface
	versions func() versions
}

// NewMatcher returns a matcher that knows the stored namespaces, and the versions of the resources in catalogs.
func NewMatcher(objects storage.Interface, catalogs rest.Catalogs) Matcher {
	return Matcher{objects, rest.Derived(newVersions, catalogs)}
}

// Match returns the version in which a change matches. The error is about the namespace.
func (m *Matcher) Match(c *Criteria, a *admission.Attributes) (in Version, matches bool, err error) {
	in, matches = m.find(c.Rules, c.Equivalent, a)
	if !matches || !c.selectsObject(a) {
		return in, false, nil
	}
	if _, excluded := m.find(c.Excluded, c.Equivalent, a); excluded {
		return in, false, nil
	}
	matches, err = m.selectsNamespace(c, a)
	return in, matches, err
}

// find returns the version of a change that a rule names: that of the request if it can be.
func (m *Matcher) find(rules []Rule, equivalent bool, a *admission.Attributes) (in Version, found bool) {
	in = Version{a.Resource, a.Kind}
	isNamed := false // but for the version
	for i := range rules {
		if rule := &rules[i]; names(rule, a) {
			if hasVersion(rule, in) {
				return in, true
			}
			isNamed = true
		}
	}
	if !isNamed || !equivalent || m.versions == nil {
		return in, false
	}
	if of := m.versions()[named{a.Resource, a.Subresource}]; of != nil {
		for i := range rules { // an earlier rule counts more
			for _, other := range of.others {
				if rule := &rules[i]; names(rule, a) && hasVersion(rule, other) {
					return other, true
				}
			}
		}
	}
	return in, false
}

// names reports whether a rule names a change, in whatever version: all versions of a resource have one name.
func names(rule *Rule, a *admission.Attributes) bool {
	return has(rule.Operations, admissionregistrationv1.OperationType(a.Operation)) && hasResource(rule.Resources, a) && inScope(rule.Scope, a) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

func hasVersion(rule *Rule, in Version) bool {
	return has(rule.APIGroups, in.Resource.Group) && has(rule.APIVersions, in.Resource.Version)
}

// has reports whether a list has a value, or "*".
func has[Value ~string](list []Value, value Value) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

func hasResource(resources []string, a *admission.Attributes) bool {
	return slices.ContainsFunc(resources, func(entry string) bool {
		resource, sub, _ := strings.Cut(entry, "/")
		return (resource == "*" || resource == a.Resource.Resource) && (sub == "*" || sub == a.Subresource)
	})
}

func inScope(scope *admissionregistrationv1.ScopeType, a *admission.Attributes) bool {
	switch {
	case scope == nil || *scope == admissionregistrationv1.AllScopes:
		return true
	case *scope == admissionregistrationv1.NamespacedScope:
		return a.Namespace != ""
	}
	return a.Namespace == ""
}

// selectsObject reports whether the labels of the new or the old object match. Options have none.
func (c *Criteria) selectsObject(a *admission.Attributes) bool {
	return c.Objects.Empty() || a.Object != nil && a.Operation != admission.Connect && c.Objects.Matches(labels.Set(a.Object.GetLabels())) ||
		a.OldObject != nil && c.Objects.Matches(labels.Set(a.OldObject.GetLabels()))
}

// isNamespace reports whether a change is one of a namespace itself.
func isNamespace(a *admission.Attributes) bool {
	return a.Resource.GroupResource() == corev1.Resource("namespaces")
}

// NamespaceOf returns the namespace of a change as webhooks and policies see it: that of a namespace is itself.
func NamespaceOf(a *admission.Attributes) string {
	if isNamespace(a) {
		return a.Name
	}
	return a.Namespace
}

// selectsNamespace reports whether the labels of the namespace match: those of the object, if that is one.
func (m *Matcher) selectsNamespace(c *Criteria, a *admission.Attributes) (bool, error) {
	switch {
	case c.Namespaces.Empty():
		return true, nil
	case isNamespace(a) && a.Object != nil:
		return c.Namespaces.Matches(labels.Set(a.Object.GetLabels())), nil
	case isNamespace(a) && a.OldObject != nil:
		return c.Namespaces.Matches(labels.Set(a.OldObject.GetLabels())), nil
	case a.Namespace == "":
		return true, nil
	}
	stored, err := m.stored(a.Namespace)
	if err != nil {
		return false, err
	}
	of := labels.Set{}
	if stored != nil {
		maps.Copy(of, stored.GetLabels())
	}
	of[corev1.LabelMetadataName] = a.Namespace
	return c.Namespaces.Matches(of), nil
}

// stored returns a namespace, nil if there is none. One that is not in the cache may have just been made: the store is asked.
func (m *Matcher) stored(namespace string) (*storage.Object, error) {
	if m.objects == nil {
		return nil, nil
	}
	key := api.Key{Kind: "namespaces", ID: namespace}
	stored, err := m.objects.Cached().Get(key)
	if err != nil {
		stored, err = m.objects.Get(key)
	}
	if err != nil && api.KindOf(err) != api.NotFound {
		return nil, rest.StatusError(err, corev1.Resource("namespaces"), namespace)
	}
	return stored, nil
}

// Namespace returns the namespace of a change, nil if it has none, or changes one.
func (m *Matcher) Namespace(a *admission.Attributes) (*corev1.Namespace, error) {
	if a.Namespace == "" {
		return nil, nil
	}
	stored, err := m.stored(a.Namespace)
	if err != nil || stored == nil {
		return nil, err
	}
	object, err := namespaces.ToVersioned(stored.Object)
	if err != nil {
		return nil, err
	}
	return object.(*corev1.Namespace), nil
}

var namespaces = v1.NewCodec(corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces", v1.Scheme)
