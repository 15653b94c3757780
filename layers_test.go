// Package kube2014 tests the project as a whole: its layers, its examples and
// its documents.
package kube2014

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mayImport lists, for each package, the packages of the project that it may
// import. Its tests may also import the package itself and testsMayImport.
var mayImport = map[string][]string{
	"bench":                   {"pkg/api", "pkg/api/v1beta1", "pkg/etcd/etcdtest", "pkg/registry", "pkg/storage"},
	"compare/original":        {},
	"cmd/apiserver":           {"pkg/api", "pkg/apiserver", "pkg/client", "pkg/etcd", "pkg/registry", "pkg/trace", "pkg/util"},
	"pkg/trace":               {"pkg/api", "pkg/apiserver", "pkg/client", "pkg/conversion", "pkg/registry", "pkg/storage"},
	"pkg/registry":            {"pkg/api", "pkg/api/v1beta1", "pkg/apiserver", "pkg/client", "pkg/conversion", "pkg/storage", "pkg/storage/etcd2", "pkg/storage/memory", "pkg/util"},
	"pkg/storage/etcd2":       {"pkg/api", "pkg/storage", "pkg/storage/etcd2/cache"},
	"pkg/storage/etcd2/cache": {"pkg/api", "pkg/api/v1beta1", "pkg/conversion", "pkg/storage"},
	"pkg/storage/memory":      {"pkg/storage"},
	"pkg/storage/storagetest": {"pkg/api", "pkg/storage"},
	"pkg/storage":             {"pkg/api", "pkg/conversion"},
	"pkg/apiserver":           {"pkg/api", "pkg/api/v1beta1", "pkg/conversion"},
	"pkg/client":              {"pkg/api", "pkg/api/v1beta1", "pkg/conversion"},
	"pkg/client/clienttest":   {"pkg/client"},
	"pkg/etcd":                {},
	"pkg/etcd/etcdtest":       {},
	"pkg/api/v1beta1":         {"pkg/api", "pkg/conversion"},
	"pkg/conversion":          {"pkg/api"},
	"pkg/api":                 {},
	"pkg/util":                {},
}

var testsMayImport = []string{"pkg/storage/memory", "pkg/storage/storagetest", "pkg/api/v1beta1", "pkg/client/clienttest", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/util"}

// storesMayBeTestedThrough lists what tests outside of a package may import: the
// promises of a store are those of the registry on it.
var storesMayBeTestedThrough = map[string][]string{"pkg/storage/etcd2": {"pkg/registry"}}

// libraries lists the packages from outside the project and the standard
// library, with the packages that may import them. Tests may import all.
var libraries = map[string][]string{
	"github.com/tidwall/btree":          {"pkg/storage"},
	"github.com/coreos/go-etcd/etcd":    {"bench", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/storage/etcd2", "pkg/storage/etcd2/cache", "pkg/trace"},
	"github.com/anishathalye/porcupine": {"pkg/storage/storagetest"},
	"github.com/stretchr/testify":       {"pkg/storage/storagetest"},
}

func TestImportsFlowFromCmdToRegistryToApiserver(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") || !strings.Contains(path, "/") {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		allowed, known := mayImport[dir]
		assert.True(t, known, "%s: what may package %s import?", path, dir)
		seen[dir] = true
		isTest := strings.HasSuffix(path, "_test.go")
		if isTest {
			allowed = slices.Concat(testsMayImport, storesMayBeTestedThrough[dir], []string{dir}, allowed)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if own, ok := strings.CutPrefix(name, "kube2014/"); ok {
				assert.Contains(t, allowed, own, "%s imports it", path)
			} else if strings.Contains(strings.Split(name, "/")[0], ".") {
				importers, known := libraries[strings.TrimSuffix(strings.TrimSuffix(name, "/assert"), "/require")]
				assert.True(t, known && (isTest || slices.Contains(importers, dir)), "%s imports %s", path, name)
			}
		}
		return nil
	}))
	assert.Len(t, seen, len(mayImport), "a package in the table is gone")
}
