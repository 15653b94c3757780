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

// floors are the packages of the project from the bottom to the top. A package may import those of lower floors,
// and those below the same name on its own. A name stands for the packages below it, unless a longer one does.
var floors = [][]string{
	{"pkg/util"},
	{"pkg/auth/user", "pkg/etcd", "pkg/printers", "pkg/ui", "pkg/webhook"},
	{"pkg/admission", "pkg/api", "pkg/auth", "pkg/server/certs", "pkg/server/request"},
	{"pkg/api/conversion", "pkg/audit", "pkg/client/v1", "pkg/metrics", "pkg/server/healthz"},
	{"pkg/api/v1", "pkg/api/v1beta1"},
	{"pkg/apiserver", "pkg/client", "pkg/quota", "pkg/server", "pkg/storage"},
	{"pkg/controller", "pkg/kubelet", "pkg/proxy", "pkg/registry", "pkg/rest", "pkg/scheduler"},
	{"pkg/admission/plugin", "pkg/admission/v1beta1", "pkg/endpoints", "pkg/extensions"},
	{"pkg/aggregator", "pkg/master/endpointstest", "pkg/master/servertest", "pkg/master/storemetrics", "pkg/options", "pkg/trace"},
	{"bench/measure", "bench/size", "pkg/master/controllertest", "pkg/master"},
	{"bench", "browser", "clients", "cmd", "compare", "kubebuilder", "secure"},
}

// strangers are packages that do not know others, although these are on lower floors: handlers know no resource,
// stores and registries know no HTTP, and the parts of a cluster are only clients.
var strangers = map[string][]string{
	"pkg/endpoints":           {"pkg/registry", "pkg/rest/core", "pkg/rest/generic", "pkg/rest/rbac", "pkg/rest/reviews", "pkg/storage"},
	"pkg/registry":            {"pkg/server", "pkg/client/v1", "pkg/api/v1"},
	"pkg/rest":                {"pkg/apiserver", "pkg/client", "pkg/server/filters"},
	"pkg/storage":             {"pkg/admission", "pkg/api/v1", "pkg/audit", "pkg/auth", "pkg/client", "pkg/metrics", "pkg/server"},
	"pkg/apiserver":           {"pkg/admission", "pkg/api/v1", "pkg/client", "pkg/metrics"},
	"pkg/controller":          {"pkg/api", "pkg/server", "pkg/storage"},
	"pkg/kubelet":             {"pkg/api", "pkg/server", "pkg/storage"},
	"pkg/proxy":               {"pkg/api", "pkg/server", "pkg/storage"},
	"pkg/scheduler":           {"pkg/api", "pkg/server", "pkg/storage"},
	"pkg/server":              {"pkg/api/v1", "pkg/apiserver", "pkg/storage"},
	"pkg/client/v1":           {"pkg/api"},
	"pkg/options":             {"pkg/endpoints", "pkg/registry", "pkg/trace"},
	"bench":                   {"pkg/master"},
	"compare":                 {"pkg/master"},
	"secure":                  {"pkg"},
	"browser":                 {"pkg"},
	"clients":                 {"pkg"},
	"kubebuilder":             {"pkg"},
	"compare/original":        {"pkg"},
	"cmd/apiserver":           {"pkg/endpoints", "pkg/rest", "pkg/storage"},
	"pkg/master/storemetrics": {"pkg/registry"},
}

// of2014 are the first door, the registries and the stores, which do not know today's types.
var of2014 = []string{"pkg/api", "pkg/api/conversion", "pkg/api/v1beta1", "pkg/apiserver", "pkg/client", "pkg/etcd", "pkg/registry", "pkg/storage", "pkg/util"}

// knowToday are packages below those that know today's types all the same.
var knowToday = []string{"pkg/client/cache", "pkg/client/informers", "pkg/client/leaderelection", "pkg/client/record", "pkg/util/pods", "pkg/util/quantity", "pkg/util/services", "pkg/util/yamls"}

// nameAbove returns the longest of some names that is a package or a folder above it, "" for none.
func nameAbove(dir string, names []string) (longest string) {
	for _, name := range names {
		if (dir == name || strings.HasPrefix(dir, name+"/")) && len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// floorOf returns the number of a package's floor, and the name that it stands under, "" for none.
func floorOf(dir string) (number int, name string) {
	for i, names := range floors {
		if here := nameAbove(dir, names); len(here) > len(name) {
			number, name = i, here
		}
	}
	return number, name
}

// libraries lists the packages from outside the project and the standard
// library by prefixes of their paths, with the packages that may import them. Tests may
// import all.
var libraries = map[string][]string{
	"github.com/tidwall/btree":             {"pkg/storage/cacher"},
	"github.com/coder/websocket":           {"pkg/endpoints/stream", "pkg/kubelet/server"},
	"github.com/chromedp":                  {},
	"github.com/coreos/go-etcd/etcd":       {"pkg/master/storemetrics", "bench", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/storage/etcd2", "pkg/storage/etcd2/mirror", "pkg/trace"},
	"go.etcd.io/etcd":                      {"pkg/master/storemetrics", "bench", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/storage/etcd3", "pkg/trace"},
	"go.uber.org/zap":                      {"pkg/etcd"},
	"github.com/google/cel-go":             {"pkg/admission/plugin/expressions", "pkg/admission/plugin/policy", "pkg/api/v1/validation/policies", "pkg/controller/validatingadmissionpolicystatus"},
	"github.com/robfig/cron":               {"pkg/controller/cronjob", "pkg/util/schedule", "kubebuilder/internal/controller", "kubebuilder/internal/webhook/v1"},
	"google.golang.org/grpc":               {"pkg/etcd", "pkg/storage/etcd3"},
	"github.com/anishathalye/porcupine":    {"pkg/storage/storagetest"},
	"github.com/stretchr/testify":          {"compare/aggregation", "compare/serverstest", "pkg/auth/authorizer/authorizertest", "pkg/master/controllertest", "pkg/master/endpointstest", "pkg/storage/storagetest", "pkg/util/certtest", "pkg/util/loopback/loopbacktest"},
	"k8s.io/api":                           {"pkg/api/v1"}, // but see of2014
	"k8s.io/apimachinery":                  {"pkg/api/v1"},
	"k8s.io/kube-aggregator":               {"pkg/aggregator", "compare/aggregation", "pkg/api/v1", "pkg/printers", "pkg/rest/apiregistration"},
	"k8s.io/apiextensions-apiserver":       {"pkg/api/v1", "pkg/extensions", "pkg/master", "pkg/rest/apiextensions", "pkg/rest/customresource", "pkg/rest/customresource/conversion"},
	"k8s.io/apiserver":                     {"pkg/admission/plugin/expressions", "pkg/admission/plugin/policy", "pkg/admission/plugin/webhook", "pkg/api/v1/validation/policies", "pkg/api/v1/validation/webhooks", "pkg/audit", "pkg/controller/validatingadmissionpolicystatus", "pkg/extensions", "pkg/rest/apiextensions", "pkg/rest/customresource", "pkg/rest/flowcontrol", "pkg/server/filters"},
	"gopkg.in/natefinch/lumberjack.v2":     {"pkg/audit"},
	"golang.org/x/sys":                     {"pkg/util/orphan"},
	"golang.org/x/time":                    {"pkg/audit", "pkg/client/record"},
	"github.com/google/uuid":               {"pkg/audit"},
	"github.com/prometheus/client_golang":  {"pkg/kubelet/server", "pkg/metrics"},
	"github.com/prometheus/client_model":   {},
	"github.com/prometheus/common":         {"pkg/rest/metrics"},
	"k8s.io/client-go":                     {"pkg/aggregator", "pkg/api/v1/validation/policies", "pkg/rest/customresource"},
	"k8s.io/kube-openapi":                  {"pkg/aggregator", "pkg/api/v1/typed", "pkg/controller/validatingadmissionpolicystatus", "pkg/endpoints/openapi", "pkg/rest/apiextensions"},
	"gopkg.in/evanphx/json-patch.v4":       {"pkg/api/v1/patch"},
	"github.com/go-jose/go-jose/v4":        {"pkg/auth/authenticator/authenticatortest", "pkg/auth/authenticator/oidc", "pkg/auth/authenticator/serviceaccount", "pkg/server/options"},
	"github.com/google/gnostic-models":     {"pkg/endpoints/openapi"},
	"google.golang.org/protobuf":           {"pkg/admission/plugin/policy", "pkg/client/v1", "pkg/endpoints/bodies", "pkg/endpoints/openapi"},
	"go.yaml.in/yaml/v3":                   {"pkg/endpoints/bodies", "pkg/util/yamls"},
	"k8s.io/klog/v2":                       {"pkg/kubelet/server"},
	"k8s.io/metrics":                       {"pkg/printers", "pkg/rest/metrics"},
	"k8s.io/streaming":                     {"pkg/kubelet/server"},
	"k8s.io/utils":                         {"kubebuilder/api/v2", "kubebuilder/internal/controller"},
	"sigs.k8s.io/controller-runtime":       {"kubebuilder/api/v1", "kubebuilder/api/v2", "kubebuilder/internal/controller", "kubebuilder/internal/webhook/v1"},
	"sigs.k8s.io/json":                     {"pkg/api/v1", "pkg/rest/customresource", "pkg/admission/plugin/policy", "pkg/admission/plugin/webhook", "pkg/admission", "pkg/audit", "pkg/auth/authorizer/abac", "pkg/endpoints/decoding", "pkg/api/v1/patch", "pkg/util/kubeconfig", "pkg/webhook"},
	"sigs.k8s.io/randfill":                 {},
	"sigs.k8s.io/structured-merge-diff/v6": {"pkg/api/v1/typed", "pkg/rest", "pkg/rest/customresource", "pkg/rest/fieldmanager", "pkg/rest/generic/registry"},
	"sigs.k8s.io/yaml":                     {"pkg/endpoints/bodies", "pkg/endpoints/decoding", "pkg/endpoints/responsewriters", "pkg/util/yamls", "secure"},
}

// importersOf returns the packages that may import a package of a library.
func importersOf(name string) (importers []string, known bool) {
	for library, importers := range libraries {
		if name == library || strings.HasPrefix(name, library+"/") {
			return importers, true
		}
	}
	return nil, false
}

// whyNot returns why a package may not import one of a library, "" if it may.
func whyNot(dir, name string) string {
	if !strings.Contains(strings.Split(name, "/")[0], ".") {
		return "" // of the standard library
	}
	if nameAbove(name, []string{"k8s.io/api", "k8s.io/apimachinery"}) != "" {
		if standsUnder(dir, of2014) && !slices.Contains(knowToday, dir) {
			return "it is of 2014"
		}
		return ""
	}
	if importers, known := importersOf(name); !known || !slices.Contains(importers, dir) {
		return "it is not in the table"
	}
	return ""
}

// packageDirs returns the files of each package, without tests, by its folder.
func packageDirs(t *testing.T) map[string][]string {
	all := map[string][]string{}
	require.NoError(t, filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && strings.Contains(path, "/") {
			dir := filepath.ToSlash(filepath.Dir(path))
			all[dir] = append(all[dir], path)
		}
		return err
	}))
	return all
}

func TestImportsGoDownTheFloors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for dir, paths := range packageDirs(t) {
		floor, name := floorOf(dir)
		assert.NotEmpty(t, name, "on which floor is package %s?", dir)
		seen[name] = true
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range file.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				require.NoError(t, err)
				own, isOwn := strings.CutPrefix(imported, "kube2014/")
				if !isOwn {
					assert.Empty(t, whyNot(dir, imported), "%s imports %s", path, imported)
					continue
				}
				lower, under := floorOf(own)
				assert.True(t, lower < floor || under == name, "%s imports %s, which is not below it", path, own)
				for stranger, unknown := range strangers {
					if standsUnder(dir, []string{stranger}) {
						assert.False(t, standsUnder(own, unknown), "%s imports %s, which it should not know", path, own)
					}
				}
			}
		}
	}
	for _, names := range floors {
		for _, name := range names {
			assert.True(t, seen[name], "%s is gone", name)
		}
	}
}

// standsUnder reports whether a package stands under one of some names. One that has a longer name on its floor
// does not.
func standsUnder(dir string, names []string) bool {
	_, own := floorOf(dir)
	return slices.ContainsFunc(names, func(name string) bool {
		return nameAbove(dir, []string{name}) != "" && (len(own) <= len(name) || name == "pkg")
	})
}
