package api

import "cmp"

// Kind is a kind of stored objects. The kinds of June 2014, and nodes, have the constants below, which
// errors and uids contain. Any other kind is named as in the keys of its objects: by a resource of
// today's API, such as deployments, or by RESOURCE.GROUP of another group.
type Kind string

// The kinds with a name of their own.
const (
	TaskKind       Kind = "task"
	ControllerKind Kind = "replication controller"
	ServiceKind    Kind = "service"
	EndpointsKind  Kind = "endpoints"
	NodeKind       Kind = "node"
)

// NamespaceDefault is the namespace of all objects of June 2014, which has no namespaces.
const NamespaceDefault = "default"

// Key identifies an object. Namespace is empty for an object of a kind without namespaces.
type Key struct {
	Kind      Kind
	Namespace string
	ID        string
}

// DefaultKey returns the key of an object in the namespace default, or of a node, which has none.
func DefaultKey(kind Kind, id string) Key {
	if kind == NodeKind {
		return Key{Kind: kind, ID: id}
	}
	return Key{kind, NamespaceDefault, id}
}

// ServerService is the id of the service, in the namespace default, by which pods find the server, and of its endpoints.
const ServerService = "kubernetes"

// IsServers reports whether the key is that of ServerService or of its endpoints.
func (k Key) IsServers() bool {
	return k.ID == ServerService && k.Namespace == NamespaceDefault && (k.Kind == ServiceKind || k.Kind == EndpointsKind)
}

// IsServers reports whether an object is ServerService or its endpoints, which June 2014 does not see. A service that
// the first door made under this id is not: it has no remainder.
func IsServers(object Object) bool { return object.Key().IsServers() && object.Meta().Remainder != "" }

// InWords returns the kind and the id, for errors.
func (k Key) InWords() string { return string(k.Kind) + " " + Quote(k.ID) }

// key returns the key of an object of a kind with namespaces.
func (m *ObjectMeta) key(kind Kind, id string) Key {
	return Key{kind, cmp.Or(m.Namespace, NamespaceDefault), id}
}

// Key implements Object.
func (t *Task) Key() Key { return t.key(TaskKind, t.ID) }

// Key implements Object.
func (c *ReplicationController) Key() Key { return c.key(ControllerKind, c.ID) }

// Key implements Object.
func (s *Service) Key() Key { return s.key(ServiceKind, s.ID) }

// Key implements Object: endpoints have the id of their service.
func (e *Endpoints) Key() Key { return e.key(EndpointsKind, e.Name) }
