package api

import (
	"crypto/sha1"
	"fmt"
	"maps"
	"math"
	"time"
)

// ObjectMeta is the metadata of an object that June 2014 does not have. The
// store sets the versions.
type ObjectMeta struct {
	Namespace string // empty means default, or none for a kind without namespaces
	// ResourceVersion is the store's version after the last change of the object. In a write it is,
	// as in today's API, the version of the object to replace: 0 for any, or ToBeCreated.
	ResourceVersion uint64
	CreationVersion uint64            // the store's version after its creation
	UID             string            // "" if it is derived, see UIDOf
	CreationTime    time.Time         // zero if it is unknown
	Annotations     map[string]string // not selectable
	Remainder       Remainder         // the fields that only v1 has, which only v1 reads
	ManagedFields   ManagedFields
}

// ToBeCreated means: store only if absent. No stored object has this version.
const ToBeCreated uint64 = math.MaxUint64 - 4

// Meta returns the metadata itself. Only the owner of the object may change it.
func (m *ObjectMeta) Meta() *ObjectMeta { return m }

// UIDOf returns the uid of an object, which differs from that of an earlier object
// with the same id. If the object has no uid of its own, it is derived from the key
// and the creation version, which never change.
func UIDOf(object Object) string {
	meta := object.Meta()
	if meta.UID != "" {
		return meta.UID
	}
	key := object.Key()
	name := fmt.Appendf(nil, "%s/%s/%d", key.Kind, key.ID, meta.CreationVersion)
	if key.Namespace != NamespaceDefault && key.Namespace != "" {
		name = fmt.Appendf(name, "/%s", key.Namespace) // the other uids are older than namespaces, and must not change
	}
	sum := sha1.Sum(name)
	sum[6], sum[8] = sum[6]&0x0f|0x50, sum[8]&0x3f|0x80 // version and variant of a name-based UUID
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (m ObjectMeta) deepCopy() ObjectMeta {
	m.Annotations = maps.Clone(m.Annotations)
	return m
}

// Object is an object in a store: a pointer to an object type of this package.
type Object interface {
	// Key returns the key, which is unique except for Placed objects, see Twin.
	Key() Key
	// GetLabels returns the labels by which the object is selected, read-only.
	GetLabels() map[string]string
	// SetLabels replaces the labels. Only the owner of the object may call it.
	SetLabels(map[string]string)
	// Meta returns the metadata itself.
	Meta() *ObjectMeta
	// AppendClaims appends the claims that the object holds.
	AppendClaims([]Claim) []Claim
	// Inherit completes an object that v1 has made from an earlier version: it restores the
	// parts that only June 2014's API can express.
	Inherit(earlier Object)
}

var (
	_ Object = (*Task)(nil)
	_ Object = (*ReplicationController)(nil)
	_ Object = (*Service)(nil)
	_ Object = (*Endpoints)(nil)
	_ Object = (*Any)(nil)
)

// Placed is an optional interface of an object that a machine runs.
type Placed interface {
	// Machine returns the name of the machine, "" while the object has none.
	Machine() string
	// Twin distinguishes objects with the same key, which other programs may store.
	Twin() string
	// CheckUpdate returns an api.Invalid error if another object of the same key cannot replace this one.
	CheckUpdate(next Object) error
}

// Machine implements Placed.
func (t *Task) Machine() string { return t.CurrentState.Host }

// Twin implements Placed: other programs may give tasks on two machines the same id. A pod's
// twin does not change when it gets a machine.
func (t *Task) Twin() string {
	if t.IsPod {
		return ""
	}
	return t.CurrentState.Host
}

// GetLabels implements Object.
func (t *Task) GetLabels() map[string]string { return t.Labels }

// SetLabels implements Object.
func (t *Task) SetLabels(labels map[string]string) { t.Labels = labels }

// GetLabels implements Object.
func (c *ReplicationController) GetLabels() map[string]string { return c.Labels }

// SetLabels implements Object.
func (c *ReplicationController) SetLabels(labels map[string]string) { c.Labels = labels }

// GetLabels implements Object.
func (s *Service) GetLabels() map[string]string { return s.Labels }

// SetLabels implements Object.
func (s *Service) SetLabels(labels map[string]string) { s.Labels = labels }

// GetLabels implements Object. Endpoints of June 2014 have none.
func (*Endpoints) GetLabels() map[string]string { return nil }

// SetLabels implements Object: it does nothing.
func (*Endpoints) SetLabels(map[string]string) {}

// EmptyList returns an empty list of a kind. It panics if the kind has no list type.
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

// CheckUpdate implements Placed: a task cannot move, nor become a pod or stop being one.
func (t *Task) CheckUpdate(next Object) error {
	after, ok := next.(*Task)
	switch {
	case ok && t.IsPod != after.IsPod:
		return NewInvalid("id", "%s is that of a task that was made at the other door, and stays what it is", Quote(t.ID))
	case ok && t.CurrentState.Host != "" && after.CurrentState.Host != t.CurrentState.Host:
		return NewInvalid("currentState.host", "%s is not machine %s, where the task is: a task does not move",
			Quote(after.CurrentState.Host), t.CurrentState.Host)
	}
	return nil
}
