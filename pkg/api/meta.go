package api

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"math"
	"time"
)

// Kind is a kind of stored objects. It is also the word for one of them in an
// error.
type Kind string

// The kinds of objects.
const (
	TaskKind       Kind = "task"
	ControllerKind Kind = "replication controller"
	ServiceKind    Kind = "service"
	EndpointsKind  Kind = "endpoints"
	NodeKind       Kind = "node"
	EventKind      Kind = "event"

	RoleKind               Kind = "role"
	RoleBindingKind        Kind = "role binding"
	ClusterRoleKind        Kind = "cluster role"
	ClusterRoleBindingKind Kind = "cluster role binding"

	QuotaKind Kind = "quota"
)

// ObjectMeta is what the server knows of an object besides what June 2014 does.
// Its store sets the versions.
type ObjectMeta struct {
	// ResourceVersion is the store's version after the last change of the object. Of an object that is
	// to replace another one it is, as in today's API, the version of that one: 0 for any, or ToBeCreated.
	ResourceVersion uint64
	CreationVersion uint64            // the store's version after its creation
	UID             string            // if it has one of its own, see UIDOf
	CreationTime    time.Time         // zero if it is unknown
	Annotations     map[string]string // nobody selects by them
	Remainder       string            // what only v1 can say of the object: JSON that only v1 reads
}

// ToBeCreated is the version of an object that is to be stored only if there is none of its id. Nothing that
// is stored has it.
const ToBeCreated uint64 = math.MaxUint64 - 4

// Meta returns the metadata itself, to be read or, by the owner of the object, to
// be changed.
func (m *ObjectMeta) Meta() *ObjectMeta { return m }

// UIDOf returns the uid of an object, which differs from that of an earlier object
// with the same id. If it has none of its own, the uid is derived from its id and the
// version of its creation, and so stays the same for its life.
func UIDOf(object Object) string {
	meta := object.Meta()
	if meta.UID != "" {
		return meta.UID
	}
	sum := sha1.Sum(fmt.Appendf(nil, "%s/%s/%d", object.GetKind(), object.GetID(), meta.CreationVersion))
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80 // version and variant of a UUID from a name
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (m ObjectMeta) deepCopy() ObjectMeta {
	m.Annotations = maps.Clone(m.Annotations)
	return m
}

// Object is what a store keeps: a pointer to one of the objects of this package.
type Object interface {
	// GetKind returns the kind of the object.
	GetKind() Kind
	// GetID returns the id: no other object of the kind has it.
	GetID() string
	// GetLabels returns the labels by which the object is selected, read-only.
	GetLabels() map[string]string
	// Meta returns the metadata itself.
	Meta() *ObjectMeta
	// Inherit completes an object that v1 has made of an earlier version of it: it takes
	// over what only June 2014's API can say.
	Inherit(earlier Object)
}

var (
	_ Object = (*Task)(nil)
	_ Object = (*ReplicationController)(nil)
	_ Object = (*Service)(nil)
	_ Object = (*Endpoints)(nil)
	_ Object = (*Node)(nil)
	_ Object = (*Event)(nil)
)

// GetKind implements Object.
func (Task) GetKind() Kind { return TaskKind }

// GetKind implements Object.
func (ReplicationController) GetKind() Kind { return ControllerKind }

// GetKind implements Object.
func (Service) GetKind() Kind { return ServiceKind }

// GetKind implements Object.
func (Endpoints) GetKind() Kind { return EndpointsKind }

// GetKind implements Object.
func (Node) GetKind() Kind { return NodeKind }

// GetKind implements Object.
func (Event) GetKind() Kind { return EventKind }

// GetLabels implements Object.
func (t Task) GetLabels() map[string]string { return t.Labels }

// GetLabels implements Object.
func (c ReplicationController) GetLabels() map[string]string { return c.Labels }

// GetLabels implements Object.
func (s Service) GetLabels() map[string]string { return s.Labels }

// GetLabels implements Object. Endpoints of June 2014 have none.
func (Endpoints) GetLabels() map[string]string { return nil }

// GetLabels implements Object.
func (n Node) GetLabels() map[string]string { return n.Labels }

// GetLabels implements Object.
func (e Event) GetLabels() map[string]string { return e.Labels }

// GetID implements Object: endpoints have the id of their service.
func (e Endpoints) GetID() string { return e.Name }

// EmptyList returns the list without items of a kind.
func EmptyList(kind Kind) interface{} {
	switch kind {
	case TaskKind:
		return TaskList{Items: []Task{}}
	case ControllerKind:
		return ReplicationControllerList{Items: []ReplicationController{}}
	case ServiceKind:
		return ServiceList{Items: []Service{}}
	}
	panic("api: there is no list of " + string(kind))
}

// HostPorts returns the host ports that the task wants. Port 0 is none: it collides
// with nothing (D19).
func (t Task) HostPorts() []int {
	var ports []int
	for _, container := range t.DesiredState.Manifest.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, port.HostPort)
			}
		}
	}
	return ports
}
