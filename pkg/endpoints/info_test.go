package endpoints

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAMethodAndAPathSayWhatARequestAsksFor(t *testing.T) {
	t.Parallel()
	core, discovery := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}
	for _, row := range []struct {
		method, target string
		want           RequestInfo
	}{
		{"GET", "/api/v1/pods", RequestInfo{"list", core, "", "pods", "", ""}},
		{"HEAD", "/api/v1/pods/", RequestInfo{"list", core, "", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods", RequestInfo{"list", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods?watch=1", RequestInfo{"watch", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods?watch=perhaps", RequestInfo{"watch", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods?watch=", RequestInfo{"watch", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods?watch=0", RequestInfo{"list", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods?watch=False", RequestInfo{"list", core, "default", "pods", "", ""}},
		{"HEAD", "/api/v1/namespaces/default/pods?watch=1", RequestInfo{"", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods/web?watch=1", RequestInfo{"get", core, "default", "pods", "", "web"}},
		{"POST", "/api/v1/watch/namespaces/default/pods", RequestInfo{"", core, "default", "pods", "", ""}},
		{"DELETE", "/api/v1/watch/namespaces/default/pods/web", RequestInfo{"", core, "default", "pods", "", "web"}},
		{"GET", "/api/v1/watch/namespaces/default/pods", RequestInfo{"watch", core, "default", "pods", "", ""}},
		{"GET", "/api/v1/watch/namespaces/default/pods/web", RequestInfo{"watch", core, "default", "pods", "", "web"}},
		{"GET", "/api/v1/watch", RequestInfo{"list", core, "", "watch", "", ""}},
		{"GET", "/api/v1/namespaces/default/pods/web", RequestInfo{"get", core, "default", "pods", "", "web"}},
		{"GET", "/api/v1/namespaces/default/pods/web/log", RequestInfo{"get", core, "default", "pods", "log", "web"}},
		{"GET", "/api/v1/namespaces/default/pods/web/a/b", RequestInfo{"get", core, "default", "pods", "a/b", "web"}},
		{"POST", "/api/v1/namespaces/default/pods", RequestInfo{"create", core, "default", "pods", "", ""}},
		{"POST", "/api/v1/namespaces/default/pods/web/binding", RequestInfo{"create", core, "default", "pods", "binding", "web"}},
		{"PUT", "/api/v1/namespaces/default/pods/web/status", RequestInfo{"update", core, "default", "pods", "status", "web"}},
		{"PATCH", "/api/v1/nodes/n1", RequestInfo{"patch", core, "", "nodes", "", "n1"}},
		{"DELETE", "/api/v1/nodes/n1", RequestInfo{"delete", core, "", "nodes", "", "n1"}},
		{"DELETE", "/api/v1/nodes", RequestInfo{"deletecollection", core, "", "nodes", "", ""}},
		{"GET", "/api/v1/namespaces", RequestInfo{"list", core, "", "namespaces", "", ""}},
		{"GET", "/api/v1/namespaces/default", RequestInfo{"get", core, "", "namespaces", "", "default"}},
		{"PUT", "/api/v1/namespaces/default/status", RequestInfo{"update", core, "", "namespaces", "status", "default"}},
		{"PUT", "/api/v1/namespaces/default/finalize", RequestInfo{"update", core, "", "namespaces", "finalize", "default"}},
		{"GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/web", RequestInfo{"get", discovery, "default", "endpointslices", "", "web"}},
		{"OPTIONS", "/api/v1/pods", RequestInfo{"", core, "", "pods", "", ""}},
	} {
		t.Run(row.method+" "+row.target, func(t *testing.T) {
			got, ok := resourceInfo(httptest.NewRequest(row.method, row.target, nil))
			assert.True(t, ok)
			assert.Equal(t, row.want, got)
		})
	}
}

func TestPathsThatNameNoResource(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/api", "/api/v1", "/api/v1/", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz",
		"/api/v1/watch/namespaces/default/pods/web/status"} {
		_, ok := resourceInfo(httptest.NewRequest("GET", path, nil))
		assert.False(t, ok, path)
	}
}
