// Package admission decides about changes of objects after it is clear who asks for them and
// that they may: plugins, in an order, change what is to be stored and then check it. It knows
// neither door, and no plugin.
package admission

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/auth/user"
)

// Operation is what a request does with an object.
type Operation string

// The operations.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Object is an object of today's API: a pointer to one of its types. As an alias it is the same type as
// rest.Object.
type Object = interface {
	metav1.Object
	runtime.Object
}

// Attributes are what a plugin may know of a change. They belong to one request, and to one
// goroutine at a time.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind
	Resource    schema.GroupVersionResource
	Subresource string
	Namespace   string // "" for what has none
	Name        string // "" for a name that is generated later, and for a collection that is deleted
	User        *user.Info
	DryRun      bool           // nothing is stored
	Options     runtime.Object // of the request; nil at the first door

	// MayCreate is whether an update creates the object if somebody deletes it meanwhile.
	MayCreate bool

	// Object is what is to be stored, nil for a delete. A plugin that changes may change it, or
	// put another one of the same type into its place; one that checks leaves it alone.
	Object Object
	// OldObject is what is stored, nil for a new object. Nobody changes it.
	OldObject Object

	request *Request
}

// Reinvoked reports whether the plugins that change are asked for the second time, because one of
// them wanted so.
func (a *Attributes) Reinvoked() bool { return a.request != nil && a.request.reinvoked }

// Reinvoke asks for a second round of the plugins that change. There is no third one.
func (a *Attributes) Reinvoke() {
	if a.request != nil {
		a.request.again = true
	}
}

// Warn tells the client something. The first door cannot.
func (a *Attributes) Warn(text string) {
	if a.request != nil && a.request.Warn != nil {
		a.request.Warn(text)
	}
}

// Annotate tells the audit something.
func (a *Attributes) Annotate(key, value string) {
	if a.request != nil && a.request.Annotate != nil {
		a.request.Annotate(key, value)
	}
}

// OnEnd lets a function run when the request has ended. Known is whether it is known if the change
// was made: after some errors of a store it is not. OnEnd may be called several times.
func (a *Attributes) OnEnd(ended func(known bool)) {
	if a.request != nil {
		a.request.onEnd = append(a.request.onEnd, ended)
	}
}

// Memory returns what a plugin remembers between the calls for one request, under a key of its
// own: a pointer to a value that was zero at first.
func Memory[Value any](a *Attributes, key any) *Value {
	if a.request == nil {
		return new(Value)
	}
	if kept, ok := a.request.memory[key].(*Value); ok {
		return kept
	}
	kept := new(Value)
	if a.request.memory == nil {
		a.request.memory = map[any]any{}
	}
	a.request.memory[key] = kept
	return kept
}
