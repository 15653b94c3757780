package printers

import (
	"cmp"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/util"
)

// column is a column with its cells. The path of a field, in JSON, gives it the field's description and value.
type column struct {
	metav1.TableColumnDefinition
	path    string
	missing any                                                  // the cell of an object without the field; nil for that of the zero value
	show    func(object runtime.Object, field reflect.Value) any // returns the cell; nil for the field's value

	index []int // of the field
}

// table returns the printer of a kind whose objects are pointers to T. It finds the fields when it is first needed: that of
// all kinds takes half a millisecond of a start. It panics then if a path is of no field.
func table[T any](columns ...column) Printer {
	found := sync.OnceValue(func() []column {
		for i := range columns {
			if columns[i].path != "" {
				columns[i].find(reflect.TypeFor[T]())
			}
		}
		return columns
	})
	return Printer{
		Columns: sync.OnceValue(func() (all []metav1.TableColumnDefinition) {
			for _, c := range found() {
				all = append(all, c.TableColumnDefinition)
			}
			return all
		}),
		Cells: func(object runtime.Object) []any {
			columns := found()
			cells := make([]any, len(columns))
			for i := range columns {
				cells[i] = columns[i].cell(object)
			}
			return cells
		},
	}
}

// find finds the field in a struct.
func (c *column) find(t reflect.Type) {
	f, in, found := util.JSONField(t, c.path)
	if !found {
		panic("no field " + c.path)
	}
	if c.index, t = f.Index, f.Type; t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	doc := reflect.Zero(in).Interface().(interface{ SwaggerDoc() map[string]string }).SwaggerDoc()
	c.Description = cmp.Or(c.Description, doc[util.JSONName(f)])
	if c.show == nil {
		c.missing = cmp.Or(c.missing, valueOf(reflect.Zero(t)))
	}
}

func (c *column) cell(object runtime.Object) any {
	var field reflect.Value
	if c.path != "" {
		field, _ = reflect.ValueOf(object).Elem().FieldByIndexErr(c.index) // none behind a pointer that is nil
	}
	value := reflect.Indirect(field)
	switch {
	case c.show != nil && (value.IsValid() || c.missing == nil):
		return c.show(object, value)
	case !value.IsValid(), field.Kind() == reflect.String && field.Len() == 0:
		return c.missing
	}
	return valueOf(value)
}

func valueOf(field reflect.Value) any {
	switch field.Kind() {
	case reflect.String:
		return field.String()
	case reflect.Bool:
		return field.Bool()
	case reflect.Int32, reflect.Int64:
		return field.Int()
	}
	return nil // of such a field the column does not show the value
}

var (
	metadataDoc = metav1.ObjectMeta{}.SwaggerDoc()

	name = with(text("Name", "", metadataDoc["name"]).as("name"), metav1.Object.GetName)
	age  = with(text("Age", "", metadataDoc["creationTimestamp"]), func(object metav1.Object) any { return since(object.GetCreationTimestamp().Time) })
)

// text returns the column of a field, or of none if the path is "". It may have a description of its own.
func text(name, path string, description ...string) column {
	return columnOf("string", name, path, description)
}

func number(name, path string, description ...string) column {
	return columnOf("integer", name, path, description)
}

func truth(name, path string, description ...string) column {
	return columnOf("boolean", name, path, description)
}

func columnOf(kind, name, path string, description []string) column {
	return column{TableColumnDefinition: metav1.TableColumnDefinition{Name: name, Type: kind, Description: strings.Join(description, "")}, path: path}
}

// or shows a text, or another value, if the field is missing.
func (c column) or(missing any) column {
	c.missing = missing
	return c
}

// as sets the format.
func (c column) as(format string) column {
	c.Format = format
	return c
}

// wide marks a column that only -o wide shows.
func wide(c column) column {
	c.Priority = 1
	return c
}

// with shows the result of a function of the object, or of the field or a pointer to it: the zero value if it is missing.
func with[T, V any](c column, show func(of T) V) column {
	c.show = func(object runtime.Object, field reflect.Value) any {
		of, is := object.(T)
		switch {
		case is || !field.IsValid():
		case reflect.TypeFor[T]().Kind() == reflect.Pointer:
			of = field.Addr().Interface().(T)
		default:
			of = field.Interface().(T)
		}
		return show(of)
	}
	return c
}

// count shows how many elements a field has.
func count(c column) column {
	c.show = func(_ runtime.Object, field reflect.Value) any { return int64(field.Len()) }
	return c
}

// namesOf shows the names of the containers of the template at a path, imagesOf their images.
func namesOf(path string) column {
	return with(text("Containers", path, "Names of each container in the template."), func(template *corev1.PodTemplateSpec) string {
		return listOf(template, func(c *corev1.Container) string { return c.Name })
	})
}

func imagesOf(path string) column {
	return with(text("Images", path, "Images referenced by each container in the template."), func(template *corev1.PodTemplateSpec) string {
		return listOf(template, func(c *corev1.Container) string { return c.Image })
	})
}

func listOf(template *corev1.PodTemplateSpec, part func(*corev1.Container) string) string {
	if template == nil {
		return ""
	}
	return strings.Join(each(template.Spec.Containers, part), ",")
}

// each returns the text of each element of a list.
func each[T any](list []T, textOf func(*T) string) (texts []string) {
	for i := range list {
		texts = append(texts, textOf(&list[i]))
	}
	return texts
}
