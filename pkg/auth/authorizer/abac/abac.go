// Package abac authorizes by a policy file. Each line is a JSON object that grants rights. Blank
// lines, and lines that begin with #, are skipped.
//
// A line has the form of 2014, such as {"user": "alice", "resource": "pods", "readonly": true},
// in which a missing field means all, or that of today, in which it means none:
//
//	{"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": {"user": "ann", "nonResourcePath": "*"}}
package abac

import (
	"context"
	"slices"
	"strings"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/util"
)

// all matches every user, group, namespace, resource or path.
const all = "*"

// rule is a line of the policy, for a user, a group, or a user in a group.
type rule struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	Readonly        bool   `json:"readonly"`
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// Policy is an immutable authorizer that can list its rules.
type Policy []rule

// FromFile returns the policy of a file, which is read again when it changes. The error names
// the first invalid line.
func FromFile(path string) (*Authorizer, error) {
	policy, err := util.ReloadFile("the policy of -authorization_policy_file", path, Read)
	if err != nil {
		return nil, err
	}
	return &Authorizer{policy}, nil
}

// Authorizer decides by the policy of a file. While a changed file is broken, the old policy stays.
// It is safe for concurrent use.
type Authorizer struct{ policy *util.Reloaded[Policy] }

// Authorize decides as the policy does.
func (a *Authorizer) Authorize(ctx context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	return a.policy.Get().Authorize(ctx, attributes)
}

// RulesFor returns the rules of the policy.
func (a *Authorizer) RulesFor(ctx context.Context, who *user.Info, namespace string) ([]authorizer.Rule, bool, error) {
	return a.policy.Get().RulesFor(ctx, who, namespace)
}

// Authorize allows what a rule allows, and has no opinion on the rest.
func (p Policy) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for i := range p {
		if p[i].appliesTo(a.User) && p[i].allows(&a) {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "No policy matched.", nil
}

// RulesFor lists a user's rules for a namespace and for all namespaces.
func (p Policy) RulesFor(_ context.Context, who *user.Info, namespace string) (rules []authorizer.Rule, incomplete bool, why error) {
	for _, r := range p {
		if !r.appliesTo(who) || !matches(r.Namespace, namespace) {
			continue
		}
		verbs := []string{all}
		if r.Readonly {
			verbs = []string{"get", "list", "watch"}
		}
		if r.Resource != "" {
			rules = append(rules, authorizer.Rule{Verbs: verbs, APIGroups: []string{r.APIGroup}, Resources: []string{r.Resource}})
		}
		if r.NonResourcePath != "" {
			rules = append(rules, authorizer.Rule{Verbs: verbs, NonResourceURLs: []string{r.NonResourcePath}})
		}
	}
	return rules, false, nil
}

// appliesTo reports whether a user has the name and the group of the rule. A rule without both
// applies to nobody.
func (r *rule) appliesTo(who *user.Info) bool {
	if r.User == "" && r.Group == "" {
		return false
	}
	return (r.User == "" || r.User == who.Name) && (r.Group == "" || slices.Contains(who.Groups, r.Group))
}

func (r *rule) allows(a *authorizer.Attributes) bool {
	if r.Readonly && !a.IsReadOnly() {
		return false
	}
	if a.IsResource {
		return matches(r.Namespace, a.Namespace) && matches(r.Resource, a.Resource) && matches(r.APIGroup, a.APIGroup)
	}
	return r.NonResourcePath == a.Path ||
		strings.HasSuffix(r.NonResourcePath, all) && strings.HasPrefix(a.Path, strings.TrimRight(r.NonResourcePath, all))
}

// matches reports whether a value is the wanted one. A missing wanted value matches only "".
func matches(wanted, value string) bool { return wanted == all || wanted == value }
