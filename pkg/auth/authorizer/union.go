package authorizer

import (
	"context"
	"errors"
	"strings"

	"kube2014/pkg/auth/user"
)

// United combines authorizers. It is an Authorizer and a RuleResolver.
type United []Authorizer

// Union combines authorizers: the first one with an opinion decides.
func Union(authorizers ...Authorizer) United { return authorizers }

// Authorize returns the first opinion. Without one, it joins the reasons and the errors of all.
func (u United) Authorize(ctx context.Context, a Attributes) (Decision, string, error) {
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
func (u United) RulesFor(ctx context.Context, who *user.Info, namespace string) (rules []Rule, incomplete bool, why error) {
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
