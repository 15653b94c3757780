package node

import corev1 "k8s.io/api/core/v1"

// readsOf lets a node get, list and watch single objects of a kind in a namespace.
func readsOf(kind Kind) func(question) answer {
	return func(q question) answer {
		switch {
		case !q.does("get", "list", "watch"):
			return refused("can only read resources of this type")
		case q.Subresource != "":
			return refused("cannot read subresource")
		case q.Namespace == "":
			return refused("can only read namespaced object of this type")
		}
		return q.related(kind)
	}
}

// getsOf lets a node get objects of a kind.
func getsOf(kind Kind) func(question) answer {
	return func(q question) answer {
		switch {
		case !q.does("get"):
			return refused("can only get individual resources of this type")
		case q.Subresource != "":
			return refused("cannot get subresource")
		}
		return q.related(kind)
	}
}

func aboutClaims(q question) answer {
	switch {
	case q.Subresource != "status":
		return getsOf(Claim)(q)
	case !q.does("update", "patch"):
		return refused("can only get/update/patch this type")
	}
	return q.related(Claim)
}

func aboutAccounts(q question) answer {
	switch {
	case q.Verb == "get" && q.Subresource == "":
		return readsOf(Account)(q)
	case q.Verb != "create" || q.Name == "":
		return refused("can only create tokens for individual service accounts")
	case q.Subresource != "token":
		return refused("can only create token subresource of serviceaccount")
	}
	return q.related(Account)
}

// ownVerbs are what a node does to objects with its own name.
var ownVerbs = []string{"get", "create", "update", "patch", "delete"}

// The name of a new object is not known here.

func aboutLeases(q question) answer {
	switch {
	case !q.does(ownVerbs...):
		return refused("can only get, create, update, patch, or delete a node lease")
	case q.Namespace != corev1.NamespaceNodeLease:
		return refusedf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case q.Verb != "create" && q.Name != q.node:
		return refused("can only access node lease with the same name as the requesting node")
	}
	return allowed
}

func aboutCSINodes(q question) answer {
	switch {
	case !q.does(ownVerbs...):
		return refused("can only get, create, update, patch, or delete a CSINode")
	case q.Subresource != "":
		return refused("cannot authorize CSINode subresources")
	case q.Verb != "create" && q.Name != q.node:
		return refused("can only access CSINode with the same name as the requesting node")
	}
	return allowed
}

func aboutSlices(q question) answer {
	switch {
	case q.Subresource != "":
		return refused("cannot authorize ResourceSlice subresources")
	case q.Verb == "create":
		return allowed
	case q.does("get", "update", "patch", "delete"):
		return q.related(Slice)
	case !q.does("watch", "list", "deletecollection"):
		return refused("only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection")
	case !q.selectsOwn():
		return refused("can only list/watch/deletecollection resourceslices with nodeName field selector")
	}
	return allowed
}

// aboutNodes lets a node read itself by its name: it does so before it is there.
func aboutNodes(q question) answer {
	switch {
	case q.Subresource == "" && q.does("create", "update", "patch"), q.Subresource == "status" && q.does("update", "patch"):
		return allowed
	case q.Subresource != "" || !q.does("get", "list", "watch"):
		return refused("")
	case q.Name == "":
		return refusedf("node '%s' cannot read all nodes, only its own Node object", q.node)
	case q.Name != q.node:
		return refusedf("node '%s' cannot read '%s', only its own Node object", q.node, q.Name)
	}
	return allowed
}

// aboutPods lets a node read its pods, and create and delete mirror pods.
func aboutPods(q question) answer {
	switch q.Subresource {
	case "status":
		if q.does("update", "patch") {
			return allowed
		}
	case "eviction":
		if q.does("create") {
			return allowed
		}
	case "":
		switch {
		case q.does("create", "delete"):
			return allowed
		case q.does("get"):
			return q.related(Pod)
		case !q.does("list", "watch"):
			return refused("")
		case q.selectsOwn():
			return allowed
		case q.Name != "":
			return q.related(Pod)
		default:
			return refused("can only list/watch pods with spec.nodeName field selector")
		}
	}
	return refused("")
}
