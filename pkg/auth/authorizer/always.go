package authorizer

import (
	"context"
	"slices"

	"kube2014/pkg/auth/user"
)

// AlwaysAllow allows everything.
type AlwaysAllow struct{}

// Authorize allows.
func (AlwaysAllow) Authorize(context.Context, Attributes) (Decision, string, error) {
	return Allow, "", nil
}

// RulesFor returns that everything is allowed.
func (AlwaysAllow) RulesFor(context.Context, *user.Info, string) ([]Rule, bool, error) {
	all := []string{"*"}
	return []Rule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}, false, nil
}

// AlwaysDeny allows nothing. As in today's server it has no opinion: the next authorizer may still
// allow.
type AlwaysDeny struct{}

// Authorize has no opinion, but a reason.
func (AlwaysDeny) Authorize(context.Context, Attributes) (Decision, string, error) {
	return NoOpinion, "Everything is forbidden.", nil
}

// RulesFor returns that nothing is allowed.
func (AlwaysDeny) RulesFor(context.Context, *user.Info, string) ([]Rule, bool, error) {
	return nil, false, nil
}

// PrivilegedGroups allows everything to the members of these groups, and has no opinion on other
// users. With user.Masters, and before all other authorizers, it keeps administrators from locking
// themselves out. As in today's server its rules are not listed.
type PrivilegedGroups []string

// Authorize allows if the user is in one of the groups.
func (p PrivilegedGroups) Authorize(_ context.Context, a Attributes) (Decision, string, error) {
	if slices.ContainsFunc(a.User.Groups, func(group string) bool { return slices.Contains(p, group) }) {
		return Allow, "", nil
	}
	return NoOpinion, "", nil
}
