// Package authorizer decides whether a user may do what a request asks for.
package authorizer

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
)

// Attributes describe what a decision is about: a user and an action.
type Attributes struct {
	User       *user.Info // not nil
	Verb       string     // get, list, watch, create, update, patch, delete, deletecollection, ...; for a path: the method, in lower case
	IsResource bool       // the request is about a resource, otherwise about Path

	APIGroup    string
	APIVersion  string
	Resource    string
	Subresource string
	Namespace   string // "" for all, and for cluster-scoped resources
	Name        string // "" for all
	// The selectors of a list, a watch or a deletecollection: the request is only about what they match.
	FieldSelector []metav1.FieldSelectorRequirement
	LabelSelector []metav1.LabelSelectorRequirement

	Path string
}

// IsReadOnly reports whether the verb changes nothing.
func (a Attributes) IsReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// Decision is the result of an authorizer.
type Decision int

// NoOpinion leaves the decision to the next authorizer. The zero value denies.
const (
	Deny Decision = iota
	Allow
	NoOpinion
)

// Authorizer decides. It is safe for concurrent use. The reason may be shown to the user.
// An error comes with NoOpinion or Deny, and is only logged.
type Authorizer interface {
	Authorize(ctx context.Context, a Attributes) (decision Decision, reason string, err error)
}

// Rule is a right of a user: verbs for resources, or for paths.
type Rule struct {
	Verbs         []string
	APIGroups     []string
	Resources     []string // "pods/log" for a subresource
	ResourceNames []string // empty for all

	NonResourceURLs []string
}

// RuleResolver lists what a user may do in a namespace. If incomplete is true, there may be more
// rules. Why has the errors of the look-up.
type RuleResolver interface {
	RulesFor(ctx context.Context, who *user.Info, namespace string) (rules []Rule, incomplete bool, why error)
}

// UnionAuthorizer combines authorizers. It is an Authorizer and a RuleResolver.
type UnionAuthorizer []Authorizer

// Union combines authorizers: the first one with an opinion decides.
func Union(authorizers ...Authorizer) UnionAuthorizer { return authorizers }

// Authorize returns the first opinion. Without one, it joins the reasons and the errors of all.
func (u UnionAuthorizer) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
	var reasons []string
	var errs []error
	for _, one := range u {
		decision, reason, err := one.Authorize(ctx, a)
		if decision != NoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, reason)
		}
		errs = append(errs, err)
	}
	return NoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}

// RulesFor returns the rules of all authorizers that can list them.
func (u UnionAuthorizer) RulesFor(ctx context.Context, who *user.Info, namespace string) (rules []Rule, incomplete bool, why error) {
	var errs []error
	for _, one := range u {
		resolver, ok := one.(RuleResolver)
		if !ok {
			continue
		}
		more, partly, err := resolver.RulesFor(ctx, who, namespace)
		rules, incomplete = append(rules, more...), incomplete || partly
		errs = append(errs, err)
	}
	return rules, incomplete, errors.Join(errs...)
}
