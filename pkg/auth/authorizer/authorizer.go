// Package authorizer decides who may do what.
package authorizer

import (
	"context"

	"kube2014/pkg/auth/user"
)

// Attributes are what a decision is about: a user, and what the user wants to do.
type Attributes struct {
	User       *user.Info // not nil
	Verb       string     // get, list, watch, create, update, patch, delete, deletecollection, ...; for a path: the method, in lower case
	IsResource bool       // it is about a resource; if not, Path says about what

	APIGroup    string
	APIVersion  string
	Resource    string
	Subresource string
	Namespace   string // "" for all, and for what has none
	Name        string // "" for all

	Path string
}

// IsReadOnly tells whether it is a verb that changes nothing.
func (a Attributes) IsReadOnly() bool {
	return a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
}

// Decision is what an authorizer says.
type Decision int

// An authorizer without an opinion leaves it to the next one. Who forgets to decide denies.
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

// Rule is something that a user may do: resources, or paths.
type Rule struct {
	Verbs         []string
	APIGroups     []string
	Resources     []string // "pods/log" for a subresource
	ResourceNames []string // empty for all

	NonResourceURLs []string
}

// RuleResolver lists what a user may do in a namespace. Incomplete says that there may be more,
// why says why.
type RuleResolver interface {
	RulesFor(ctx context.Context, who *user.Info, namespace string) (rules []Rule, incomplete bool, why error)
}
