// Package printers makes rows of objects: the table that today's server answers to who asks
// for one, and that kubectl get shows. Its functions change nothing and may be called
// concurrently; the time is an argument.
package printers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Printer has the columns of a kind, and how an object fills them. One that has none prints
// an object's name and when it was created.
type Printer struct {
	// Columns are those of kubectl get, with priority 1 those that only -o wide shows.
	// They are shared: nobody changes them.
	Columns []metav1.TableColumnDefinition
	// Cells has a value for each column. It panics if the object is of another kind.
	Cells func(object runtime.Object, now time.Time) []any
	// conditions of the row, if the kind has any.
	conditions func(runtime.Object) []metav1.TableRowCondition
}

// Table returns a table without rows.
func (p Printer) Table() *metav1.Table {
	return &metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: "Table", APIVersion: metav1.SchemeGroupVersion.String()},
		ColumnDefinitions: p.orDefault().Columns,
		Rows:              []metav1.TableRow{},
	}
}

// Row returns the cells and the conditions of an object's row.
func (p Printer) Row(object runtime.Object, now time.Time) (cells []any, conditions []metav1.TableRowCondition) {
	p = p.orDefault()
	cells = p.Cells(object, now)
	if p.conditions != nil {
		conditions = p.conditions(object)
	}
	return cells, conditions
}

// orDefault returns the printer, or that for all kinds if it is none.
func (p Printer) orDefault() Printer {
	if p.Cells == nil {
		return byDefault
	}
	return p
}

// byDefault prints objects of every kind that has no printer of its own.
var byDefault = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		{Name: "Created At", Type: "date", Description: metadataDoc["creationTimestamp"]},
	},
	Cells: of(func(object metav1.Object, _ time.Time) []any {
		return []any{object.GetName(), object.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	}),
}

var (
	metadataDoc = metav1.ObjectMeta{}.SwaggerDoc()
	nameColumn  = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: metadataDoc["name"]}
	ageColumn   = text("Age", metadataDoc["creationTimestamp"])
)

func text(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

func number(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "integer", Description: description}
}

// wide marks a column that only -o wide shows.
func wide(column metav1.TableColumnDefinition) metav1.TableColumnDefinition {
	column.Priority = 1
	return column
}

// of makes a function on one kind of objects one on objects.
func of[T any](cells func(T, time.Time) []any) func(runtime.Object, time.Time) []any {
	return func(object runtime.Object, now time.Time) []any { return cells(object.(T), now) }
}

// since says how long ago it was, as briefly as a column of ages wants it.
func since(then, now time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(then))
}
