// Package printers converts objects to rows of the tables that kubectl get shows. Its functions
// change nothing and are safe for concurrent use.
package printers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
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

// Ago is a cell that says how long ago a time was, between two texts.
type Ago struct {
	Before string
	Then   time.Time
	After  string
}

// since returns the cell with the time that has passed.
func since(then time.Time) any {
	if then.IsZero() {
		return "<unknown>"
	}
	return Ago{Then: then}
}

// Age returns the cell with the age of a time in RFC 3339.
func Age(timestamp string) any {
	then, err := time.Parse(time.RFC3339, timestamp)
	if err != nil && timestamp != "" {
		return "<invalid>"
	}
	return since(then)
}

// A row is the JSON of the cells and the conditions of a metav1.TableRow, as its first members. It is the same at all times:
// where a duration belongs, it has a mark, which JSON never has, and the time since when.
const (
	mark     = '\x00'
	markSize = 1 + 8 + 4 // with the seconds and the nanoseconds
)

// Row returns the row of an object. AppendRow completes it.
func (p Printer) Row(object runtime.Object) ([]byte, error) {
	p = p.orDefault()
	row := []byte(`"cells":[`)
	for i, cell := range p.Cells(object) {
		if i > 0 {
			row = append(row, ',')
		}
		var err error
		if row, err = appendCell(row, cell); err != nil {
			return nil, err
		}
	}
	row = append(row, ']')
	if p.conditions != nil {
		if conditions := p.conditions(object); len(conditions) > 0 {
			encoded, err := json.Marshal(conditions)
			if err != nil {
				return nil, err
			}
			row = append(append(row, `,"conditions":`...), encoded...)
		}
	}
	return bytes.Clone(row), nil // it may be kept: without the room to grow
}

func appendCell(row []byte, cell any) ([]byte, error) {
	switch cell := cell.(type) {
	case string:
		return append(appendEscaped(append(row, '"'), cell), '"'), nil
	case Ago:
		row = append(appendEscaped(append(row, '"'), cell.Before), mark)
		row = binary.BigEndian.AppendUint64(row, uint64(cell.Then.Unix()))
		row = binary.BigEndian.AppendUint32(row, uint32(cell.Then.Nanosecond()))
		return append(appendEscaped(row, cell.After), '"'), nil
	}
	encoded, err := json.Marshal(cell)
	return append(row, encoded...), err
}

// appendEscaped appends what is between the quotes of a text in JSON. Most texts are without escapes: to encode them by reflection
// would take a tenth of the time of a table.
func appendEscaped(text []byte, word string) []byte {
	needsEscape := func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }
	if strings.IndexFunc(word, needsEscape) < 0 {
		return append(text, word...)
	}
	quoted, _ := json.Marshal(word) // a text can be encoded
	return append(text, quoted[1:len(quoted)-1]...)
}

// AppendRow appends a row as it is at a time.
func AppendRow(text, row []byte, now time.Time) []byte {
	for {
		i := bytes.IndexByte(row, mark)
		if i < 0 {
			return append(text, row...)
		}
		then := time.Unix(int64(binary.BigEndian.Uint64(row[i+1:])), int64(binary.BigEndian.Uint32(row[i+9:])))
		text = appendEscaped(append(text, row[:i]...), duration.HumanDuration(now.Sub(then)))
		row = row[i+markSize:]
	}
}
