// Package expressions evaluates the CEL expressions of webhooks and policies.
package expressions

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/auth/authorizer"
)

// Change has the values that expressions may read of a change in a version. Each is made when an expression first reads it. A change is
// for one goroutine.
type Change struct {
	matching.View
	attributes *admission.Attributes
	namespace  func() (*corev1.Namespace, error)
	rights     rights
	values     map[string]any
}

// NewChange returns the values of a view of a change. The namespace may be nil, or return nil.
func NewChange(view matching.View, a *admission.Attributes, namespace func() (*corev1.Namespace, error), of authorizer.Authorizer) *Change {
	return &Change{view, a, namespace, rights{of}, map[string]any{}}
}

// setObject replaces the object.
func (c *Change) setObject(object admission.Object) {
	c.Object = object
	delete(c.values, plugincel.ObjectVarName)
}

// value returns the value of a name. An error becomes a value of CEL.
func (c *Change) value(name string) (value any, known bool) {
	if value, known = c.values[name]; known {
		return value, true
	}
	var err error
	switch name {
	case plugincel.ObjectVarName:
		value, err = members(c.Object, c.Kind)
	case plugincel.OldObjectVarName:
		value, err = members(c.OldObject, c.Kind)
	case plugincel.RequestVarName:
		value, err = c.request()
	case plugincel.NamespaceVarName:
		value, err = c.namespaceMembers()
	case plugincel.AuthorizerVarName:
		value = library.NewAuthorizerVal(userOf(c.attributes), c.rights)
	case plugincel.RequestResourceAuthorizerVarName:
		value = library.NewResourceAuthorizerVal(userOf(c.attributes), c.rights, requested{c.attributes})
	default:
		return nil, false
	}
	if err != nil {
		value = types.NewErr("failed to prepare %s variable for evaluation: %v", name, err)
	}
	c.values[name] = value
	return value, true
}

func (c *Change) request() (any, error) {
	request, err := matching.NewRequest(c.Version, c.attributes)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(request)
}

// namespaceMembers returns those of the namespace, or null.
func (c *Change) namespaceMembers() (any, error) {
	if c.namespace == nil {
		return nil, nil
	}
	namespace, err := c.namespace()
	if err != nil || namespace == nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(plugincel.CreateNamespaceObject(namespace))
}

// members returns those of an object, or null.
func members(object runtime.Object, kind schema.GroupVersionKind) (any, error) {
	switch of := object.(type) {
	case nil:
		return nil, nil
	case *unstructured.Unstructured:
		return of.Object, nil
	}
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	all["apiVersion"], all["kind"] = kind.GroupVersion().String(), kind.Kind
	return all, nil
}

// activation gives an expression its values.
type activation struct {
	*Change
	params    any
	variables any  // of the policy
	matches   bool // the namespace is null
}

var _ interpreter.Activation = (*activation)(nil)

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	switch {
	case name == plugincel.ParamsVarName:
		return a.params, true
	case name == plugincel.VariableVarName:
		return a.variables, true
	case name == plugincel.NamespaceVarName && a.matches:
		return nil, true
	}
	return a.value(name)
}

// Parent implements interpreter.Activation.
func (*activation) Parent() interpreter.Activation { return nil }
