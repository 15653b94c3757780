package endpoints_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	. "kube2014/pkg/master/endpointstest"
)

// attacked returns a door to an object of some kinds, all named web.
func attacked(t *testing.T) *Door {
	d := Open(t)
	d.Must("POST", Pods, Pod("web", `"labels":{"a":"b"},"finalizers":["a.b/c"]`))
	d.Must("POST", Services, `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`)
	d.Must("POST", Nodes, `{"metadata":{"name":"web"}}`)
	d.Must("POST", Controllers, `{"metadata":{"name":"web"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	return d
}

// survives sends a request, and checks that the server is not at fault and that all that
// it has can still be read.
func survives(t *testing.T, d *Door, method, path, query, body, header, value string) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // a watch may take longer
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.URL.RawQuery = query
	req.Header.Set(header, value)
	recorder := httptest.NewRecorder()
	d.ServeHTTP(recorder, req)
	if recorder.Code != http.StatusGatewayTimeout { // which a version that is to come has
		assert.Less(t, recorder.Code, 500, "%s", recorder.Body)
	}
	assert.Less(t, recorder.Body.Len(), 100_000+20*len(body))
	for _, path := range []string{Pods, Services, Nodes, Controllers} {
		names, _ := d.Do("GET", path, "").Names()
		if method != "DELETE" {
			assert.Contains(t, names, "web", path)
		}
		d.Must("GET", path, "", "Accept", Table)
	}
}

var paths = []string{Pods, Services, Nodes, Controllers, Endpoints, Events}

func pathOf(kind uint8) string { return paths[int(kind)%len(paths)] }

func FuzzBodies(f *testing.F) {
	f.Add(uint8(0), false, false, Pod("x", ""))
	f.Add(uint8(0), true, false, Pod("web", ""))
	f.Add(uint8(0), false, true, "metadata: {name: x}\nspec: {containers: [{name: c, image: i}]}")
	f.Add(uint8(0), false, true, "a: &a [*a]")
	f.Add(uint8(0), false, true, "a: &a {<<: *a}")
	f.Add(uint8(0), false, false, `null`)
	f.Add(uint8(0), false, false, strings.Repeat(`{"a":`, 20000))
	f.Add(uint8(0), false, false, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1e999999999"}}}]}}`)
	f.Add(uint8(1), true, false, `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80,"targetPort":"x"}]}}`)
	f.Add(uint8(3), true, false, `{"metadata":{"name":"web"},"spec":{"template":null}}`)
	f.Add(uint8(4), false, false, `{"metadata":{"name":"x"},"subsets":[{}]}`)
	f.Fuzz(func(t *testing.T, kind uint8, put, yaml bool, body string) {
		method, path, contentType := "POST", pathOf(kind), "application/json"
		if put {
			method, path = "PUT", path+"/web"
		}
		if yaml {
			contentType = YAML
		}
		survives(t, attacked(t), method, path, "", body, "Content-Type", contentType)
	})
}

func FuzzPatches(f *testing.F) {
	types := []string{JSONPatch, MergePatch, StrategicPatch}
	for _, seed := range []struct {
		patchType   uint8
		subresource string
		patch       string
	}{
		{0, "", `[{"op":"add","path":"/metadata/labels/x","value":"y"}]`}, {0, "", `[null]`}, {0, "", `[{"op":"test","path":""}]`}, {0, "", `[{"op":"copy","from":"","path":"/spec/x"}]`},
		{0, "", `[{"op":"remove","path":""}]`}, {0, "", `[{"op":"move","from":"/spec","path":"/spec/a"}]`}, {0, "", `[{"op":"test","path":"/x","value":null}]`},
		{0, "", `[{"op":"add","path":"/spec/containers/-9","value":{}}]`}, {1, "", `{"metadata":null}`}, {1, "", `[]`}, {1, "/status", `{"status":{"phase":"Running"}}`},
		{1, "/scale", `{"spec":{"replicas":3}}`}, {1, "", `{"spec":{"containers":null}}`}, {2, "", `{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}`},
		{2, "", `{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"d"}]}}`}, {2, "", `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a.b/c"]}}`},
		{2, "", `{"$retainKeys":["metadata"],"metadata":{"name":"web"}}`}, {2, "", `{"spec":{"containers":[null]}}`}, {2, "/status", `{"status":{"conditions":[{"type":"A"}]}}`},
		{2, "", `null`},
	} {
		for kind := range paths {
			f.Add(uint8(kind), seed.patchType, seed.subresource, seed.patch)
		}
	}
	f.Fuzz(func(t *testing.T, kind, patchType uint8, subresource, patch string) {
		if subresource != "/status" && subresource != "/scale" {
			subresource = ""
		}
		survives(t, attacked(t), "PATCH", pathOf(kind)+"/web"+subresource, "", patch, "Content-Type", types[int(patchType)%len(types)])
	})
}

// queried are paths of every kind of storage.
var queried = []string{Pods, Pods + "/web/log", Pods + "/web/status", Pods + "/web/binding", Controllers + "/web/scale", Nodes + "/web", "/api/v1/namespaces",
	"/apis/discovery.k8s.io/v1/endpointslices", "/apis/authentication.k8s.io/v1/selfsubjectreviews"}

func FuzzQueries(f *testing.F) {
	for _, query := range []string{
		"labelSelector=a+in+(b,c),!d", "labelSelector=a=(", "fieldSelector=metadata.name!=x", "fieldSelector=%5C", "limit=1", "limit=-1", "limit=x",
		"limit=9223372036854775807", "continue=e30", "continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYSJ9",
		"continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OSwic3RhcnQiOiJhIn0", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
		"resourceVersion=1&resourceVersionMatch=Exact", "resourceVersion=18446744073709551615", "dryRun=All", "fieldValidation=Strict", "pretty=1", "timeoutSeconds=x",
		"gracePeriodSeconds=-1", "gracePeriodSeconds=9223372036854775807", "propagationPolicy=Orphan&orphanDependents=true", "%zz", "includeObject=Object",
		"watch=1&allowWatchBookmarks=1", "watch=x&resourceVersion=3&includeObject=Object", "watch&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
		"watch=1&fieldSelector=status.phase!=Running&labelSelector=a", "watch=1&timeoutSeconds=9223372036854775807",
	} {
		for _, method := range []string{"GET", "DELETE", "POST"} {
			for path := range queried {
				f.Add(uint8(path), method, query, Table)
			}
		}
	}
	f.Add(uint8(0), "GET", "", "application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1,,;,*/*")
	f.Add(uint8(0), "GET", "", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	f.Fuzz(func(t *testing.T, path uint8, method, query, accept string) {
		if method != "GET" && method != "DELETE" && method != "POST" {
			method = "GET"
		}
		synctest.Test(t, func(t *testing.T) {
			survives(t, attacked(t), method, queried[int(path)%len(queried)], query, "", "Accept", accept)
		})
	})
}
