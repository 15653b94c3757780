package api

// Policy is what the objects of role-based access control, and a quota, have in common. June 2014
// has none of them: apart from their metadata they are remainder.
type Policy struct {
	JSONBase
	ObjectMeta
	Labels map[string]string
}

// The objects of role-based access control: what may be done, and who may do it, in a
// namespace or everywhere.
type (
	// Role is a list of things that may be done in a namespace.
	Role struct{ Policy }
	// RoleBinding says who has a role in a namespace.
	RoleBinding struct{ Policy }
	// ClusterRole is a list of things that may be done.
	ClusterRole struct{ Policy }
	// ClusterRoleBinding says who has a cluster role everywhere.
	ClusterRoleBinding struct{ Policy }
)

// Quota is what is noted of the use of a resource whose objects are counted. Its id is the name of
// the resource. No API serves it.
type Quota struct{ Policy }

var (
	_ Object = (*Role)(nil)
	_ Object = (*RoleBinding)(nil)
	_ Object = (*ClusterRole)(nil)
	_ Object = (*ClusterRoleBinding)(nil)
	_ Object = (*Quota)(nil)
)

// GetLabels implements Object.
func (p *Policy) GetLabels() map[string]string { return p.Labels }

// SetLabels sets the labels.
func (p *Policy) SetLabels(labels map[string]string) { p.Labels = labels }
