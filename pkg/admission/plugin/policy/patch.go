package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	policypatch "k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	celmutation "k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/expressions"
	"kube2014/pkg/api/v1/patch"
	"kube2014/pkg/util/quantity"
)

// maxObject bounds a changed object, in bytes, as the body of a client's request.
const maxObject = 3 << 20

// patch returns the object of a change as a mutation of a policy makes it. The error is a status if it is not the policy's.
func (p *mutating) patch(m *mutation, in *expressions.Input, change *expressions.Change, a *admission.Attributes) (admission.Object, error) {
	budget := int64(celconfig.RuntimeCELCostBudget)
	if m.Error != nil {
		return nil, m.Error
	}
	value, err := in.Evaluate(&m.expression, &budget)
	if err != nil {
		return nil, err
	}
	if m.isJSONPatch {
		return applyJSONPatch(value, change.Object)
	}
	return p.applyConfiguration(value, change, a)
}

// applyConfiguration merges the fields of an object of CEL, as apply does. Nobody becomes their manager.
func (p *mutating) applyConfiguration(value ref.Val, change *expressions.Change, a *admission.Attributes) (admission.Object, error) {
	fields, err := fieldsOf(value)
	if err != nil {
		return nil, err
	}
	kind := p.matcher.Kind(a)
	if kind == nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.", change.Kind))
	}
	configuration := &unstructured.Unstructured{Object: fields}
	configuration.SetGroupVersionKind(change.Kind)
	merged, err := policypatch.ApplyStructuredMergeDiff(kind, change.Object, configuration)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	object, err := kind.ConvertToVersion(merged, change.Kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return object.(admission.Object), nil
}

// fieldsOf returns those of an object of CEL whose types have the names of their paths.
func fieldsOf(value ref.Val) (map[string]any, error) {
	object, ok := value.(*dynamic.ObjectVal)
	if !ok {
		return nil, fmt.Errorf("unsupported return type from ApplyConfiguration expression: %v", value.Type())
	}
	if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
		return nil, fmt.Errorf("type mismatch: %w", err)
	}
	return object.Value().(map[string]any), nil
}

// applyJSONPatch applies a list of operations of CEL. If a test of it fails, it changes nothing.
func applyJSONPatch(value ref.Val, object admission.Object) (admission.Object, error) {
	operations, err := operationsOf(value)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, apierrors.NewInternalError(errors.New("the operations cannot be encoded"))
	}
	changes, err := patch.Parse(apitypes.JSONPatchType, text)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(object)
	if err != nil {
		return nil, apierrors.NewInternalError(errors.New("the object cannot be encoded"))
	}
	after, err := changes.Apply(before)
	switch {
	case patch.IsFailedTest(err):
		return object, nil
	case err != nil:
		return nil, fmt.Errorf("JSON Patch: %w", patch.Why(err))
	}
	return decode(after, object)
}

// operation is one of a JSON patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	From  string          `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

func operationsOf(value ref.Val) (all []operation, err error) {
	list, ok := value.(traits.Lister)
	if !ok {
		return nil, errors.New("type mismatch: JSONPatchType.expression should evaluate to array")
	}
	for i := list.Iterator(); i.HasNext() == types.True; {
		native, err := i.Next().ConvertToNative(reflect.TypeFor[*celmutation.JSONPatchVal]())
		if err != nil {
			return nil, fmt.Errorf("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch: %w", err)
		}
		of := native.(*celmutation.JSONPatchVal)
		one := operation{Op: of.Op, Path: of.Path, From: of.From}
		if of.Val != nil {
			if one.Value, err = textOf(of.Val); err != nil {
				return nil, err
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// textOf returns the JSON of a value of CEL.
func textOf(value ref.Val) (json.RawMessage, error) {
	if object, ok := value.(*dynamic.ObjectVal); ok {
		if err := object.CheckTypeNamesMatchFieldPathNames(); err != nil {
			return nil, fmt.Errorf("type mismatch: %w", err)
		}
	}
	native, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err == nil {
		var text []byte
		if text, err = json.Marshal(native); err == nil {
			return text, nil
		}
	}
	return nil, fmt.Errorf("JSONPath valueExpression evaluated to a type that could not marshal to JSON: %w", err)
}

// decode returns the object in a text, which is of the type of another one. A field that the type does not have is an error.
func decode(text []byte, like admission.Object) (admission.Object, error) {
	if len(text) > maxObject {
		return nil, fmt.Errorf("JSON Patch: the object would have more than %d bytes", maxObject)
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	object := reflect.New(reflect.TypeOf(like).Elem()).Interface().(admission.Object)
	if own, ok := object.(*unstructured.Unstructured); ok {
		if err := own.UnmarshalJSON(text); err != nil {
			return nil, apierrors.NewInternalError(err)
		}
		return own, nil
	}
	strict, err := kjson.UnmarshalStrict(text, object)
	if err == nil && len(strict) > 0 {
		err = runtime.NewStrictDecodingError(strict)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return object, nil
}
