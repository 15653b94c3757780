package extensions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"kube2014/pkg/rest"
)

// update changes the status of a definition, or its finalizers. It does nothing if the definition is gone.
func (s *Server) update(ctx context.Context, name string, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	_, _, err := s.definitions.Status.Update(ctx, rest.Key{Name: name}, func(current rest.Object) (rest.Object, error) {
		change(current.(*apiextensionsv1.CustomResourceDefinition))
		return current, nil
	}, rest.AsServer())
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}

// syncNames accepts the names of a definition that no other one of its group has. It runs in one goroutine, so that two
// definitions do not get the same name.
func (s *Server) syncNames(ctx context.Context, name string) error {
	d := s.find(name)
	if d == nil || d.named {
		return nil
	}
	taken := s.takenNames(d.crd, s.snapshot())
	err := s.update(ctx, name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		taken.accept(crd)
		if isServed(d.crd) { // else it is established when it is: its names have been given back by another one only now
			establish(crd)
		}
	})
	if err == nil {
		s.reconsider(name) // it may have given a name back
	}
	return err
}

// reconsider lets the other definitions of the group of one ask for their names again.
func (s *Server) reconsider(name string) {
	_, group, _ := strings.Cut(name, ".")
	for other, d := range s.snapshot() {
		if d.crd.Spec.Group == group && other != name {
			s.names.Add(other)
		}
	}
}

// names are the names of resources and kinds that are taken in a group.
type names struct{ resources, kinds sets.Set[string] }

// takenNames returns the names in the group of a definition that others have: other known definitions, and the kinds of the
// other servers.
func (s *Server) takenNames(crd *apiextensionsv1.CustomResourceDefinition, known map[string]*definition) names {
	taken := names{sets.New[string](), sets.New[string]()}
	for name, d := range known {
		if accepted := d.crd.Status.AcceptedNames; d.crd.Spec.Group == crd.Spec.Group && name != crd.Name {
			taken.resources.Insert(accepted.Plural, accepted.Singular)
			taken.resources.Insert(accepted.ShortNames...)
			taken.kinds.Insert(accepted.Kind, accepted.ListKind)
		}
	}
	for row := range s.Others.Rows() {
		if row.GroupVersion.Group == crd.Spec.Group {
			taken.resources.Insert(row.Name, row.Singular)
			taken.resources.Insert(row.ShortNames...)
			taken.kinds.Insert(row.Kind.Kind, row.Kind.Kind+"List")
		}
	}
	return taken
}

// accept sets the names of a definition that are free, and the conditions for them.
func (n names) accept(crd *apiextensionsv1.CustomResourceDefinition) {
	condition := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found"}
	wanted, accepted := crd.Spec.Names, &crd.Status.AcceptedNames
	check := func(reason string, taken sets.Set[string], has []string, names ...string) (free bool) {
		var errs []error
		for _, name := range names {
			if taken.Has(name) && !slices.Contains(has, name) {
				errs = append(errs, fmt.Errorf("%q is already in use", name))
			}
		}
		if len(errs) > 0 {
			condition.Status, condition.Reason, condition.Message = apiextensionsv1.ConditionFalse, reason, utilerrors.NewAggregate(errs).Error()
		}
		return len(errs) == 0
	}
	one := func(reason string, taken sets.Set[string], wanted string, accepted *string) {
		if check(reason, taken, []string{*accepted}, wanted) {
			*accepted = wanted
		}
	}
	one("PluralConflict", n.resources, wanted.Plural, &accepted.Plural)
	one("SingularConflict", n.resources, wanted.Singular, &accepted.Singular)
	if check("ShortNamesConflict", n.resources, accepted.ShortNames, wanted.ShortNames...) {
		accepted.ShortNames = wanted.ShortNames
	}
	one("KindConflict", n.kinds, wanted.Kind, &accepted.Kind)
	one("ListKindConflict", n.kinds, wanted.ListKind, &accepted.ListKind)
	accepted.Categories = wanted.Categories
	apihelpers.SetCRDCondition(crd, condition)
	established := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established)
	next := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse}
	switch {
	case established != nil && (established.Status == apiextensionsv1.ConditionTrue || condition.Status != apiextensionsv1.ConditionTrue):
		next = *established
	case condition.Status == apiextensionsv1.ConditionTrue:
		next.Reason, next.Message = "Installing", "the initial names have been accepted"
	default:
		next.Reason, next.Message = "NotAccepted", "not all names are accepted"
	}
	apihelpers.SetCRDCondition(crd, next)
}
