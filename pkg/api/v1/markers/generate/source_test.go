package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// source is what a package declares.
type source struct {
	path      string
	types     map[string]declared[*ast.TypeSpec]
	constants []declared[*ast.ValueSpec]
	docs      map[string]map[string]string // what SwaggerDoc returns, by type
	methods   map[string]bool              // Type.Method
}

// declared is a declaration with the comment directly above it.
type declared[T any] struct {
	spec    T
	comment string
	file    *ast.File
}

// documentation is the file with the methods SwaggerDoc.
const documentation = "types_swagger_doc_generated.go"

// readPackage reads the source of a package, without tests and generated code, which is large.
func readPackage(importPath, dir string) (*source, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", importPath, err)
	}
	s := &source{importPath, map[string]declared[*ast.TypeSpec]{}, nil, map[string]map[string]string{}, map[string]bool{}}
	positions := token.NewFileSet()
	for _, file := range files {
		name := file.Name()
		isGenerated := strings.HasPrefix(name, "zz_generated.") || strings.HasPrefix(name, "generated.") || strings.HasSuffix(name, "_test.go")
		if isGenerated || !strings.HasSuffix(name, ".go") {
			continue
		}
		parsed, err := parser.ParseFile(positions, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse package %s: %w", importPath, err)
		}
		s.addFile(parsed, name == documentation)
	}
	return s, nil
}

func (s *source) addFile(file *ast.File, isDocumentation bool) {
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil {
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				s.methods[of.Name+"."+f.Name.Name] = true
			}
		}
		group, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				s.types[spec.Name.Name] = declared[*ast.TypeSpec]{spec, above(spec.Doc, group), file}
			case *ast.ValueSpec:
				if group.Tok == token.CONST {
					s.constants = append(s.constants, declared[*ast.ValueSpec]{spec, above(spec.Doc, group), file})
				} else if of, ok := strings.CutPrefix(spec.Names[0].Name, "map_"); ok && isDocumentation {
					s.docs[of] = texts(spec.Values[0])
				}
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

// texts returns the pairs of a literal map of texts.
func texts(literal ast.Expr) map[string]string {
	pairs := map[string]string{}
	if literal, ok := literal.(*ast.CompositeLit); ok {
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				key, _ := text(pair.Key)
				pairs[key], _ = text(pair.Value)
			}
		}
	}
	return pairs
}

func text(expression ast.Expr) (string, bool) {
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// constant returns the text of a constant, and its type in this package, which may stand around the text.
// The text may be that of a constant of another package, whose constants are known.
func (d declared[T]) constant(expression, of ast.Expr, known map[string]string) (value, ofType string, ok bool) {
	if call, isCall := expression.(*ast.CallExpr); isCall && len(call.Args) == 1 {
		expression, of = call.Args[0], call.Fun
	}
	if name, isName := of.(*ast.Ident); isName {
		ofType = name.Name
	}
	if other, isSelector := expression.(*ast.SelectorExpr); isSelector {
		if name, isName := other.X.(*ast.Ident); isName {
			value, ok = known[d.imported(name.Name)+"."+other.Sel.Name]
			return value, ofType, ok
		}
	}
	value, ok = text(expression)
	return value, ofType, ok
}

// imported returns the path of the package that a file imports by a name.
func (d declared[T]) imported(name string) string {
	for _, spec := range d.file.Imports {
		from, _ := text(spec.Path)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path.Base(from) == name {
			return from
		}
	}
	return ""
}

func jsonName(f *ast.Field) (name, options string) {
	if f.Tag == nil {
		return "", ""
	}
	tag, _ := text(f.Tag)
	name, options, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	return name, options
}
