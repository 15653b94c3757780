package aggregator_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
)

const ofAll = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// described serves example.com/v1 with all documents, and says in them more than it should.
func described(w http.ResponseWriter, req *http.Request) {
	switch req.URL.Path {
	case "/apis":
		w.Header().Set("Content-Type", ofAll)
		_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1"}]},{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[
			{"resource":"things","scope":"Namespaced","verbs":["delete","get","list"],"responseKind":{"kind":"Thing"},"subresources":[{"subresource":"status"}]}]}]}]}`)
	case "/openapi/v3":
		_, _ = io.WriteString(w, `{"paths":{"apis/example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/example.com/v1?hash=1"},"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=theirs"}}}`)
	case "/openapi/v2":
		_, _ = io.WriteString(w, `{"swagger":"2.0","info":{"title":"t","version":"1"},"paths":{"/apis/example.com/v1/things":{"get":{"responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.Thing"}}}}},
			"/api/v1/pods":{"get":{"description":"stolen","responses":{}}}},"definitions":{"com.example.Thing":{"type":"object"}}}`)
	default:
		serve(w, req)
	}
}

// versions returns the versions in the document of all versions.
func (f *front) versions() (list apidiscovery.APIGroupDiscoveryList, found map[string]apidiscovery.APIVersionDiscovery) {
	_, body, _ := f.get("/apis", "Accept", ofAll)
	require.NoError(f.t, json.Unmarshal([]byte(body), &list))
	found = map[string]apidiscovery.APIVersionDiscovery{}
	for _, group := range list.Items {
		for _, version := range group.Versions {
			found[group.Name+"/"+version.Version] = version
		}
	}
	return list, found
}

// K106: of what the other server describes, only its own version is passed on.
func TestDiscoveryAndOpenAPIAreThoseOfAllServers(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(described)))
	f.register("")
	_, found := f.versions()
	things := found["example.com/v1"]
	require.Len(t, things.Resources, 1)
	assert.Equal(t, apidiscovery.DiscoveryFreshnessCurrent, things.Freshness)
	assert.Equal(t, "Thing", things.Resources[0].ResponseKind.Kind)
	assert.Equal(t, &metav1.GroupVersionKind{}, things.Resources[0].Subresources[0].ResponseKind, "some clients expect it")
	assert.NotContains(t, found, "apps/v1", "that is not the other server's")
	assert.Contains(t, found, "discovery.k8s.io/v1")
	_, body, _ := f.get("/apis/example.com")
	assert.Contains(t, body, `"groupVersion":"example.com/v1"`)
	_, body, _ = f.get("/apis")
	assert.Contains(t, body, `"name":"example.com"`)
	_, body, _ = f.get("/openapi/v3")
	assert.Contains(t, body, `"apis/example.com/v1":{"serverRelativeURL":"/openapi/v3/apis/example.com/v1?hash=1"}`)
	assert.NotContains(t, body, "theirs")
	_, body, _ = f.get("/openapi/v3/apis/example.com/v1?hash=1")
	assert.Contains(t, body, `"uri":"/openapi/v3/apis/example.com/v1?hash=1"`, "the other server has been asked")
	_, body, header := f.get("/openapi/v2")
	var v2 struct {
		Paths       map[string]struct{ Get struct{ Description string } }
		Definitions map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(body), &v2))
	assert.Contains(t, v2.Paths, "/apis/example.com/v1/things")
	assert.Contains(t, v2.Paths, "/api/v1/namespaces/{namespace}/pods")
	assert.NotEqual(t, "stolen", v2.Paths["/api/v1/pods"].Get.Description)
	assert.Contains(t, v2.Definitions, "com.example.Thing")
	status, _, _ := f.get("/openapi/v2", "If-None-Match", header.Get("ETag"))
	assert.Equal(t, http.StatusNotModified, status)

	known, stale := f.server.Deletable()
	require.Len(t, known, 1)
	assert.Equal(t, "things example.com/v1 Thing true", fmt.Sprint(known[0].Name, " ", known[0].Group, "/", known[0].Version, " ", known[0].Kind, " ", known[0].Namespaced))
	assert.Empty(t, stale)
}

func TestAServerIsAskedAtTheAddressThatAnswers(t *testing.T) {
	t.Parallel()
	f := open(t)
	server := f.other(http.HandlerFunc(described))
	f.serve(server)
	subsets := []string{fmt.Sprintf(`{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":%d}]}`, server.Listener.Addr().(*net.TCPAddr).Port)}
	for range 4 {
		away, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, away.Close())
		subsets = append(subsets, fmt.Sprintf(`{"addresses":[{"ip":"127.0.0.1"}],"ports":[{"port":%d}]}`, away.Addr().(*net.TCPAddr).Port))
	}
	assert.Equal(t, 200, f.Patch(Endpoints+"/api", MergePatch, `{"subsets":[`+strings.Join(subsets, ",")+`]}`).Status)
	assert.Equal(t, "Passed", f.register("").Reason)
	_, found := f.versions()
	assert.Equal(t, apidiscovery.DiscoveryFreshnessCurrent, found["example.com/v1"].Freshness)
	assert.Len(t, found["example.com/v1"].Resources, 1)
}

func TestADocumentOfAllVersionsThatFailedOnceIsAskedForAgain(t *testing.T) {
	t.Parallel()
	f := open(t)
	var asked atomic.Int32
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/apis" && asked.Add(1) == 1 {
			http.Error(w, "it starts", http.StatusServiceUnavailable)
			return
		}
		described(w, req)
	})))
	begin := time.Now()
	assert.Equal(t, "Passed", f.register("").Reason)
	require.Eventually(t, func() bool {
		_, found := f.versions()
		return len(found["example.com/v1"].Resources) == 1
	}, time.Minute, 5*time.Millisecond)
	t.Logf("%s after the registration", time.Since(begin))
}

func TestWhatAServerThatIsAwayServesIsStale(t *testing.T) {
	t.Parallel()
	f := open(t)
	var away atomic.Bool
	f.serve(f.other(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		described(w, req)
	})))
	f.register("")
	away.Store(true)
	f.send("PATCH", apiServices+"/v1.example.com", `{"metadata":{"annotations":{"look":"again"}}}`)
	freshness := func(want apidiscovery.DiscoveryFreshness) func() bool {
		return func() bool {
			_, found := f.versions()
			return found["example.com/v1"].Freshness == want
		}
	}
	require.Eventually(t, freshness(apidiscovery.DiscoveryFreshnessStale), time.Minute, 5*time.Millisecond)
	_, found := f.versions()
	assert.Empty(t, found["example.com/v1"].Resources)
	_, body, _ := f.get("/apis")
	assert.Contains(t, body, `"name":"example.com"`, "the group is still there")
	_, body, _ = f.get("/openapi/v2")
	assert.NotContains(t, body, "com.example.Thing")
	known, stale := f.server.Deletable()
	assert.Len(t, known, 1, "the garbage collector goes on to follow them")
	assert.Equal(t, "[example.com/v1]", fmt.Sprint(stale))
	away.Store(false)
	require.Eventually(t, freshness(apidiscovery.DiscoveryFreshnessCurrent), time.Minute, 5*time.Millisecond, "it is asked again and again")
	f.send("DELETE", apiServices+"/v1.example.com", "")
	require.Eventually(t, func() bool {
		_, body, _ := f.get("/apis")
		return !strings.Contains(body, "example.com")
	}, time.Minute, 5*time.Millisecond)
	status, _, _ := f.get("/apis/example.com/v1/things")
	assert.Equal(t, http.StatusNotFound, status)
}

// K97: a local APIService changes nothing, and groups of one priority are sorted by name.
func TestGroupsAreInTheOrderOfTheirPriorities(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(described)))
	f.register("")
	for name, more := range map[string]string{"a.com": `"groupPriorityMinimum":1000,"service":{"namespace":"x","name":"y"}`, "z.com": `"groupPriorityMinimum":19000,"service":{"namespace":"x","name":"y"}`,
		"local.com": `"groupPriorityMinimum":2000`} {
		f.send("POST", apiServices, `{"metadata":{"name":"v1.`+name+`"},"spec":{"group":"`+name+`","version":"v1","versionPriority":15,`+more+`}}`)
	}
	names := func() (names []string) {
		list, _ := f.versions()
		for _, group := range list.Items {
			if strings.HasSuffix(group.Name, ".com") || group.Name == "discovery.k8s.io" || group.Name == "apiregistration.k8s.io" {
				names = append(names, group.Name)
			}
		}
		return names
	}
	assert.Eventually(t, func() bool {
		return fmt.Sprint(names()) == "[apiregistration.k8s.io z.com discovery.k8s.io a.com example.com]"
	}, time.Minute, 5*time.Millisecond)
}

func TestAGroupOfThisServerCanBeGivenToAnotherOneButThatOfTheAPIServices(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.serve(f.other(http.HandlerFunc(serve)))
	for _, group := range []string{"discovery.k8s.io", "apiregistration.k8s.io"} {
		f.send("POST", apiServices, `{"metadata":{"name":"v1.`+group+`"},"spec":{"group":"`+group+`","version":"v1","versionPriority":15,"groupPriorityMinimum":100,"service":{"namespace":"default","name":"api"}}}`)
	}
	require.Eventually(t, func() bool {
		status, body, _ := f.get("/apis/discovery.k8s.io/v1/endpointslices")
		return status == 503 && body == "service unavailable\n"
	}, time.Minute, 5*time.Millisecond)
	status, _, _ := f.get(apiServices)
	assert.Equal(t, 200, status)
	status, _, _ = f.get("/api/v1/pods")
	assert.Equal(t, 200, status)
	f.send("PATCH", apiServices+"/v1.discovery.k8s.io", `{"spec":{"service":null}}`)
	require.Eventually(t, func() bool {
		status, _, _ := f.get("/apis/discovery.k8s.io/v1/endpointslices")
		return status == 200
	}, time.Minute, 5*time.Millisecond)
}
