package apiserver

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/server/request"
)

func TestTheTableIsKnownAsTodaysResourcesAndDoesNotSelectByField(t *testing.T) {
	t.Parallel()
	server := New(map[string]RESTStorage{"tasks": &toyStorage{}}, "/api/v1beta1")
	server.KnownAs = map[string]request.RequestInfo{"tasks": {APIVersion: "v1", Namespace: "default", Resource: "pods"}}
	pods := func(verb, name string) request.RequestInfo {
		return request.RequestInfo{Verb: verb, IsResource: true, IsServed: true, APIVersion: "v1", Namespace: "default", Resource: "pods", Name: name}
	}
	for _, row := range []struct {
		method, target string
		want           request.RequestInfo
	}{
		{"GET", "/api/v1beta1/tasks?fieldSelector=metadata.name%3Da", pods("list", "")},
		{"HEAD", "/api/v1beta1/tasks/", pods("list", "")},
		{"GET", "/api/v1beta1/tasks/a", pods("get", "a")},
		{"POST", "/api/v1beta1/tasks", pods("create", "")},
		{"PUT", "/api/v1beta1/tasks/a", pods("update", "a")},
		{"DELETE", "/api/v1beta1/tasks/a", pods("delete", "a")},
		{"DELETE", "/api/v1beta1/tasks", pods("deletecollection", "")},
		{"get", "/api/v1beta1/tasks", pods("", "")},
		{"OPTIONS", "/api/v1beta1/tasks/a", pods("", "a")},
		{"GET", "/api/v1beta1/pods", request.RequestInfo{Verb: "get"}},
		{"GET", "/api/v1beta1//tasks", request.RequestInfo{Verb: "get"}},
		{"GET", "/api/v1beta1/../v1beta1/tasks", request.RequestInfo{Verb: "get"}},
		{"GET", "//api/v1beta1/tasks", request.RequestInfo{Verb: "get"}},
	} {
		req := httptest.NewRequest(row.method, "http://a"+row.target, nil)
		row.want.Path, row.want.OwnTimeout = req.URL.Path, true
		var record request.Record
		assert.True(t, server.Serves(req, &record), "what others do not serve is not found here")
		assert.Equal(t, row.want, record.Info, row.method+" "+row.target)
	}
}
