package audit

import (
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// Policy sets the level of each request. It is immutable.
type Policy auditv1.Policy

// metadataOfAll is the default policy.
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
