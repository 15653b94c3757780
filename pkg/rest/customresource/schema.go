package customresource

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
	kjson "sigs.k8s.io/json"
	smd "sigs.k8s.io/structured-merge-diff/v6/typed"

	"kube2014/pkg/api/v1/typed"
)

// schemaOf is the schema of one version of a kind. It is read-only, and safe for concurrent use.
type schemaOf struct {
	structural *structuralschema.Structural
	// rules are built by the first write: reads do not need them.
	rules func() (*rules, error)
}

// rules are the parts of a schema that check an object.
type rules struct {
	whole, status validation.SchemaValidator // status is nil if the schema has none
	expressions   *cel.Validator             // nil if it has none
}

// newSchema returns the schema of a version, which must have passed the checks for definitions.
func newSchema(version *apiextensionsv1.CustomResourceDefinitionVersion) (*schemaOf, error) {
	var props *apiextensions.JSONSchemaProps // without any, objects may have any fields
	if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
		props = &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil); err != nil {
			return nil, err
		}
	}
	s := &schemaOf{structural: &structuralschema.Structural{Extensions: structuralschema.Extensions{XPreserveUnknownFields: true}}}
	if props != nil {
		structural, err := structuralschema.NewStructural(props)
		if err != nil {
			return nil, err
		}
		s.structural = structural.DeepCopy() // its defaults are those of the definition
		if err := defaulting.PruneDefaults(s.structural); err != nil {
			return nil, err
		}
	}
	s.rules = sync.OnceValues(func() (*rules, error) { return newRules(props, s.structural) })
	return s, nil
}

func newRules(props *apiextensions.JSONSchemaProps, structural *structuralschema.Structural) (r *rules, err error) {
	r = &rules{expressions: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	if r.whole, _, err = validation.NewSchemaValidator(props); err != nil || props == nil {
		return r, err
	}
	if status, has := props.Properties["status"]; has {
		r.status, _, err = validation.NewSchemaValidator(&status)
	}
	return r, err
}

// coercion says what to do with what a schema does not allow.
type coercion struct {
	drop  bool // drop invalid metadata of embedded objects: they were stored before they were checked
	track bool // return the paths of unknown fields
}

// coerce drops what the schema does not know, as decoding into a Go type does, and returns the paths of it. Metadata with a
// wrong type is an error.
func (s *schemaOf) coerce(object *unstructured.Unstructured, c coercion) (unknown []string, err error) {
	apiVersion, kind := object.GetAPIVersion(), object.GetKind()
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(object.Object, objectmeta.ObjectMetaOptions{DropMalformedFields: c.drop, ReturnUnknownFieldPaths: c.track})
	if err != nil {
		return nil, err
	}
	pruned := pruning.PruneWithOptions(object.Object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: c.track})
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, s.structural)
	wrong, embedded := objectmeta.CoerceWithOptions(nil, object.Object, s.structural, false, objectmeta.CoerceOptions{DropInvalidFields: c.drop, ReturnUnknownFieldPaths: c.track})
	if wrong != nil {
		return nil, wrong
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	if found {
		err = objectmeta.SetObjectMeta(object.Object, metadata)
	}
	return append(append(unknown, pruned...), embedded...), err
}

// related are two versions of an object, by which a rule finds out what has not changed: that is not checked again where
// today's server does not. It is nil for a new object.
func (s *schemaOf) related(now, old *unstructured.Unstructured) *common.CorrelatedObject {
	if old == nil {
		return nil
	}
	return common.NewCorrelatedObject(now.Object, old.Object, &model.Structural{Structural: s.structural})
}

// values returns the errors of an object by its schema.
func (r *rules) values(now, old *unstructured.Unstructured, related *common.CorrelatedObject) field.ErrorList {
	if old == nil {
		return validation.ValidateCustomResource(nil, now.Object, r.whole)
	}
	return validation.ValidateCustomResourceUpdate(nil, now.Object, old.Object, r.whole, validation.WithRatcheting(related))
}

// statusValues is values for the status only.
func (r *rules) statusValues(now, old *unstructured.Unstructured, related *common.CorrelatedObject) field.ErrorList {
	status, has := now.Object["status"]
	if !has || r.status == nil {
		return nil
	}
	return validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], r.status, validation.WithRatcheting(related.Key("status")))
}

// lists returns the errors of lists that are sets or maps. What was wrong before may stay so.
func (s *schemaOf) lists(now, old *unstructured.Unstructured) field.ErrorList {
	if old != nil && len(listtype.ValidateListSetsAndMaps(nil, s.structural, old.Object)) > 0 {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, s.structural, now.Object)
}

// evaluate returns the errors by the rules in CEL. They are not evaluated on an object with errs of which they could fail. What
// was wrong before, and may stay so, is a warning for the recorder of the context.
func (r *rules) evaluate(ctx context.Context, now, old *unstructured.Unstructured, related *common.CorrelatedObject, errs field.ErrorList) field.ErrorList {
	if r.expressions == nil {
		return nil
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	var before any
	var options []cel.Option
	if old != nil {
		before, options = old.Object, []cel.Option{cel.WithRatcheting(related)}
	}
	errs, _ = r.expressions.Validate(ctx, nil, nil, now.Object, before, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

// typed returns the type by which the objects of a version are compared and merged. It is made when it is first needed.
func (v *version) typed() func() (smd.ParseableType, error) {
	return sync.OnceValues(func() (smd.ParseableType, error) {
		properties, err := v.properties()
		if err != nil {
			return smd.ParseableType{}, err
		}
		return typed.OfSchema(properties)
	})
}

// errUnserved is the error for a definition whose schema cannot be read. The checks for definitions should not have let it pass.
func errUnserved(err error) error {
	return fmt.Errorf("the server could not properly serve the CR schema: %w", err)
}

func (v *version) schema() (*schemaOf, error) {
	s, err := v.built()
	if err != nil {
		return nil, errUnserved(err)
	}
	return s, nil
}

func (v *version) rules() (*schemaOf, *rules, error) {
	s, err := v.schema()
	if err != nil {
		return nil, nil, err
	}
	rules, err := s.rules()
	if err != nil {
		return nil, nil, errUnserved(err)
	}
	return s, rules, nil
}

// decode implements Decode of rest.Untyped.
func (v *version) decode(text []byte, into *unstructured.Unstructured) (unknown []error, err error) {
	s, err := v.schema()
	if err != nil {
		return nil, err
	}
	var members map[string]any
	if unknown, err = kjson.UnmarshalStrict(text, &members); err != nil {
		return nil, err
	}
	into.Object = members
	paths, err := s.coerce(into, coercion{track: true})
	for _, path := range paths {
		unknown = append(unknown, fmt.Errorf("unknown field %q", path))
	}
	return unknown, err
}

// selectableFields returns the fields that lists select by, as OpenAPI says it.
func selectableFields(fields []apiextensionsv1.SelectableField) (said []any) {
	for _, f := range fields {
		said = append(said, map[string]any{"fieldPath": strings.TrimPrefix(f.JSONPath, ".")})
	}
	return said
}

// properties implements Schema of rest.Resource.
func (v *version) properties() (map[string]any, error) {
	whole, err := v.definition.read()
	if err != nil {
		return nil, err
	}
	for _, of := range whole.Spec.Versions {
		if of.Name == v.of.Name && of.Schema != nil && of.Schema.OpenAPIV3Schema != nil {
			properties, err := runtime.DefaultUnstructuredConverter.ToUnstructured(of.Schema.OpenAPIV3Schema)
			if err == nil && len(of.SelectableFields) > 0 {
				properties["x-kubernetes-selectable-fields"] = selectableFields(of.SelectableFields)
			}
			return properties, err
		}
	}
	return nil, nil
}
