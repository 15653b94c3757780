// Package markers has what only comments in the Go source of today's API say, such as "+enum" and
// "+listType=map": the values of enums, how lists and maps are merged, defaults. Its functions are
// safe for concurrent use.
//
// They read a table that is built into the program, and remember only where its paragraphs are: callers keep what they
// need. In the table, a paragraph begins with the path of a package and the name of a type. Its
// lines have columns. The first is a value of an enum, in quotation marks, then its meaning follows.
// Or it is the name of a field in JSON, or "." for the struct itself, and attributes follow.
package markers

import (
	_ "embed"
	"iter"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

//go:embed table.txt
var table string

// Value is a value of an enum.
type Value struct{ Text, Meaning string }

// Enum returns the values of an enum, sorted; none if the type is no enum.
func Enum(t reflect.Type) (values []Value) {
	if t.Kind() != reflect.String {
		return nil
	}
	for first, rest := range lines(t) {
		if text, err := strconv.Unquote(first); err == nil {
			values = append(values, Value{text, rest})
		}
	}
	return values
}

// Markers are those of a field, or of a struct.
type Markers struct {
	ListType    string   // atomic, set or map
	ListMapKeys []string // the fields that identify an element of a list of type map
	MapType     string   // atomic or granular; also of structs
	Default     string   // in JSON
	Required    bool     // although JSON may omit it
	Optional    bool     // although JSON has it always
	Doc         string   // the description, where the method SwaggerDoc is missing or differs
	// Union says that at most one field of a struct is set. The field with Discriminator names it.
	Union, Discriminator bool
}

// Struct returns the markers of the fields of a struct by their names in JSON, and of the struct
// itself by ".". Fields without markers are missing, as are those of embedded structs.
func Struct(t reflect.Type) map[string]Markers {
	fields := map[string]Markers{}
	for name, rest := range lines(t) {
		fields[name] = parse(rest)
	}
	return fields
}

func parse(columns string) (m Markers) {
	for column := range strings.SplitSeq(columns, "\t") {
		name, value, _ := strings.Cut(column, "=")
		switch name {
		case "list":
			m.ListType = value
		case "key":
			m.ListMapKeys = append(m.ListMapKeys, value)
		case "map":
			m.MapType = value
		case "default":
			m.Default = value
		case "doc":
			m.Doc, _ = strconv.Unquote(value)
		case "required":
			m.Required = true
		case "optional":
			m.Optional = true
		case "union":
			m.Union = true
		case "unionDiscriminator":
			m.Discriminator = true
		}
	}
	return m
}

// paragraphs has the lines about types, by the path of the package and the name of the type.
var paragraphs = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	for paragraph := range strings.SplitSeq(table, "\n\n") {
		name, lines, _ := strings.Cut(paragraph, "\n")
		all[name] = lines
	}
	return all
})

// lines returns the lines about a type: the first column, and the rest.
func lines(t reflect.Type) iter.Seq2[string, string] {
	return func(yield func(first, rest string) bool) {
		for line := range strings.Lines(paragraphs()[t.PkgPath()+"."+t.Name()]) {
			first, rest, _ := strings.Cut(strings.Trim(line, "\t\n"), "\t")
			if !yield(first, rest) {
				return
			}
		}
	}
}
