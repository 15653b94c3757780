package webhook

import (
	"cmp"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkNameAndPolicies(at *field.Path, w *admissionregistrationv1.MutatingWebhook) error {
	switch {
	case w.Name == "":
		return wrong(at.Child("name"), "is missing")
	case len(validation.IsFullyQualifiedName(at, w.Name)) > 0:
		return wrong(at.Child("name"), "is no domain of at least three parts, such as a.example.com")
	case len(w.MatchConditions) > 0:
		return wrong(at.Child("matchConditions"), "are not supported: there is no CEL")
	case w.SideEffects == nil:
		return wrong(at.Child("sideEffects"), "is missing")
	}
	return cmp.Or(
		oneOf(at.Child("sideEffects"), w.SideEffects, admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun),
		oneOf(at.Child("failurePolicy"), w.FailurePolicy, admissionregistrationv1.Fail, admissionregistrationv1.Ignore),
		oneOf(at.Child("matchPolicy"), w.MatchPolicy, admissionregistrationv1.Equivalent, admissionregistrationv1.Exact),
		oneOf(at.Child("reinvocationPolicy"), w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy, admissionregistrationv1.IfNeededReinvocationPolicy),
		checkVersions(at.Child("admissionReviewVersions"), w.AdmissionReviewVersions),
	)
}

// oneOf requires one of two values. A nil value means the default.
func oneOf[Value ~string](at *field.Path, value *Value, either, or Value) error {
	if value == nil || *value == either || *value == or {
		return nil
	}
	return wrong(at, "is neither "+string(either)+" nor "+string(or))
}

func checkVersions(at *field.Path, versions []string) error {
	for i, version := range versions {
		switch {
		case len(validation.IsDNS1035Label(version)) > 0:
			return wrong(at.Index(i), "is no version")
		case slices.Contains(versions[:i], version):
			return wrong(at.Index(i), "is there twice")
		}
	}
	if !slices.Contains(versions, "v1") {
		return wrong(at, "has no v1")
	}
	return nil
}

func checkRule(at *field.Path, rule *admissionregistrationv1.RuleWithOperations) error {
	operations := make([]string, len(rule.Operations))
	for i, operation := range rule.Operations {
		operations[i] = string(operation)
	}
	if err := checkList(at.Child("operations"), operations, false); err != nil {
		return err
	}
	for i, operation := range operations {
		if !slices.Contains([]string{"*", "CREATE", "UPDATE", "DELETE", "CONNECT"}, operation) {
			return wrong(at.Child("operations").Index(i), "is none of CREATE, UPDATE, DELETE, CONNECT, *")
		}
	}
	if err := cmp.Or(checkList(at.Child("apiGroups"), rule.APIGroups, true), checkList(at.Child("apiVersions"), rule.APIVersions, false)); err != nil {
		return err
	}
	if scope := rule.Scope; scope != nil && !slices.Contains([]string{"*", "Cluster", "Namespaced"}, string(*scope)) {
		return wrong(at.Child("scope"), "is none of Cluster, Namespaced, *")
	}
	return checkResources(at.Child("resources"), rule.Resources)
}

// checkList checks a list in which "*" matches all.
func checkList(at *field.Path, list []string, mayBeEmpty bool) error {
	switch empty := slices.Index(list, ""); {
	case len(list) == 0:
		return wrong(at, "is missing")
	case len(list) > 1 && slices.Contains(list, "*"):
		return wrong(at, "has more than *, which stands for all")
	case empty >= 0 && !mayBeEmpty:
		return wrong(at.Index(empty), "is empty")
	}
	return nil
}

// checkResources refuses entries that another entry includes.
func checkResources(at *field.Path, resources []string) error {
	if len(resources) == 0 {
		return wrong(at, "is missing")
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		return wrong(at, "has more than */*, which stands for all")
	}
	for i, entry := range resources {
		resource, sub, isSub := strings.Cut(entry, "/")
		switch {
		case entry == "":
			return wrong(at.Index(i), "is empty")
		case !isSub && entry != "*" && slices.Contains(resources, "*"):
			return wrong(at.Index(i), "is in * already")
		case isSub && (slices.Contains(resources[:i], resource+"/*") || slices.Contains(resources[:i], "*/"+sub)):
			return wrong(at.Index(i), "is in an entry before it already")
		}
	}
	return nil
}
