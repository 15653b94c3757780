// Package admission controls changes of objects after authentication and authorization: a chain of
// plugins first mutates the object, then validates it. The package does not depend on the doors or
// on any plugin.
package admission

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/user"
)

// Operation is the kind of a change.
type Operation string

// The operations.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT" // to what is behind an object
)

// Operations are those that a plugin handles. A plugin embeds them to implement Interface.
type Operations []Operation

// Handles implements Interface.
func (o Operations) Handles(operation Operation) bool { return slices.Contains(o, operation) }

// The operations of many plugins.
var (
	Writes = Operations{Create, Update} // those that store an object
	All    = Operations{Create, Update, Delete, Connect}
)

// Object is an object of today's API: a pointer to one of its types. It is the same type as rest.Object.
type Object = interface {
	metav1.Object
	runtime.Object
}

// Attributes describe a change to plugins. They belong to one request, and are for one goroutine at a
// time.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string // "" for cluster-scoped objects
	Name        string // "" for a name that is generated later, and for the delete of a collection
	User        *user.Info
	DryRun      bool           // nothing is stored
	Options     runtime.Object // of the request; nil at the first door

	// MayCreate reports whether an update creates the object if it is deleted meanwhile.
	MayCreate bool

	// Object is the object to store, nil for a delete; for a Connect it is the ConnectOptions. A mutating plugin may change it, or replace it
	// by another one of the same type; a validating plugin must not change it.
	Object Object
	// OldObject is the stored object, nil for a new object. It must not be changed.
	OldObject Object

	request *Request
}

// of returns the request of the attributes. Those of a test may have none.
func (a *Attributes) of() *Request {
	if a.request == nil {
		a.request = &Request{}
	}
	return a.request
}

// Reinvoked reports whether this is the second round of the mutating plugins.
func (a *Attributes) Reinvoked() bool { return a.of().reinvoked }

// Reinvoke requests a second round of the mutating plugins. There is no third one.
func (a *Attributes) Reinvoke() { a.of().again = true }

// Warn sends a warning to the client. The first door cannot.
func (a *Attributes) Warn(text string) {
	if warn := a.of().Warn; warn != nil {
		warn(text)
	}
}

// Annotate adds an annotation to the audit event.
func (a *Attributes) Annotate(key, value string) {
	if annotate := a.of().Annotate; annotate != nil {
		annotate(key, value)
	}
}

// OnEnd registers a function that is called when the request has ended. Known is false if an error of
// a store leaves open whether the change was stored. OnEnd may be called several times.
func (a *Attributes) OnEnd(ended func(known bool)) { a.of().onEnd = append(a.of().onEnd, ended) }

// Memory returns the state of a plugin during one request, by a key of its own: a pointer to a value
// that is zero at first.
func Memory[Value any](a *Attributes, key any) *Value {
	r := a.of()
	if stored, ok := r.memory[key].(*Value); ok {
		return stored
	}
	if r.memory == nil {
		r.memory = map[any]any{}
	}
	value := new(Value)
	r.memory[key] = value
	return value
}

// ConnectOptions makes an Object of the options of a Connect. Its metadata are empty, and not encoded. No plugin changes it.
type ConnectOptions struct {
	metav1.ObjectMeta
	runtime.Object
}

// DeepCopyObject implements runtime.Object.
func (o *ConnectOptions) DeepCopyObject() runtime.Object {
	return &ConnectOptions{Object: o.Object.DeepCopyObject()}
}

// MarshalJSON implements json.Marshaler.
func (o *ConnectOptions) MarshalJSON() ([]byte, error) { return json.Marshal(o.Object) }
