package kube2014

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// code is what the project's Go files declare and use. Of tests it has only the names:
// documents do not mention their helpers.
type code struct {
	positions *token.FileSet
	declared  map[string]map[string]lines // by file: Name or Type.Method
	members   map[string]map[string]bool  // by type: its fields and methods
	packages  map[string]bool             // names of ours
	words     map[string]bool             // declared names, those that are used of libraries, texts, JSON names
}

// lines are those of a declaration, without the comment above it.
type lines struct{ first, last int }

func readCode(t *testing.T) *code {
	c := &code{token.NewFileSet(), map[string]map[string]lines{}, map[string]map[string]bool{}, map[string]bool{}, nil}
	c.words, _ = tests(t)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(c.positions, path, nil, parser.SkipObjectResolution)
		if err == nil {
			c.declared[path] = map[string]lines{}
			c.packages[file.Name.Name] = true
			c.readDeclarations(path, file)
			c.readUses(file)
		}
		return err
	}))
	return c
}

func (c *code) readDeclarations(path string, file *ast.File) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
				c.declareMember(of, name)
				name = of + "." + name
			}
			c.declare(path, name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						c.declare(path, name.Name, s)
					}
				case *ast.TypeSpec:
					c.declare(path, s.Name.Name, s)
					c.declareMembers(s)
				}
			}
		}
	}
}

func (c *code) readUses(file *ast.File) {
	c.words[file.Name.Name] = true
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ImportSpec:
			c.words[strings.Trim(n.Path.Value[strings.LastIndex(n.Path.Value, "/")+1:], `"`)] = true
		case *ast.SelectorExpr:
			c.words[n.Sel.Name] = true
		case *ast.BasicLit:
			text, _ := strconv.Unquote(n.Value)
			c.words[text] = true
			json, _, _ := strings.Cut(reflect.StructTag(text).Get("json"), ",")
			c.words[json] = true
			if strings.HasPrefix(text, "/") { // of a key in etcd
				for segment := range strings.SplitSeq(text, "/") {
					c.words[segment] = true
				}
			}
		}
		return true
	})
}

func (c *code) declare(path, name string, declaration ast.Node) {
	c.declared[path][name] = lines{c.positions.Position(declaration.Pos()).Line, c.positions.Position(declaration.End()).Line}
	c.words[name[strings.LastIndex(name, ".")+1:]] = true
}

func (c *code) declareMembers(s *ast.TypeSpec) {
	var members []*ast.Field
	switch t := s.Type.(type) {
	case *ast.StructType:
		members = t.Fields.List
	case *ast.InterfaceType:
		members = t.Methods.List
	}
	for _, member := range members {
		for _, name := range member.Names {
			c.declareMember(s.Name.Name, name.Name)
		}
	}
}

func (c *code) declareMember(of, name string) {
	if c.members[of] == nil {
		c.members[of] = map[string]bool{}
	}
	c.members[of][name], c.words[name] = true, true
}

// has reports whether a name exists: Name, package.Name, Type.Member, or a path of JSON
// names, such as currentState.host.
func (c *code) has(name string) bool {
	of := ""
	for part := range strings.SplitSeq(name, ".") {
		if !c.words[part] || (c.members[of] != nil && !c.packages[of] && !c.members[of][part]) {
			return false
		}
		of = part
	}
	return true
}
