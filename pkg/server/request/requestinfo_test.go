package request

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAMethodAndAPathSayWhatARequestAsksFor(t *testing.T) {
	t.Parallel()
	const core, discovery = "", "discovery.k8s.io"
	asked := func(verb, group, namespace, resource, subresource, name string) RequestInfo {
		return RequestInfo{IsResource: true, Verb: verb, APIGroup: group, APIVersion: "v1", Namespace: namespace,
			Resource: resource, Subresource: subresource, Name: name,
			Selects: verb == "list" || verb == "watch" || verb == "deletecollection", NoTimeout: verb == "watch" || subresource == "log"}
	}
	byPath := func(info RequestInfo) RequestInfo {
		info.Selects = false
		return info
	}
	connects := func(verb, resource, subresource, name, below string) RequestInfo {
		info := asked(verb, core, "", resource, subresource, name)
		info.Subpath, info.NoTimeout = below, true
		return info
	}
	for _, row := range []struct {
		method, target string
		want           RequestInfo
	}{
		{"GET", "/api/v1/pods", asked("list", core, "", "pods", "", "")},
		{"HEAD", "/api/v1/pods/", asked("list", core, "", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods", asked("list", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods?watch=1", asked("watch", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods?watch=perhaps", asked("watch", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods?watch=", asked("watch", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods?watch=0", asked("list", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods?watch=False", asked("list", core, "default", "pods", "", "")},
		{"HEAD", "/api/v1/namespaces/default/pods?watch=1", asked("", core, "default", "pods", "", "")},
		{"GET", "/api/v1/namespaces/default/pods/web?watch=1", asked("get", core, "default", "pods", "", "web")},
		{"POST", "/api/v1/watch/namespaces/default/pods", asked("", core, "default", "pods", "", "")},
		{"DELETE", "/api/v1/watch/namespaces/default/pods/web", asked("", core, "default", "pods", "", "web")},
		{"GET", "/api/v1/watch/namespaces/default/pods", byPath(asked("watch", core, "default", "pods", "", ""))},
		{"GET", "/api/v1/watch/namespaces/default/pods/web", byPath(asked("watch", core, "default", "pods", "", "web"))},
		{"GET", "/api/v1/watch", asked("list", core, "", "watch", "", "")},
		{"GET", "/api/v1/namespaces/default/pods/web", asked("get", core, "default", "pods", "", "web")},
		{"GET", "/api/v1/namespaces/default/pods/web/log", asked("get", core, "default", "pods", "log", "web")},
		{"GET", "/api/v1/namespaces/default/pods/web/a/b", asked("get", core, "default", "pods", "a/b", "web")},
		{"POST", "/api/v1/namespaces/default/pods", asked("create", core, "default", "pods", "", "")},
		{"POST", "/api/v1/namespaces/default/pods/web/binding", asked("create", core, "default", "pods", "binding", "web")},
		{"PUT", "/api/v1/namespaces/default/pods/web/status", asked("update", core, "default", "pods", "status", "web")},
		{"PATCH", "/api/v1/nodes/n1", asked("patch", core, "", "nodes", "", "n1")},
		{"DELETE", "/api/v1/nodes/n1", asked("delete", core, "", "nodes", "", "n1")},
		{"DELETE", "/api/v1/nodes", asked("deletecollection", core, "", "nodes", "", "")},
		{"GET", "/api/v1/namespaces", asked("list", core, "", "namespaces", "", "")},
		{"GET", "/api/v1/namespaces/default", asked("get", core, "", "namespaces", "", "default")},
		{"PUT", "/api/v1/namespaces/default/status", asked("update", core, "", "namespaces", "status", "default")},
		{"PUT", "/api/v1/namespaces/default/finalize", asked("update", core, "", "namespaces", "finalize", "default")},
		{"GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web", asked("get", discovery, "default", "endpointslices", "", "web")},
		{"POST", "/api/v1/pods/web/exec?command=ls", connects("create", "pods", "exec", "web", "")},
		{"GET", "/api/v1/pods/web/attach", connects("get", "pods", "attach", "web", "")},
		{"GET", "/api/v1/pods/web/portforward/", connects("get", "pods", "portforward", "web", "")},
		{"GET", "/api/v1/pods/web:80/proxy", connects("get", "pods", "proxy", "web:80", "")},
		{"PUT", "/api/v1/pods/web/proxy/", connects("update", "pods", "proxy", "web", "/")},
		{"PATCH", "/api/v1/pods/web/proxy/a/b?c=d", connects("patch", "pods", "proxy", "web", "/a/b")},
		{"DELETE", "/api/v1/services/https:web:/proxy/a/", connects("delete", "services", "proxy", "https:web:", "/a/")},
		{"OPTIONS", "/api/v1/nodes/n1/proxy/a%2Fb//c", connects("", "nodes", "proxy", "n1", "/a/b//c")},
		{"HEAD", "/api/v1/nodes/n1/proxy/../pods", connects("get", "nodes", "proxy", "n1", "/../pods")},
		{"OPTIONS", "/api/v1/pods", asked("", core, "", "pods", "", "")},
	} {
		t.Run(row.method+" "+row.target, func(t *testing.T) {
			req := httptest.NewRequest(row.method, row.target, nil)
			row.want.Path = req.URL.Path
			assert.Equal(t, row.want, NewRequestInfo(req))
		})
	}
}

func TestPathsThatNameNoResource(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/api", "/api/v1", "/api/v1/", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz"} {
		info := NewRequestInfo(httptest.NewRequest("PUT", path, nil))
		assert.Equal(t, RequestInfo{Path: path, Verb: "put"}, info)
	}
}
