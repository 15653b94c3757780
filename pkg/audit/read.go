package audit

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/json"

	"kube2014/pkg/api"
	"kube2014/pkg/util/yamls"
)

// PolicyError has all mistakes in a policy, each with its field.
type PolicyError struct{ Problems []string }

func (e *PolicyError) Error() string { return strings.Join(e.Problems, "; ") }

func (e *PolicyError) add(at *field.Path, format string, args ...any) {
	e.Problems = append(e.Problems, at.String()+": "+fmt.Sprintf(format, args...))
}

func readFile(path string) (*Policy, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	policy, err := Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return policy, nil
}

// Read reads a policy in YAML or JSON. Unlike today's server it refuses unknown fields, because their
// author expects an effect. The error is a *PolicyError, which contains no values.
func Read(text []byte) (*Policy, error) {
	data, err := yamls.ToJSON(text)
	if err != nil {
		return nil, &PolicyError{[]string{err.Error()}}
	}
	var policy auditv1.Policy
	unknown, err := json.UnmarshalStrict(data, &policy)
	var mistyped *stdjson.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped) && mistyped.Field != "":
		return nil, &PolicyError{[]string{mistyped.Field + ": has a value of another type"}}
	case err != nil:
		return nil, &PolicyError{[]string{"is no policy"}}
	}
	if wrong := check(&policy, unknown); len(wrong.Problems) > 0 {
		return nil, wrong
	}
	return (*Policy)(&policy), nil
}

// check returns the mistakes in a policy. It names no fields of a text that is not a policy.
func check(policy *auditv1.Policy, unknown []error) *PolicyError {
	e := &PolicyError{}
	if policy.APIVersion != auditv1.SchemeGroupVersion.String() {
		e.add(field.NewPath("apiVersion"), "must be %s", auditv1.SchemeGroupVersion)
	}
	if policy.Kind != "Policy" {
		e.add(field.NewPath("kind"), "must be Policy")
	}
	if len(e.Problems) > 0 {
		return e
	}
	for _, one := range unknown {
		e.Problems = append(e.Problems, api.Printable(one.Error(), '?'))
	}
	rules := field.NewPath("rules")
	if len(policy.Rules) == 0 {
		e.add(rules, "must not be empty")
	}
	e.checkStages(policy.OmitStages, field.NewPath("omitStages"))
	for i := range policy.Rules {
		e.checkRule(&policy.Rules[i], rules.Index(i))
	}
	return e
}

func (e *PolicyError) checkRule(r *auditv1.PolicyRule, at *field.Path) {
	if !slices.Contains(levels, r.Level) {
		e.add(at.Child("level"), "is not None, Metadata, Request or RequestResponse")
	}
	for i, group := range r.Resources {
		here := at.Child("resources").Index(i)
		if group.Group != "" && group.Group != all && len(validation.IsDNS1123Subdomain(group.Group)) > 0 {
			e.add(here.Child("group"), "is not the name of a group")
		}
		if len(group.ResourceNames) > 0 && len(group.Resources) == 0 {
			e.add(here.Child("resourceNames"), "needs resources")
		}
	}
	for i, path := range r.NonResourceURLs {
		if here := at.Child("nonResourceURLs").Index(i); path != all && !strings.HasPrefix(path, "/") {
			e.add(here, "must begin with a slash")
		} else if strings.Contains(strings.TrimSuffix(path, all), all) {
			e.add(here, "may have a * at its end only")
		}
	}
	if len(r.NonResourceURLs) > 0 && len(r.Resources)+len(r.Namespaces) > 0 {
		e.add(at.Child("nonResourceURLs"), "a rule is about paths, or about resources and namespaces")
	}
	e.checkStages(r.OmitStages, at.Child("omitStages"))
}

var stages = []auditv1.Stage{auditv1.StageRequestReceived, auditv1.StageResponseStarted, auditv1.StageResponseComplete, auditv1.StagePanic}

func (e *PolicyError) checkStages(omitted []auditv1.Stage, at *field.Path) {
	for i, stage := range omitted {
		if !slices.Contains(stages, stage) {
			e.add(at.Index(i), "is not RequestReceived, ResponseStarted, ResponseComplete or Panic")
		}
	}
}
