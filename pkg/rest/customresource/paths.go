package customresource

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube2014/pkg/printers"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// find returns a function that finds the first value at a path of JSON, nil for none. The path is that of a column or of a field for
// selectors, which today's server accepts only if it parses.
func find(path string) (func(own) any, error) {
	parsed := jsonpath.New("").AllowMissingKeys(true)
	if err := parsed.Parse("{" + path + "}"); err != nil {
		return nil, err
	}
	return func(object own) any {
		results, err := parsed.FindResults(object.Object)
		if err != nil || len(results) == 0 || len(results[0]) == 0 {
			return nil
		}
		return results[0][0].Interface()
	}, nil
}

// fields returns the fields for selectors besides the usual ones.
func (v *version) fields() func(own) fields.Set {
	at := map[string]func(own) any{}
	for _, selectable := range v.of.SelectableFields {
		if value, err := find(selectable.JSONPath); err == nil {
			at[strings.TrimPrefix(selectable.JSONPath, ".")] = value
		}
	}
	return func(object own) fields.Set {
		set := fields.Set{}
		for name, value := range at {
			set[name] = ""
			if found := value(object); found != nil {
				set[name] = fmt.Sprint(found)
			}
		}
		return set
	}
}

// printer returns the printer of the columns of a version.
func printer(columns []apiextensionsv1.CustomResourceColumnDefinition) printers.Printer {
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]}}
	}
	all := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]}}
	var values []func(own) any
	for _, column := range columns {
		value, err := find(column.JSONPath)
		if err != nil {
			break // as today's server
		}
		values = append(values, value)
		description := column.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + column.JSONPath
		}
		all = append(all, metav1.TableColumnDefinition{Name: column.Name, Type: column.Type, Format: column.Format, Description: description, Priority: column.Priority})
	}
	return printers.Printer{
		Columns: func() []metav1.TableColumnDefinition { return all },
		Cells: func(object runtime.Object) []any {
			cells := []any{object.(own).GetName()}
			for i, value := range values {
				cells = append(cells, cell(all[i+1].Type, value(object.(own))))
			}
			return cells
		},
	}
}

// cell returns the cell of a value in a column of a type, nil for one of another type.
func cell(columnType string, value any) any {
	switch typed := value.(type) {
	case nil:
		return nil
	case int64:
		switch columnType {
		case "integer":
			return typed
		case "number":
			return float64(typed)
		}
	case float64:
		switch columnType {
		case "integer":
			return int64(typed)
		case "number":
			return typed
		}
	case bool:
		if columnType == "boolean" {
			return typed
		}
	case string:
		if columnType == "date" {
			return printers.Age(typed)
		}
	}
	if columnType != "string" {
		return nil
	}
	var text bytes.Buffer
	if err := jsonpath.New("").PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
		return nil
	}
	return text.String()
}

// scaled returns the errors of the wanted replicas.
func (v *version) scaled(object own) field.ErrorList {
	if v.scale() == nil {
		return nil
	}
	return replicas(object, v.scale().SpecReplicasPath)
}

// scaledStatus returns the errors of the present replicas and of their selector.
func (v *version) scaledStatus(object own) field.ErrorList {
	if v.scale() == nil {
		return nil
	}
	errs := replicas(object, v.scale().StatusReplicasPath)
	if path := v.scale().LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(object.Object, membersOf(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}

func replicas(object own, path string) field.ErrorList {
	wrong := func(value int64, why string) field.ErrorList {
		return field.ErrorList{field.Invalid(field.NewPath(path), value, why)}
	}
	switch value, _, err := unstructured.NestedInt64(object.Object, membersOf(path)...); {
	case err != nil:
		return wrong(value, err.Error())
	case value < 0:
		return wrong(value, "should be a non-negative integer")
	case value > math.MaxInt32:
		return wrong(value, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))
	}
	return nil
}

// membersOf returns the names in a path such as .spec.replicas.
func membersOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// scale returns the paths of the scale, nil if the objects have none.
func (v *version) scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.of.Subresources == nil {
		return nil
	}
	return v.of.Subresources.Scale
}

func (v *version) scaledBy() genericregistry.ScaledBy[own] {
	paths := v.scale()
	return genericregistry.ScaledBy[own]{
		Paths: v.definition.replicas(),
		Get: func(object own) (wanted, current int32, selector string) {
			number := func(path string) int32 {
				value, _, _ := unstructured.NestedInt64(object.Object, membersOf(path)...) // of another type it is not valid
				return int32(value)
			}
			if path := paths.LabelSelectorPath; path != nil {
				selector, _, _ = unstructured.NestedString(object.Object, membersOf(*path)...)
			}
			return number(paths.SpecReplicasPath), number(paths.StatusReplicasPath), selector
		},
		Missing: func(object own) error {
			if _, found, err := unstructured.NestedInt64(object.Object, membersOf(paths.SpecReplicasPath)...); found && err == nil {
				return nil
			}
			return apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", paths.SpecReplicasPath))
		},
		Set: func(object own, wanted int32) {
			_ = unstructured.SetNestedField(object.Object, int64(wanted), membersOf(paths.SpecReplicasPath)...) // else it is not valid either
		},
	}
}

// replicas returns the paths of the replicas of all versions. That of a version without a scale is nil.
func (d *Definition) replicas() managedfields.ResourcePathMappings {
	paths := managedfields.ResourcePathMappings{}
	for _, v := range d.versions {
		paths[v.row.GroupVersion.String()] = nil
		if scale := v.scale(); scale != nil {
			var path fieldpath.Path
			for _, name := range membersOf(scale.SpecReplicasPath) {
				path = append(path, fieldpath.PathElement{FieldName: &name})
			}
			paths[v.row.GroupVersion.String()] = path
		}
	}
	return paths
}
