package api

import (
	"cmp"
	"strconv"
)

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

// Claim is something that no two objects may hold at once: a host port of a machine.
type Claim struct {
	Space  string // where the number is unique: the machine
	Number int
}

// HostPorts is the directory of the host ports of all machines.
const HostPorts = "hostports"

// Path returns the claim as a part of a key.
func (c Claim) Path() string { return HostPorts + "/" + c.Space + "/" + strconv.Itoa(c.Number) }

// AppendClaims implements Object: a task on a machine claims its host ports there.
func (t *Task) AppendClaims(claims []Claim) []Claim {
	if t.CurrentState.Host == "" {
		return claims
	}
	for i := range t.DesiredState.Manifest.Containers {
		for _, port := range t.DesiredState.Manifest.Containers[i].Ports {
			if port.HostPort != 0 {
				claims = append(claims, Claim{t.CurrentState.Host, port.HostPort})
			}
		}
	}
	return claims
}

// AppendClaims implements Object: most objects claim nothing.
func (*ObjectMeta) AppendClaims(claims []Claim) []Claim { return claims }

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

// Any is an object of a kind that June 2014 does not know. Its remainder has all but its
// metadata.
type Any struct {
	Kind Kind
	ID   string
	ObjectMeta
	Labels map[string]string
}

// Key implements Object.
func (a *Any) Key() Key { return Key{a.Kind, a.Namespace, a.ID} }

// GetLabels implements Object.
func (a *Any) GetLabels() map[string]string { return a.Labels }

// SetLabels implements Object.
func (a *Any) SetLabels(labels map[string]string) { a.Labels = labels }

// SetID sets the id.
func (a *Any) SetID(id string) { a.ID = id }
