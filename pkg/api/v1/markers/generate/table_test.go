package generate

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// table has the lines of each type, by the path of its package and its name.
type table struct {
	types     map[string][]string
	constants map[string]string // the texts of all constants, by the path of their package and their name
}

const header = `# Made of the comments in k8s.io/api, k8s.io/apiextensions-apiserver, k8s.io/apimachinery and k8s.io/kube-aggregator (Apache License 2.0).
# Package markers explains the lines.
`

// encode returns the table as it is stored: a paragraph for each type.
func (t table) encode() []byte {
	var text bytes.Buffer
	text.WriteString(header)
	for _, name := range slices.Sorted(maps.Keys(t.types)) {
		if len(t.types[name]) > 0 {
			fmt.Fprintf(&text, "\n%s\n", name)
		}
		for _, line := range t.types[name] {
			fmt.Fprintf(&text, "\t%s\n", line)
		}
	}
	return text.Bytes()
}

// add adds the types of a package. Those that its constants refer to were added before.
func (t table) add(s *source) error {
	enums := map[string]enum{}
	for name, d := range s.types {
		if of, ok := d.spec.Type.(*ast.Ident); ok && of.Name == "string" && markersOf(d.comment).has("enum") {
			enums[name] = enum{}
		}
	}
	for _, d := range s.constants {
		for i, expression := range d.spec.Values {
			text, of, ok := d.constant(expression, d.spec.Type, t.constants)
			if !ok {
				continue
			}
			name := d.spec.Names[i].Name
			t.constants[s.path+"."+name] = text
			if enums[of] != nil {
				enums[of].add(value{name, text, d.comment})
			}
		}
	}
	for name, values := range enums {
		t.types[s.path+"."+name] = values.lines()
	}
	for name, d := range s.types {
		if fields, ok := d.spec.Type.(*ast.StructType); ok {
			lines, err := t.structLines(s, name, fields, enums)
			if err != nil {
				return fmt.Errorf("struct %s.%s: %w", s.path, name, err)
			}
			t.types[s.path+"."+name] = lines
		}
	}
	return nil
}

// structLines returns a line for a struct, and one for each of its fields, if there is anything to say.
func (t table) structLines(s *source, name string, of *ast.StructType, enums map[string]enum) (lines []string, err error) {
	add := func(name string, columns []string) {
		if len(columns) > 0 {
			lines = append(lines, strings.Join(append([]string{name}, columns...), "\t"))
		}
	}
	own := s.types[name].comment
	isInJSON := s.docs[name] != nil || len(of.Fields.List) == 0 || s.methods[name+".OpenAPISchemaType"] || slices.ContainsFunc(of.Fields.List, func(f *ast.Field) bool { return f.Tag != nil })
	if !isInJSON || !ast.IsExported(name) {
		return nil, nil
	}
	add(".", slices.Concat(markersOf(own).attributes(), docColumn(describe(own, false), s.docs[name][""])))
	for _, f := range of.Fields.List {
		field, options := jsonName(f)
		if field == "" || field == "-" {
			continue
		}
		comment, m := f.Doc.Text(), markersOf(f.Doc.Text())
		columns := append(m.attributes(), m.presence(options)...)
		if m.has("default") {
			text, err := t.defaultValue(s, m["default"][0])
			if err != nil {
				return nil, fmt.Errorf("field %s: %w", field, err)
			}
			columns = append(columns, "default="+text)
		}
		fieldType := strings.TrimPrefix(types.ExprString(f.Type), "*")
		add(field, append(columns, docColumn(describe(comment, enums[fieldType] != nil), s.docs[name][field])...))
	}
	return lines, nil
}

// defaultValue returns a default in JSON. It may refer to a constant.
func (t table) defaultValue(s *source, text string) (string, error) {
	reference, ok := strings.CutPrefix(text, "ref(")
	if !ok {
		return text, nil
	}
	constant, ok := t.constants[s.path+"."+strings.TrimSuffix(reference, ")")]
	if !ok {
		return "", fmt.Errorf("default %s is no constant of the package", text)
	}
	return strconv.Quote(constant), nil
}

// docColumn returns a description, if SwaggerDoc has another one.
func docColumn(doc, known string) []string {
	if doc == known {
		return nil
	}
	return []string{"doc=" + strconv.Quote(doc)}
}

// value is a constant of an enum.
type value struct{ name, text, comment string }

// line returns the columns of a value: itself, and its meaning without the name of the constant.
func (v value) line() string {
	meaning := strings.TrimPrefix(strings.TrimSpace(v.comment), v.name)
	return strings.TrimRight(strconv.Quote(v.text)+"\t"+strings.Join(strings.Fields(meaning), " "), "\t")
}

// enum has the values of an enum by their text.
type enum map[string]value

// add adds a value. Of two constants with the same text, the one with the longer comment counts.
func (e enum) add(v value) {
	old, there := e[v.text]
	if !there || len(old.comment) < len(v.comment) || len(old.comment) == len(v.comment) && old.comment > v.comment {
		e[v.text] = v
	}
}

// lines returns the values, sorted as Go writes them.
func (e enum) lines() (lines []string) {
	for _, v := range e {
		lines = append(lines, v.line())
	}
	slices.Sort(lines)
	return lines
}
