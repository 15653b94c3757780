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
	declared map[string]map[string]lines // by file: Name or Type.Method
	members  map[string]map[string]bool  // by type: its fields and methods
	words    map[string]bool             // declared names, those that are used of libraries, texts, JSON names

	positions *token.FileSet
}

// lines are those of a declaration, without the comment above it.
type lines struct{ first, last int }

func readCode(t *testing.T) *code {
	c := &code{
		declared: map[string]map[string]lines{}, members: map[string]map[string]bool{}, words: map[string]bool{},
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
	return c
}

func (c *code) read(path string, file *ast.File) {
	isTest := strings.HasSuffix(path, "_test.go")
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			switch {
			case isTest:
				c.words[d.Name.Name] = c.words[d.Name.Name] || d.Recv == nil
			case d.Recv != nil:
				of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
				c.declareMember(of, d.Name)
				c.declare(path, of+"."+d.Name.Name, d)
			default:
				c.declare(path, d.Name.Name, d)
			}
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
	if isTest {
		return
	}
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
			if strings.HasPrefix(text, "/") {
				for segment := range strings.SplitSeq(text, "/") {
					c.words[segment] = true
				}
			}
		}
		return true
	})
}

// declare notes where a file declares a name. No document links to lines of tests.
func (c *code) declare(path, name string, declaration ast.Node) {
	if strings.HasSuffix(path, "_test.go") {
		return
	}
	if c.declared[path] == nil {
		c.declared[path] = map[string]lines{}
	}
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
			c.declareMember(s.Name.Name, name)
		}
	}
}

func (c *code) declareMember(of string, name *ast.Ident) {
	if c.members[of] == nil {
		c.members[of] = map[string]bool{}
	}
	c.members[of][name.Name], c.words[name.Name] = true, true
}

// has reports whether a name exists: Name, package.Name, Type.Member, or a path of JSON
// names, such as currentState.host.
func (c *code) has(name string) bool {
	of := ""
	for part := range strings.SplitSeq(name, ".") {
		if !c.words[part] || (c.members[of] != nil && !c.members[of][part]) {
			return false
		}
		of = part
	}
	return true
}
