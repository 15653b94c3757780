// Package node authorizes the kubelets of nodes: each may read what its own pods need, and write its own objects.
package node

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
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

// answers has the resources about which the relations of a node decide. An answer is "" to allow, or why not.
var answers = map[schema.GroupResource]func(question) string{
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

// noReason refuses without a reason, as today's server does for what no kubelet does.
const noReason = "-"

// Authorize allows what a node may do, and has no opinion on the rest: RBAC may allow it.
func (a *Authorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	name, isNode := user.Node(attributes.User)
	if !isNode {
		return authorizer.NoOpinion, "", nil
	}
	if name == "" {
		return authorizer.NoOpinion, fmt.Sprintf("unknown node for user %q", attributes.User.Name), nil
	}
	answer := answers[schema.GroupResource{Group: attributes.APIGroup, Resource: attributes.Resource}]
	if answer == nil || !attributes.IsResource {
		if rbac.Allow(a.rules, &attributes) {
			return authorizer.Allow, "", nil
		}
		return authorizer.NoOpinion, "", nil
	}
	switch reason := answer(question{&attributes, a.graph, name}); reason {
	case "":
		return authorizer.Allow, "", nil
	case noReason:
		return authorizer.NoOpinion, "", nil
	default:
		return authorizer.NoOpinion, reason, nil
	}
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
func (q question) related(kind Kind) string {
	if q.Name == "" {
		return "No Object name found"
	}
	if !q.graph.Reaches(Object{kind, q.Namespace, q.Name}, q.node) {
		return q.unrelated()
	}
	return ""
}

func (q question) unrelated() string {
	return fmt.Sprintf("no relationship found between node '%s' and this object", q.node)
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

// readsOf lets a node get, list and watch single objects of a kind in a namespace.
func readsOf(kind Kind) func(question) string {
	return func(q question) string {
		switch {
		case !q.does("get", "list", "watch"):
			return "can only read resources of this type"
		case q.Subresource != "":
			return "cannot read subresource"
		case q.Namespace == "":
			return "can only read namespaced object of this type"
		}
		return q.related(kind)
	}
}

// getsOf lets a node get objects of a kind.
func getsOf(kind Kind) func(question) string {
	return func(q question) string {
		switch {
		case !q.does("get"):
			return "can only get individual resources of this type"
		case q.Subresource != "":
			return "cannot get subresource"
		}
		return q.related(kind)
	}
}

func aboutClaims(q question) string {
	switch {
	case q.Subresource != "status":
		return getsOf(Claim)(q)
	case !q.does("update", "patch"):
		return "can only get/update/patch this type"
	}
	return q.related(Claim)
}

func aboutAccounts(q question) string {
	switch {
	case q.Verb == "get" && q.Subresource == "":
		return readsOf(Account)(q)
	case q.Verb != "create" || q.Name == "":
		return "can only create tokens for individual service accounts"
	case q.Subresource != "token":
		return "can only create token subresource of serviceaccount"
	}
	return q.related(Account)
}

// ownVerbs are what a node does to objects with its own name.
var ownVerbs = []string{"get", "create", "update", "patch", "delete"}

// The name of a new object is not known here.

func aboutLeases(q question) string {
	switch {
	case !q.does(ownVerbs...):
		return "can only get, create, update, patch, or delete a node lease"
	case q.Namespace != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case q.Verb != "create" && q.Name != q.node:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}

func aboutCSINodes(q question) string {
	switch {
	case !q.does(ownVerbs...):
		return "can only get, create, update, patch, or delete a CSINode"
	case q.Subresource != "":
		return "cannot authorize CSINode subresources"
	case q.Verb != "create" && q.Name != q.node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return ""
}

func aboutSlices(q question) string {
	switch {
	case q.Subresource != "":
		return "cannot authorize ResourceSlice subresources"
	case q.Verb == "create":
		return ""
	case q.does("get", "update", "patch", "delete"):
		return q.related(Slice)
	case !q.does("watch", "list", "deletecollection"):
		return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
	case !q.selectsOwn():
		return "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return ""
}

// aboutNodes lets a node read itself by its name: it does so before it is there.
func aboutNodes(q question) string {
	switch {
	case q.Subresource == "" && q.does("create", "update", "patch"), q.Subresource == "status" && q.does("update", "patch"):
		return ""
	case q.Subresource != "" || !q.does("get", "list", "watch"):
		return noReason
	case q.Name == "":
		return fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", q.node)
	case q.Name != q.node:
		return fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", q.node, q.Name)
	}
	return ""
}

// aboutPods lets a node read its pods, and create and delete mirror pods.
func aboutPods(q question) string {
	switch q.Subresource {
	case "status":
		if q.does("update", "patch") {
			return ""
		}
	case "eviction":
		if q.does("create") {
			return ""
		}
	case "":
		switch {
		case q.does("create", "delete"):
			return ""
		case q.does("get"):
			return q.related(Pod)
		case !q.does("list", "watch"):
		case q.selectsOwn():
			return ""
		case q.Name != "":
			return q.related(Pod)
		default:
			return "can only list/watch pods with spec.nodeName field selector"
		}
	}
	return noReason
}
