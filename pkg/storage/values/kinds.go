package values

import "kube2014/pkg/api"

// kinds has, for each kind of object, its directory in etcd, and what makes an empty one
// and tells where its id is.
var kinds = map[api.Kind]struct {
	directory string
	make      func() (api.Object, *string)
}{
	api.TaskKind:       {"/pods", func() (api.Object, *string) { o := &api.Task{}; return o, &o.ID }},
	api.ControllerKind: {"/controllers", func() (api.Object, *string) { o := &api.ReplicationController{}; return o, &o.ID }},
	api.ServiceKind:    {"/services/specs", func() (api.Object, *string) { o := &api.Service{}; return o, &o.ID }},
	api.EndpointsKind:  {"/services/endpoints", func() (api.Object, *string) { o := &api.Endpoints{}; return o, &o.Name }},
	api.NodeKind:       {"/minions", func() (api.Object, *string) { o := &api.Node{}; return o, &o.ID }},
	api.EventKind:      {"/events", func() (api.Object, *string) { o := &api.Event{}; return o, &o.ID }},

	api.RoleKind:               {"/roles", func() (api.Object, *string) { o := &api.Role{}; return o, &o.ID }},
	api.RoleBindingKind:        {"/rolebindings", func() (api.Object, *string) { o := &api.RoleBinding{}; return o, &o.ID }},
	api.ClusterRoleKind:        {"/clusterroles", func() (api.Object, *string) { o := &api.ClusterRole{}; return o, &o.ID }},
	api.ClusterRoleBindingKind: {"/clusterrolebindings", func() (api.Object, *string) { o := &api.ClusterRoleBinding{}; return o, &o.ID }},

	api.QuotaKind: {"/resourcequotas", func() (api.Object, *string) { o := &api.Quota{}; return o, &o.ID }},
}

// Kinds returns the kinds of objects that a store can keep, in no order.
func Kinds() (all []api.Kind) {
	for kind := range kinds {
		all = append(all, kind)
	}
	return all
}

// Directory returns where the objects of a kind are, below the prefix of all keys. A kind
// that is not in the table is a mistake in the program: Directory panics.
func Directory(kind api.Kind) string {
	known, ok := kinds[kind]
	if !ok {
		panic("values: nobody has said where a " + string(kind) + " is stored")
	}
	return known.directory
}

// HasAnyName reports whether the id of an object of a kind may be all that can be a segment of a
// path. Those of other kinds have neither spaces nor signs that mean something in a key.
func HasAnyName(kind api.Kind) bool {
	switch kind {
	case api.RoleKind, api.RoleBindingKind, api.ClusterRoleKind, api.ClusterRoleBindingKind:
		return true
	}
	return false
}

// New returns an empty object of a kind, and where its id is.
func New(kind api.Kind) (object api.Object, id *string) { return kinds[kind].make() }
