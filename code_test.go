package kube2014

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// code is what the project's Go files declare and use, by name.
type code struct {
	names    map[string]bool             // package, Name, package.Name, Type.Member, package.Type.Member
	declared map[string]map[string]lines // by file: where it declares Name or Type.Method
	words    map[string]bool             // JSON names and string literals of the program
	flags    map[string]bool             // flags of the apiserver
	segments map[string]bool             // segments of keys in etcd
	aliases  []alias

	positions *token.FileSet
}

// alias is another name of a type.
type alias struct{ pkg, name, of string }

// lines are those of a declaration, without the comment above it.
type lines struct{ first, last int }

// readCode reads all Go files of the project. Of test files it takes only the
// names of tests, because documents do not mention their helpers.
func readCode(t *testing.T) *code {
	c := &code{
		names: map[string]bool{}, declared: map[string]map[string]lines{},
		words: map[string]bool{}, flags: map[string]bool{}, segments: map[string]bool{},
		positions: token.NewFileSet(),
	}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		file, err := parser.ParseFile(c.positions, path, nil, parser.SkipObjectResolution)
		if err == nil {
			c.read(filepath.ToSlash(path), file)
		}
		return err
	}))
	for range c.aliases { // an alias may name another one
		for _, alias := range c.aliases {
			for name := range maps.Clone(c.names) {
				if member, ok := strings.CutPrefix(name, alias.of+"."); ok {
					c.names[alias.name+"."+member], c.names[alias.pkg+"."+alias.name+"."+member] = true, true
				}
			}
		}
	}
	return c
}

func (c *code) read(path string, file *ast.File) {
	c.declared[path] = map[string]lines{}
	c.names[file.Name.Name] = true
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = typeName(d.Recv.List[0].Type) + "." + name
			}
			c.declare(path, file, name)
			c.locate(path, name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				c.readSpec(path, file, spec)
			}
		}
	}
	if !isTest(path) {
		c.readUses(path, file)
	}
}

func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }

func (c *code) readSpec(path string, file *ast.File, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			c.declare(path, file, name.Name)
			c.locate(path, name.Name, s)
		}
	case *ast.TypeSpec:
		c.declare(path, file, s.Name.Name)
		c.locate(path, s.Name.Name, s)
		var members *ast.FieldList
		switch t := s.Type.(type) {
		case *ast.StructType:
			members = t.Fields
		case *ast.InterfaceType:
			members = t.Methods
		default:
			if s.Assign.IsValid() {
				of := file.Name.Name + "." + typeName(s.Type)
				if other, ok := s.Type.(*ast.SelectorExpr); ok {
					of = typeName(other.X) + "." + other.Sel.Name
				}
				c.aliases = append(c.aliases, alias{file.Name.Name, s.Name.Name, of})
			}
			return
		}
		for _, member := range members.List {
			for _, name := range member.Names {
				c.declare(path, file, s.Name.Name+"."+name.Name)
			}
			if member.Tag != nil && !isTest(path) {
				name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(member.Tag.Value, "`")).Get("json"), ",")
				c.words[name] = true
			}
		}
	}
}

// declare records a name or Type.Member, with and without its type and package.
func (c *code) declare(path string, file *ast.File, name string) {
	if isTest(path) && !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
		return
	}
	for _, spelling := range []string{name, name[strings.LastIndex(name, ".")+1:]} {
		c.names[spelling] = true
	}
	c.names[file.Name.Name+"."+name] = true
}

// locate records where a file declares a name. No document links to lines of tests.
func (c *code) locate(path, name string, declaration ast.Node) {
	if isTest(path) {
		return
	}
	c.declared[path][name] = lines{
		first: c.positions.Position(declaration.Pos()).Line,
		last:  c.positions.Position(declaration.End()).Line,
	}
}

// readUses records the imported names, flags and string literals in a file.
func (c *code) readUses(path string, file *ast.File) {
	imported := map[string]bool{}
	for _, spec := range file.Imports {
		imported[strings.Trim(spec.Path.Value[strings.LastIndex(spec.Path.Value, "/")+1:], `"`)] = true
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && imported[of.Name] {
				c.names[of.Name+"."+n.Sel.Name] = true
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasSuffix(f.Sel.Name, "Var") && len(n.Args) > 2 {
				if name, ok := n.Args[1].(*ast.BasicLit); ok {
					c.flags[strings.Trim(name.Value, `"`)] = true
				}
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				return true
			}
			if path == "pkg/storage/etcd2/cache/keys.go" {
				for segment := range strings.SplitSeq(text, "/") {
					c.segments[segment] = true
				}
			}
			c.words[text] = true
		}
		return true
	})
}

// typeName returns the name of a receiver's type.
func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
