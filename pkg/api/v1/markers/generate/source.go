package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// source is what a package declares.
type source struct {
	types     map[string]declared[*ast.TypeSpec]
	constants []declared[*ast.ValueSpec]
}

// declared is a declaration with the comment directly above it.
type declared[T any] struct {
	spec    T
	comment string
}

// addPackage adds the types of a package.
func (t table) addPackage(path, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read package %s: %w", path, err)
	}
	s, positions := source{types: map[string]declared[*ast.TypeSpec]{}}, token.NewFileSet()
	for _, file := range files {
		if !isSource(file.Name()) {
			continue
		}
		parsed, err := parser.ParseFile(positions, filepath.Join(dir, file.Name()), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse package %s: %w", path, err)
		}
		s.addFile(parsed)
	}
	constants, enums := s.enums()
	for name, values := range enums {
		if len(values) > 0 {
			t[path+"."+name] = values.lines()
		}
	}
	for name, d := range s.types {
		if isStruct, ok := d.spec.Type.(*ast.StructType); ok {
			lines, err := structLines(d, isStruct, constants)
			if err != nil {
				return fmt.Errorf("struct %s.%s: %w", path, name, err)
			}
			if len(lines) > 0 {
				t[path+"."+name] = lines
			}
		}
	}
	return nil
}

// isSource leaves out tests and generated code, which is large.
func isSource(file string) bool {
	isGenerated := strings.HasPrefix(file, "zz_generated.") || strings.HasPrefix(file, "generated.") || strings.HasSuffix(file, "_generated.go")
	return strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") && !isGenerated
}

func (s *source) addFile(file *ast.File) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.types[spec.Name.Name] = declared[*ast.TypeSpec]{spec, above(spec.Doc, group)}
			case *ast.ValueSpec:
				s.constants = append(s.constants, declared[*ast.ValueSpec]{spec, above(spec.Doc, group)})
			}
		}
	}
}

// above returns the comment above a declaration, which belongs to its group if that has no parentheses.
func above(doc *ast.CommentGroup, group *ast.GenDecl) string {
	if doc == nil && !group.Lparen.IsValid() {
		doc = group.Doc
	}
	return doc.Text()
}

// enums returns the texts of all constants by name, and the enums by type.
func (s *source) enums() (map[string]string, map[string]enum) {
	constants, enums := map[string]string{}, map[string]enum{}
	for name, d := range s.types {
		if of, ok := d.spec.Type.(*ast.Ident); ok && of.Name == "string" && markersOf(d.comment).has("enum") {
			enums[name] = enum{}
		}
	}
	for _, d := range s.constants {
		for i, expression := range d.spec.Values {
			text, of, ok := constant(expression, d.spec.Type)
			if !ok {
				continue
			}
			name := d.spec.Names[i].Name
			constants[name] = text
			if enums[of] != nil {
				enums[of].add(value{name, text, d.comment})
			}
		}
	}
	return constants, enums
}

// constant returns the text of a constant, and its type, which may stand around the text.
func constant(expression, declared ast.Expr) (text, of string, ok bool) {
	if call, isCall := expression.(*ast.CallExpr); isCall && len(call.Args) == 1 {
		expression, declared = call.Args[0], call.Fun
	}
	if name, isName := declared.(*ast.Ident); isName {
		of = name.Name
	}
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, of, err == nil
}

// structLines returns a line for the struct, and one for each field that has markers.
func structLines(d declared[*ast.TypeSpec], of *ast.StructType, constants map[string]string) (lines []string, err error) {
	if own := markersOf(d.comment).attributes(); len(own) > 0 {
		lines = append(lines, strings.Join(append([]string{"."}, own...), "\t"))
	}
	for _, f := range of.Fields.List {
		name, options := jsonName(f)
		if name == "" || name == "-" {
			continue
		}
		columns, err := fieldColumns(markersOf(f.Doc.Text()), options, constants)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		if len(columns) > 0 {
			lines = append(lines, strings.Join(append([]string{name}, columns...), "\t"))
		}
	}
	return lines, nil
}

// fieldColumns returns what the markers of a field add to its Go type and its tag.
func fieldColumns(m markers, options string, constants map[string]string) ([]string, error) {
	columns := m.attributes()
	omitted := strings.Contains(options, "omitempty")
	switch {
	case m.has("required") && omitted:
		columns = append(columns, "required")
	case m.has("optional") && !m.has("required") && !omitted:
		columns = append(columns, "optional")
	}
	if !m.has("default") {
		return columns, nil
	}
	text := m["default"][0]
	if reference, ok := strings.CutPrefix(text, "ref("); ok {
		constant, ok := constants[strings.TrimSuffix(reference, ")")]
		if !ok {
			return nil, fmt.Errorf("default %s is no constant of the package", text)
		}
		text = strconv.Quote(constant)
	}
	return append(columns, "default="+text), nil
}

func jsonName(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	tag, _ := strconv.Unquote(f.Tag.Value) // the parser has checked it
	name, options, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name, options
}
