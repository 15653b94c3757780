package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/version"

	"kube2014/pkg/server/request"
)

func TestLabelsAreInTodaysWords(t *testing.T) {
	t.Parallel()
	pods := func(verb, namespace, name string) request.RequestInfo {
		return request.RequestInfo{IsResource: true, IsServed: true, APIVersion: "v1", Resource: "pods", Verb: verb, Namespace: namespace, Name: name}
	}
	log, task, deployments := pods("get", "default", "web"), pods("get", "default", "web"), request.RequestInfo{IsResource: true, IsServed: true, APIGroup: "apps", APIVersion: "v1", Resource: "deployments", Verb: "list"}
	log.Subresource, task.ServedAs = "log", "v1beta1"
	unknownVersion, unknownSubresource := pods("get", "default", "web"), pods("get", "default", "web")
	unknownVersion.APIVersion, unknownSubresource.Subresource = "v2", "nosuch"
	unknownVersion.IsServed, unknownSubresource.IsServed = false, false
	for name, row := range map[string]struct {
		info                 request.RequestInfo
		method, query, media string
		want                 string // verb, group, version, resource, subresource, scope, component, dry_run
	}{
		"a get":                    {pods("get", "default", "web"), "GET", "", "", "GET||v1|pods||resource|apiserver|"},
		"a list in all namespaces": {pods("list", "", ""), "GET", "", "", "LIST||v1|pods||cluster|apiserver|"},
		"a list in one":            {pods("list", "default", ""), "GET", "", "", "LIST||v1|pods||namespace|apiserver|"},
		"a watch":                  {pods("watch", "default", ""), "GET", "watch=1", "", "WATCH||v1|pods||namespace|apiserver|"},
		"a create":                 {pods("create", "default", ""), "POST", "", "", "POST||v1|pods||resource|apiserver|"},
		"a dry run":                {pods("create", "default", ""), "POST", "dryRun=All", "", "POST||v1|pods||resource|apiserver|All"},
		"another dry run":          {pods("create", "default", ""), "POST", "dryRun=All&dryRun=Some", "", "POST||v1|pods||resource|apiserver|invalid"},
		"an update":                {pods("update", "default", "web"), "PUT", "", "", "PUT||v1|pods||resource|apiserver|"},
		"a patch":                  {pods("patch", "default", "web"), "PATCH", "", "application/merge-patch+json", "PATCH||v1|pods||resource|apiserver|"},
		"an apply":                 {pods("patch", "default", "web"), "PATCH", "", "application/apply-patch+yaml", "APPLY||v1|pods||resource|apiserver|"},
		"a delete":                 {pods("delete", "default", "web"), "DELETE", "", "", "DELETE||v1|pods||resource|apiserver|"},
		"a delete of all":          {pods("deletecollection", "default", ""), "DELETE", "", "", "DELETE||v1|pods||namespace|apiserver|"},
		"a log":                    {log, "GET", "", "", "CONNECT||v1|pods|log|resource|apiserver|"},
		"a task":                   {task, "GET", "", "", "GET||v1beta1|pods||resource|apiserver|"},
		"another group":            {deployments, "GET", "", "", "LIST|apps|v1|deployments||cluster|apiserver|"},
		"another method":           {pods("", "default", "web"), "OPTIONS", "", "", "other||v1|pods||resource|apiserver|"},
		"an unknown version":       {unknownVersion, "GET", "", "", "GET|||other||resource|apiserver|"},
		"an unknown subresource":   {unknownSubresource, "GET", "", "", "GET|||other||resource|apiserver|"},
		"a path":                   {request.RequestInfo{Path: "/healthz"}, "HEAD", "", "", "GET||||/healthz|||"},
		"a path below it":          {request.RequestInfo{Path: "/healthz/ping"}, "GET", "", "", "GET||||/healthz|||"},
		"the root":                 {request.RequestInfo{Path: "/"}, "POST", "", "", "POST||||/|||"},
		"no path":                  {request.RequestInfo{Path: ""}, "FOO", "", "", "other||||other|||"},
		"an unknown path":          {request.RequestInfo{Path: "/healthzx"}, "DELETE", "", "", "DELETE||||other|||"},
		"two slashes":              {request.RequestInfo{Path: "//metrics"}, "PUT", "", "", "PUT||||/|||"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &http.Request{Method: row.method, URL: &url.URL{RawQuery: row.query}, Header: http.Header{"Content-Type": {row.media}}}
			assert.Equal(t, row.want, strings.Join(LabelsOf(&row.info, req).valuesWithDryRun(), "|"))
		})
	}
}

// bounds has the values that labels may have: of verb, group, version, resource, subresource,
// scope, component and dry_run.
var bounds = [][]string{
	{"other", "GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "CONNECT"},
	{"", "apps"}, {"", "v1", "v1beta1"}, {"", "other", "pods", "deployments"},
	{"", "other", "log", "/", "/api", "/apis", "/debug", "/healthz", "/livez", "/metrics", "/openapi", "/readyz", "/version"},
	{"", "resource", "namespace", "cluster"}, {"", "apiserver"}, {"", "All", "invalid"},
}

// Whatever is requested, labels have few values.
func FuzzLabels(f *testing.F) {
	f.Add("GET", "/", "get", true, "", "v1", "pods", "", "default", "web", "", "dryRun=All", "")
	f.Add("a\x00\xff\n", "//\"}", "a", false, "{", "\\", "\"", "log", "\n", "\x00", "v1beta1", "dryRun=%", "application/apply-patch+")
	f.Add("OPTIONS", "*", "", true, "apps", "v1", "deployments", "", "", "", "", "dryRun", "")
	m := New(version.Info{})
	f.Fuzz(func(t *testing.T, method, path, verb string, isResource bool, group, version, resource, subresource, namespace, name, servedAs, query, media string) {
		info := &request.RequestInfo{Path: path, Verb: verb, IsResource: isResource, APIGroup: group, APIVersion: version, ServedAs: servedAs,
			Resource: resource, Subresource: subresource, Namespace: namespace, Name: name}
		labels := LabelsOf(info, &http.Request{Method: method, URL: &url.URL{RawQuery: query}, Header: http.Header{"Content-Type": {media}}})
		for i, value := range labels.valuesWithDryRun() {
			assert.Contains(t, bounds[i], value)
		}
		m.Answered(labels, 200, 1, 1)
	})
}

// K68.
func TestHostileRequestsMakeFewSeries(t *testing.T) {
	t.Parallel()
	m := New(version.Info{})
	for i := range 1000 {
		odd := fmt.Sprintf("x%d\n\"", i)
		for _, info := range []request.RequestInfo{
			{Path: "/" + odd, Verb: odd},
			{Path: "/healthz/" + odd, Verb: odd},
			{IsResource: true, APIGroup: odd, APIVersion: "v1", Resource: "pods", Verb: "get", Name: "a"},
			{IsResource: true, APIVersion: odd, Resource: "pods", Verb: "get", Name: "a"},
			{IsResource: true, APIVersion: "v1", Resource: odd, Verb: "get", Name: "a"},
			{IsResource: true, APIVersion: "v1", Resource: "pods", Subresource: odd, Verb: "get", Name: "a"},
			{IsResource: true, APIVersion: "v1", Resource: "pods", Verb: odd, Name: odd, Namespace: odd},
		} {
			req := httptest.NewRequest("GET", "/?dryRun="+url.QueryEscape(odd), nil)
			req.Method = odd
			m.Answered(LabelsOf(&info, req), 404, 1, 1)
		}
	}
	assert.Equal(t, 4, testutil.CollectAndCount(m.requests.total), "an unknown path, one below /healthz, an unknown resource and pods")
	assert.Equal(t, 4, testutil.CollectAndCount(m.requests.durations))
	assert.Len(t, *m.requests.answered.all.Load(), 4)
}
