package audit

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/json"

	"kube2014/pkg/api"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/yamls"
)

// Policy sets the level of each request. It is immutable.
type Policy auditv1.Policy

var metadataOfAll = &Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelMetadata}}}

// levels are ordered: each one includes those before it.
var levels = []auditv1.Level{auditv1.LevelNone, auditv1.LevelMetadata, auditv1.LevelRequest, auditv1.LevelRequestResponse}

// Decision is what the policy says about a request.
type Decision struct {
	Level             auditv1.Level
	OmitStages        []auditv1.Stage
	OmitManagedFields bool
}

// includes reports whether the decided level includes another one.
func (d *Decision) includes(level auditv1.Level) bool {
	return slices.Index(levels, d.Level) >= slices.Index(levels, level)
}

// Decide returns the decision of the first rule that matches, the level None without one. The user is
// nil if the request is not authenticated; then rules for users do not match.
func (p *Policy) Decide(a authorizer.Attributes) Decision {
	for i := range p.Rules {
		r := (*rule)(&p.Rules[i])
		if !r.matches(&a) {
			continue
		}
		decision := Decision{r.Level, slices.Concat(p.OmitStages, r.OmitStages), p.OmitManagedFields}
		if r.OmitManagedFields != nil {
			decision.OmitManagedFields = *r.OmitManagedFields
		}
		return decision
	}
	return Decision{Level: auditv1.LevelNone}
}

type rule auditv1.PolicyRule

func (r *rule) matches(a *authorizer.Attributes) bool {
	if !r.isFor(a.User) || !isAnyOf(r.Verbs, a.Verb) {
		return false
	}
	switch {
	case len(r.Namespaces) > 0 || len(r.Resources) > 0:
		return a.IsResource && isAnyOf(r.Namespaces, a.Namespace) && r.matchesResource(a)
	case len(r.NonResourceURLs) > 0:
		return !a.IsResource && slices.ContainsFunc(r.NonResourceURLs, func(wanted string) bool { return pathMatches(wanted, a.Path) })
	}
	return true
}

func (r *rule) isFor(who *user.Info) bool {
	if who == nil {
		return len(r.Users) == 0 && len(r.UserGroups) == 0
	}
	inGroup := func(group string) bool { return slices.Contains(who.Groups, group) }
	return isAnyOf(r.Users, who.Name) && (len(r.UserGroups) == 0 || slices.ContainsFunc(r.UserGroups, inGroup))
}

func (r *rule) matchesResource(a *authorizer.Attributes) bool {
	return len(r.Resources) == 0 || slices.ContainsFunc(r.Resources, func(group auditv1.GroupResources) bool {
		return (group.Group == all || group.Group == a.APIGroup) && isAnyOf(group.ResourceNames, a.Name) &&
			(len(group.Resources) == 0 || slices.ContainsFunc(group.Resources, func(wanted string) bool { return resourceMatches(wanted, a) }))
	})
}

// all matches every group, resource or path.
const all = "*"

// isAnyOf reports whether a list has a value, or is empty.
func isAnyOf(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// resourceMatches reports whether an entry of the form RESOURCE, RESOURCE/SUBRESOURCE, with * for
// either, or * matches a request. As in today's server, pods does not match pods/log, and pods/*
// matches pods too.
func resourceMatches(wanted string, a *authorizer.Attributes) bool {
	resource, subresource, isPair := strings.Cut(wanted, "/")
	switch {
	case wanted == all:
		return true
	case !isPair:
		return a.Subresource == "" && a.Resource == resource
	case subresource == all && a.Resource == resource:
		return true
	}
	return a.Subresource != "" && a.Subresource == subresource && (resource == all || a.Resource == resource)
}

// pathMatches reports whether an entry, a path or a prefix with *, matches a path.
func pathMatches(wanted, path string) bool {
	beginning, isPrefix := strings.CutSuffix(wanted, all)
	return wanted == path || isPrefix && strings.HasPrefix(path, beginning)
}

// PolicyError has all mistakes in a policy, each with its field.
type PolicyError struct{ Problems []string }

func (e *PolicyError) Error() string { return strings.Join(e.Problems, "; ") }

func (e *PolicyError) add(at *field.Path, format string, args ...any) {
	e.Problems = append(e.Problems, at.String()+": "+fmt.Sprintf(format, args...))
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
