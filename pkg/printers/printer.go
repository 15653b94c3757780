// Package printers converts objects to rows of the tables that kubectl get shows. Its functions
// change nothing and are safe for concurrent use.
package printers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Printer has the columns of a kind, and a function that returns the cells of an object. The zero
// value prints the name and the creation time.
type Printer struct {
	// Columns returns those of kubectl get. Those with priority 1 are only for -o wide. They are shared and
	// must not be changed.
	Columns func() []metav1.TableColumnDefinition
	// Cells returns a value for each column, an Ago if it depends on the time. It panics if the object is of another kind.
	Cells func(object runtime.Object) []any
	// conditions returns those of the row; nil for none.
	conditions func(runtime.Object) []metav1.TableRowCondition
}

// Table returns a table without rows.
func (p Printer) Table() *metav1.Table {
	return &metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: "Table", APIVersion: metav1.SchemeGroupVersion.String()},
		ColumnDefinitions: p.orDefault().Columns(),
		Rows:              []metav1.TableRow{},
	}
}

// orDefault returns the printer, or byDefault for the zero value.
func (p Printer) orDefault() Printer {
	if p.Cells == nil {
		return byDefault
	}
	return p
}

// byDefault prints objects of kinds without a printer.
var byDefault = table[metav1.PartialObjectMetadata](name, with(column{TableColumnDefinition: metav1.TableColumnDefinition{Name: "Created At", Type: "date", Description: metadataDoc["creationTimestamp"]}},
	func(object metav1.Object) string { return object.GetCreationTimestamp().UTC().Format(time.RFC3339) }))

// Named prints the name and the age of objects of any kind.
var Named = table[metav1.PartialObjectMetadata](name, age)

// of adapts a typed function to runtime.Object.
func of[T any](cells func(T) []any) func(runtime.Object) []any {
	return func(object runtime.Object) []any { return cells(object.(T)) }
}
