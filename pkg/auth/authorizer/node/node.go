// Package node authorizes the kubelets of nodes: each may read what its own pods need, and write its own objects.
package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/rbac"
	"kube2014/pkg/auth/user"
)

// Authorizer decides about nodes, and has no opinion on other users. What a node may write to objects that it may reach, the plugin
// NodeRestriction decides. It is safe for concurrent use.
type Authorizer struct {
	graph *Graph
	rules []rbacv1.PolicyRule
}

// New returns an authorizer. The rules are for the resources that all nodes may use alike: those of the role system:node.
func New(graph *Graph, rules []rbacv1.PolicyRule) *Authorizer { return &Authorizer{graph, rules} }

// question is what a node asks to do.
type question struct {
	*authorizer.Attributes
	graph *Graph
	node  string
}

// answers has the resources about which the relations of a node decide.
var answers = map[schema.GroupResource]func(question) answer{
	{Resource: "secrets"}:                                    readsOf(Secret),
	{Resource: "configmaps"}:                                 readsOf(ConfigMap),
	{Resource: "persistentvolumeclaims"}:                     aboutClaims,
	{Resource: "persistentvolumes"}:                          getsOf(Volume),
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:   getsOf(ResourceClaim),
	{Group: "storage.k8s.io", Resource: "volumeattachments"}: getsOf(Attachment),
	{Resource: "serviceaccounts"}:                            aboutAccounts,
	{Group: "coordination.k8s.io", Resource: "leases"}:       aboutLeases,
	{Group: "storage.k8s.io", Resource: "csinodes"}:          aboutCSINodes,
	{Group: "resource.k8s.io", Resource: "resourceslices"}:   aboutSlices,
	{Resource: "nodes"}:                                      aboutNodes,
	{Resource: "pods"}:                                       aboutPods,
}

// answer allows, or says why not; "" is no reason, as of today's server for what no kubelet does.
type answer struct {
	isAllowed bool
	reason    string
}

var allowed = answer{isAllowed: true}

func refused(reason string) answer { return answer{reason: reason} }

func refusedf(format string, args ...any) answer { return refused(fmt.Sprintf(format, args...)) }

// Authorize allows what a node may do, and has no opinion on the rest: RBAC may allow it.
func (a *Authorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	name, isNode := user.Node(attributes.User)
	if !isNode {
		return authorizer.NoOpinion, "", nil
	}
	if name == "" {
		return authorizer.NoOpinion, fmt.Sprintf("unknown node for user %q", attributes.User.Name), nil
	}
	decide := answers[schema.GroupResource{Group: attributes.APIGroup, Resource: attributes.Resource}]
	if decide == nil || !attributes.IsResource {
		if rbac.Allow(a.rules, &attributes) {
			return authorizer.Allow, "", nil
		}
		return authorizer.NoOpinion, "", nil
	}
	if got := decide(question{&attributes, a.graph, name}); !got.isAllowed {
		return authorizer.NoOpinion, got.reason, nil
	}
	return authorizer.Allow, "", nil
}

// RulesFor implements authorizer.RuleResolver: what a node may do has no rules.
func (a *Authorizer) RulesFor(_ context.Context, who *user.Info, _ string) ([]authorizer.Rule, bool, error) {
	if _, isNode := user.Node(who); isNode {
		return nil, true, errors.New("node authorizer does not support user rule resolution")
	}
	return nil, false, nil
}

func (q question) does(verbs ...string) bool { return slices.Contains(verbs, q.Verb) }

// related refuses what no pod of the node needs.
func (q question) related(kind Kind) answer {
	switch {
	case q.Name == "":
		return refused("No Object name found")
	case !q.graph.Reaches(Object{kind, q.Namespace, q.Name}, q.node):
		return refusedf("no relationship found between node '%s' and this object", q.node)
	}
	return allowed
}

// selectsOwn reports whether a field selector requires the node's name in spec.nodeName.
func (q question) selectsOwn() bool {
	for _, required := range q.FieldSelector {
		if required.Key == "spec.nodeName" && required.Operator == metav1.FieldSelectorOpIn && slices.Equal(required.Values, []string{q.node}) {
			return true
		}
	}
	return false
}
