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
	"bench/size":                            {},
	"bench":                                 {"bench/measure", "bench/size", "pkg/api", "pkg/api/v1beta1", "pkg/client/v1", "pkg/etcd/etcdtest", "pkg/registry", "pkg/storage"},
	"bench/measure":                         {},
	"compare/kubernetes":                    {"bench/measure", "compare/today", "pkg/etcd/etcdtest"},
	"clients":                               {},
	"browser":                               {},
	"secure":                                {},
	"compare/decisions":                     {"bench/measure", "pkg/auth/authorizer", "pkg/auth/authorizer/authorizertest", "pkg/etcd/etcdtest"},
	"compare/original":                      {},
	"compare/today":                         {},
	"cmd/apiserver":                         {"pkg/apiserver", "pkg/client", "pkg/master", "pkg/options", "pkg/registry", "pkg/server", "pkg/trace"},
	"pkg/master":                            {"pkg/admission", "pkg/admission/plugin", "pkg/admission/plugin/resourcequota", "pkg/admission/plugin/webhook", "pkg/admission/v1beta1", "pkg/api", "pkg/api/v1", "pkg/api/v1beta1", "pkg/apiserver", "pkg/auth/authenticator", "pkg/auth/authorizer", "pkg/auth/authorizer/rbac", "pkg/client", "pkg/client/informers", "pkg/client/record", "pkg/client/v1", "pkg/controller/endpoint", "pkg/controller/node", "pkg/controller/replication", "pkg/endpoints", "pkg/endpoints/discovery", "pkg/endpoints/openapi", "pkg/etcd", "pkg/kubelet", "pkg/kubelet/hollow", "pkg/metrics", "pkg/metrics/store", "pkg/options", "pkg/proxy", "pkg/registry", "pkg/rest", "pkg/rest/core", "pkg/rest/rbac", "pkg/rest/reviews", "pkg/scheduler", "pkg/server", "pkg/server/healthz", "pkg/server/request", "pkg/storage", "pkg/storage/etcd3", "pkg/trace", "pkg/ui", "pkg/util", "pkg/util/loopback"},
	"pkg/options":                           {"pkg/admission", "pkg/admission/plugin", "pkg/admission/plugin/resourcequota", "pkg/admission/plugin/webhook", "pkg/audit", "pkg/api", "pkg/api/v1", "pkg/api/v1beta1", "pkg/auth/authenticator", "pkg/auth/authenticator/serviceaccount", "pkg/auth/authenticator/tokenfile", "pkg/auth/authenticator/webhook", "pkg/auth/authorizer", "pkg/auth/authorizer/abac", "pkg/auth/authorizer/rbac", "pkg/auth/authorizer/webhook", "pkg/auth/user", "pkg/client", "pkg/client/v1", "pkg/etcd", "pkg/server", "pkg/server/certs", "pkg/util", "pkg/webhook"},
	"pkg/server":                            {"pkg/metrics", "pkg/audit", "pkg/api", "pkg/auth/authenticator", "pkg/auth/authorizer", "pkg/server/filters", "pkg/server/healthz", "pkg/auth/user", "pkg/server/request", "pkg/util", "pkg/ui"},
	"pkg/server/certs":                      {"pkg/util", "pkg/util/pems"},
	"pkg/server/filters":                    {"pkg/metrics", "pkg/audit", "pkg/api", "pkg/auth/authenticator", "pkg/auth/authorizer", "pkg/auth/user", "pkg/server/request", "pkg/util"},
	"pkg/server/healthz":                    {"pkg/api"},
	"pkg/server/request":                    {"pkg/auth/user"},
	"pkg/auth/authenticator":                {"pkg/auth/user"},
	"pkg/auth/authenticator/serviceaccount": {"pkg/auth/user", "pkg/util", "pkg/util/pems"},
	"pkg/auth/authenticator/tokenfile":      {"pkg/auth/user", "pkg/util"},
	"pkg/auth/authenticator/webhook":        {"pkg/auth/user", "pkg/webhook"},
	"pkg/auth/authorizer":                   {"pkg/auth/user"},
	"pkg/auth/authorizer/abac":              {"pkg/auth/authorizer", "pkg/auth/user", "pkg/util"},
	"pkg/auth/authorizer/authorizertest":    {"pkg/auth/authorizer", "pkg/auth/user"},
	"pkg/auth/authorizer/rbac":              {"pkg/auth/authorizer", "pkg/auth/user"},
	"pkg/auth/authorizer/webhook":           {"pkg/auth/authorizer", "pkg/auth/user", "pkg/webhook"},
	"pkg/auth/user":                         {},
	"pkg/auth/user/userinfo":                {"pkg/auth/user"},
	"pkg/admission":                         {"pkg/auth/user", "pkg/util/yamls"},
	"pkg/admission/plugin":                  {"pkg/admission", "pkg/api/v1/defaults"},
	"pkg/admission/plugin/resourcequota":    {"pkg/admission", "pkg/api", "pkg/rest", "pkg/storage"},
	"pkg/admission/v1beta1":                 {"pkg/admission", "pkg/api", "pkg/api/v1", "pkg/api/v1/defaults", "pkg/api/v1/validation", "pkg/apiserver", "pkg/conversion", "pkg/rest", "pkg/server/request", "pkg/storage"},
	"pkg/admission/plugin/webhook":          {"pkg/admission", "pkg/auth/user", "pkg/auth/user/userinfo", "pkg/api/v1/patch", "pkg/api/v1/quantity", "pkg/util/pems", "pkg/webhook"},
	"pkg/metrics":                           {"pkg/admission", "pkg/auth/authenticator", "pkg/auth/authorizer", "pkg/auth/user", "pkg/server/request"},
	"pkg/metrics/store":                     {"pkg/api", "pkg/metrics", "pkg/storage", "pkg/storage/etcd2", "pkg/storage/etcd3", "pkg/storage/values"},
	"pkg/audit":                             {"pkg/api", "pkg/auth/authorizer", "pkg/auth/user", "pkg/auth/user/userinfo", "pkg/util", "pkg/util/yamls"},
	"pkg/webhook":                           {"pkg/util/kubeconfig"},
	"pkg/webhook/webhooktest":               {},
	"pkg/trace":                             {"pkg/util/workqueue", "pkg/admission", "pkg/api", "pkg/apiserver", "pkg/client", "pkg/registry", "pkg/storage", "pkg/storage/etcd3", "pkg/auth/authorizer", "pkg/auth/user", "pkg/server", "pkg/auth/authenticator"},
	"pkg/registry":                          {"pkg/api", "pkg/api/v1beta1", "pkg/apiserver", "pkg/client", "pkg/conversion", "pkg/storage", "pkg/storage/etcd2", "pkg/storage/memory", "pkg/util"},
	"pkg/storage/etcd2":                     {"pkg/api", "pkg/storage", "pkg/storage/etcd2/cache", "pkg/storage/values"},
	"pkg/storage/etcd2/cache":               {"pkg/api", "pkg/api/v1beta1", "pkg/storage", "pkg/storage/values", "pkg/util"},
	"pkg/storage/etcd3":                     {"pkg/api", "pkg/storage", "pkg/storage/values", "pkg/util"},
	"pkg/storage/values":                    {"pkg/api", "pkg/api/v1beta1", "pkg/conversion"},
	"pkg/storage/memory":                    {"pkg/api", "pkg/storage"},
	"pkg/storage/storagetest":               {"pkg/api", "pkg/storage"},
	"pkg/storage":                           {"pkg/api", "pkg/conversion"},
	"pkg/apiserver":                         {"pkg/api", "pkg/api/v1beta1", "pkg/conversion", "pkg/server/request", "pkg/util"},
	"pkg/client":                            {"pkg/api", "pkg/api/v1beta1", "pkg/conversion", "pkg/util/pems"},
	"pkg/client/clienttest":                 {"pkg/client"},
	"pkg/client/v1":                         {"pkg/util/kubeconfig"},
	"pkg/client/cache":                      {"pkg/client/v1", "pkg/util"},
	"pkg/client/informers":                  {"pkg/client/cache", "pkg/client/v1"},
	"pkg/client/record":                     {"pkg/client/v1"},
	"pkg/kubelet":                           {"pkg/client/cache", "pkg/client/record", "pkg/client/v1", "pkg/kubelet/cri", "pkg/kubelet/lifecycle", "pkg/kubelet/prober", "pkg/kubelet/server", "pkg/util", "pkg/util/pods", "pkg/util/workqueue"},
	"pkg/kubelet/cri":                       {},
	"pkg/kubelet/hollow":                    {"pkg/kubelet/cri", "pkg/util"},
	"pkg/kubelet/lifecycle":                 {"pkg/kubelet/cri"},
	"pkg/kubelet/prober":                    {"pkg/kubelet/cri"},
	"pkg/kubelet/server":                    {"pkg/kubelet/cri"},
	"pkg/auth":                              {},
	"pkg/controller":                        {},
	"pkg/controller/endpoint":               {"pkg/client/cache", "pkg/client/informers", "pkg/client/v1", "pkg/util/pods", "pkg/util/workqueue"},
	"pkg/controller/node":                   {"pkg/client/cache", "pkg/client/informers", "pkg/client/record", "pkg/client/v1", "pkg/util", "pkg/util/pods"},
	"pkg/controller/replication":            {"pkg/client/cache", "pkg/client/informers", "pkg/client/record", "pkg/client/v1", "pkg/util/pods", "pkg/util/workqueue"},
	"pkg/util/pods":                         {},
	"pkg/proxy":                             {"pkg/client/cache", "pkg/client/informers", "pkg/client/record", "pkg/util"},
	"pkg/scheduler":                         {"pkg/client/cache", "pkg/client/informers", "pkg/client/record", "pkg/client/v1", "pkg/util/pods", "pkg/util/workqueue"},
	"pkg/client/servertest":                 {"pkg/api", "pkg/api/v1", "pkg/client/v1", "pkg/endpoints", "pkg/rest/core", "pkg/storage", "pkg/storage/memory", "pkg/util/loopback"},
	"pkg/endpoints":                         {"pkg/admission", "pkg/api", "pkg/api/v1", "pkg/conversion", "pkg/endpoints/accept", "pkg/api/v1/patch", "pkg/api/v1/quantity", "pkg/endpoints/bodies", "pkg/endpoints/query", "pkg/endpoints/stream", "pkg/rest", "pkg/auth/authorizer", "pkg/server/request", "pkg/util"},
	"pkg/endpoints/accept":                  {},
	"pkg/endpoints/bodies":                  {},
	"pkg/endpoints/query":                   {"pkg/rest"},
	"pkg/api/v1/patch":                      {},
	"pkg/api/v1/quantity":                   {},
	"pkg/endpoints/stream":                  {},
	"pkg/endpoints/discovery":               {"pkg/endpoints/accept"},
	"pkg/endpoints/endpointstest":           {"pkg/api", "pkg/api/v1", "pkg/endpoints", "pkg/rest/core", "pkg/storage", "pkg/storage/memory", "pkg/auth/authorizer", "pkg/auth/user", "pkg/rest", "pkg/rest/reviews", "pkg/server/request"},
	"pkg/endpoints/openapi":                 {"pkg/endpoints/accept", "pkg/endpoints/discovery"},
	"pkg/etcd":                              {},
	"pkg/etcd/etcdtest":                     {},
	"pkg/api/v1beta1":                       {"pkg/api", "pkg/conversion"},
	"pkg/api/v1":                            {"pkg/api", "pkg/api/v1/defaults", "pkg/conversion"},
	"pkg/api/v1/defaults":                   {},
	"pkg/api/v1/validation":                 {"pkg/api/v1/defaults", "pkg/api/v1/validation/check", "pkg/api/v1/validation/podspec"},
	"pkg/api/v1/validation/check":           {},
	"pkg/api/v1/validation/podspec":         {"pkg/api/v1/validation/check"},
	"pkg/rest":                              {"pkg/api", "pkg/api/v1", "pkg/conversion", "pkg/printers", "pkg/storage"},
	"pkg/rest/generic":                      {"pkg/api", "pkg/api/v1", "pkg/conversion", "pkg/rest", "pkg/storage"},
	"pkg/rest/core":                         {"pkg/api", "pkg/api/v1", "pkg/api/v1/defaults", "pkg/api/v1/validation", "pkg/printers", "pkg/rest", "pkg/rest/generic", "pkg/storage", "pkg/util/pods"},
	"pkg/rest/rbac":                         {"pkg/api", "pkg/api/v1", "pkg/api/v1/defaults", "pkg/api/v1/validation", "pkg/auth/authorizer", "pkg/auth/user", "pkg/printers", "pkg/rest", "pkg/rest/generic", "pkg/server/request", "pkg/storage"},
	"pkg/rest/reviews":                      {"pkg/api", "pkg/auth/authenticator", "pkg/auth/authorizer", "pkg/auth/user", "pkg/auth/user/userinfo", "pkg/rest", "pkg/server/request", "pkg/api/v1"},
	"pkg/printers":                          {},
	"pkg/conversion":                        {"pkg/api"},
	"pkg/api":                               {"pkg/util"},
	"pkg/ui":                                {},
	"pkg/util":                              {},
	"pkg/util/certtest":                     {},
	"pkg/util/kubeconfig":                   {"pkg/util", "pkg/util/pems", "pkg/util/yamls"},
	"pkg/util/loopback":                     {},
	"pkg/util/loopback/loopbacktest":        {},
	"pkg/util/workqueue":                    {},
	"pkg/util/pems":                         {},
	"pkg/util/yamls":                        {},
}

var testsMayImport = []string{"compare/today", "pkg/storage/memory", "pkg/storage/storagetest", "pkg/api/v1beta1", "pkg/client/clienttest", "pkg/client/servertest", "pkg/client/v1", "pkg/endpoints/endpointstest", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/auth/authorizer/authorizertest", "pkg/client/informers", "pkg/kubelet/hollow", "pkg/util", "pkg/util/certtest", "pkg/util/loopback", "pkg/util/loopback/loopbacktest", "pkg/util/pems", "pkg/webhook/webhooktest"}

// storesMayBeTestedThrough lists what tests outside of a package may import: the
// promises of a store are those of the registry on it, those of roles are to hold for the
// authorizer, on each store, controllers meet what only the first door takes, and the tests of
// the program see all layers.
var storesMayBeTestedThrough = map[string][]string{
	"cmd/apiserver":                      {"pkg/admission", "pkg/admission/v1beta1", "pkg/api", "pkg/api/v1", "pkg/api/v1/defaults", "pkg/server/filters", "pkg/server/request", "pkg/storage", "pkg/storage/etcd3", "pkg/webhook"},
	"pkg/storage/etcd2":                  {"pkg/registry"},
	"pkg/admission/v1beta1":              {"pkg/registry"},
	"pkg/rest/core":                      {"pkg/endpoints"},
	"pkg/admission/plugin/resourcequota": {"pkg/storage/etcd2", "pkg/storage/etcd3"},
	"pkg/controller/replication":         {"pkg/api", "pkg/storage"},
	"pkg/rest/rbac":                      {"pkg/auth/authorizer/rbac", "pkg/endpoints", "pkg/storage/etcd2", "pkg/storage/etcd3"},
}

// today lists the packages of the second door, and those of who gets in, which know today's
// types. The first door, the registries and the stores do not.
var today = []string{"pkg/master", "pkg/util/pods", "pkg/admission", "pkg/admission/plugin", "pkg/admission/plugin/resourcequota", "pkg/admission/plugin/webhook", "pkg/admission/v1beta1", "pkg/audit", "pkg/metrics", "bench", "compare/decisions", "pkg/auth/user/userinfo", "pkg/auth/authenticator/webhook", "pkg/auth/authorizer/rbac", "pkg/auth/authorizer/webhook", "pkg/api/v1", "pkg/api/v1/defaults", "pkg/api/v1/validation", "pkg/api/v1/validation/check", "pkg/api/v1/validation/podspec", "pkg/client/cache", "pkg/client/informers", "pkg/client/record", "pkg/client/servertest", "pkg/client/v1", "pkg/controller/endpoint", "pkg/controller/node", "pkg/controller/replication", "pkg/kubelet", "pkg/kubelet/cri", "pkg/kubelet/hollow", "pkg/kubelet/lifecycle", "pkg/kubelet/prober", "pkg/kubelet/server", "pkg/proxy", "pkg/scheduler", "pkg/endpoints", "pkg/endpoints/discovery",
	"pkg/endpoints/endpointstest", "pkg/endpoints/openapi", "pkg/api/v1/patch", "pkg/api/v1/quantity", "pkg/endpoints/bodies", "pkg/endpoints/query", "pkg/endpoints/stream", "pkg/printers", "pkg/rest", "pkg/rest/core", "pkg/rest/generic", "pkg/rest/rbac", "pkg/rest/reviews", "pkg/server", "pkg/server/filters", "pkg/util/yamls"}

// libraries lists the packages from outside the project and the standard
// library by prefixes of their paths, with the packages that may import them. Tests may
// import all.
var libraries = map[string][]string{
	"github.com/tidwall/btree":            {"pkg/storage"},
	"github.com/coder/websocket":          {"pkg/endpoints/stream"},
	"github.com/chromedp":                 {},
	"github.com/coreos/go-etcd/etcd":      {"pkg/metrics/store", "bench", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/storage/etcd2", "pkg/storage/etcd2/cache", "pkg/trace"},
	"go.etcd.io/etcd":                     {"pkg/metrics/store", "bench", "pkg/etcd", "pkg/etcd/etcdtest", "pkg/storage/etcd3", "pkg/trace"},
	"go.uber.org/zap":                     {"pkg/etcd"},
	"google.golang.org/grpc":              {"pkg/etcd", "pkg/storage/etcd3"},
	"github.com/anishathalye/porcupine":   {"pkg/storage/storagetest"},
	"github.com/stretchr/testify":         {"pkg/auth/authorizer/authorizertest", "pkg/endpoints/endpointstest", "pkg/storage/storagetest", "pkg/util/certtest", "pkg/util/loopback/loopbacktest"},
	"k8s.io/api":                          today,
	"k8s.io/apimachinery":                 today,
	"k8s.io/apiserver":                    {"pkg/audit", "pkg/server/filters"},
	"gopkg.in/natefinch/lumberjack.v2":    {"pkg/audit"},
	"golang.org/x/time":                   {"pkg/audit"},
	"github.com/google/uuid":              {"pkg/audit"},
	"github.com/prometheus/client_golang": {"pkg/metrics"},
	"github.com/prometheus/client_model":  {},
	"k8s.io/client-go":                    {},
	"k8s.io/kube-openapi":                 {},
	"gopkg.in/evanphx/json-patch.v4":      {"pkg/api/v1/patch"},
	"github.com/go-jose/go-jose/v4":       {"pkg/auth/authenticator/serviceaccount"},
	"go.yaml.in/yaml/v3":                  {"pkg/endpoints/bodies", "pkg/util/yamls"},
	"sigs.k8s.io/json":                    {"pkg/admission/plugin/webhook", "pkg/admission", "pkg/audit", "pkg/auth/authorizer/abac", "pkg/endpoints", "pkg/api/v1/patch", "pkg/util/kubeconfig", "pkg/webhook"},
	"sigs.k8s.io/randfill":                {},
	"sigs.k8s.io/yaml":                    {"pkg/endpoints", "pkg/endpoints/bodies", "pkg/util/yamls", "secure"},
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
				importers, known := importersOf(name)
				assert.True(t, known && (isTest || slices.Contains(importers, dir)), "%s imports %s", path, name)
			}
		}
		return nil
	}))
	assert.Len(t, seen, len(mayImport), "a package in the table is gone")
}
