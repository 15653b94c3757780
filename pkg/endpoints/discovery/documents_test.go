package discovery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recording is an answer of today's server, without the groups and resources that this
// one does not have.
type recording struct {
	Path, Accept, ContentType, Answer string
}

func recordings(t *testing.T) []recording {
	text, err := os.ReadFile("testdata/recorded.json")
	require.NoError(t, err)
	var all []recording
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

// recordedVersions reads the table of versions from the recorded lists of resources.
func recordedVersions(t *testing.T) []Version {
	var versions []Version
	for _, r := range recordings(t) {
		var list metav1.APIResourceList
		require.NoError(t, json.Unmarshal([]byte(r.Answer), &list))
		if list.Kind == "APIResourceList" {
			named, err := schema.ParseGroupVersion(list.GroupVersion)
			require.NoError(t, err)
			versions = append(versions, Version{GroupVersion: named, Resources: list.APIResources})
		}
	}
	require.Len(t, versions, 4)
	return versions
}

// empty returns versions without resources.
func empty(names ...string) (versions []Version) {
	for _, name := range names {
		version, _ := schema.ParseGroupVersion(name)
		versions = append(versions, Version{GroupVersion: version})
	}
	return versions
}

func get(t *testing.T, d *Documents, path string, header http.Header) *httptest.ResponseRecorder {
	handler := d.Handler(path)
	require.NotNil(t, handler, path)
	r := httptest.NewRequest(http.MethodGet, "http://192.0.2.2:16443"+path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func TestDocumentsAreThoseOfTheRealServer(t *testing.T) {
	t.Parallel()
	d := New(recordedVersions(t))
	for _, r := range recordings(t) {
		t.Run(r.Path+" as "+r.ContentType, func(t *testing.T) {
			t.Parallel()
			w := get(t, d, r.Path, http.Header{"Accept": {r.Accept}})
			assert.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, r.ContentType, w.Header().Get("Content-Type"))
			assert.Equal(t, r.Answer, w.Body.String())
		})
	}
}

func TestEachPathOfAGroupHasADocument(t *testing.T) {
	t.Parallel()
	d := New(empty("v1", "b/v2", "b/v1", "a/v1"))
	for _, path := range []string{"/api", "/api/v1", "/apis", "/apis/", "/apis/a", "/apis/a/v1", "/apis/b", "/apis/b/v1", "/apis/b/v2"} {
		assert.NotNil(t, d.Handler(path), path)
	}
	for _, path := range []string{"/", "/api/v2", "/apis/c", "/apis/a/v2", "/apis/a/v1/pods"} {
		assert.Nil(t, d.Handler(path), path)
	}
}

func TestTheFirstVersionOfAGroupIsPreferred(t *testing.T) {
	t.Parallel()
	d := New(empty("autoscaling/v2", "autoscaling/v1"))
	assert.Equal(t, `{"kind":"APIGroup","apiVersion":"v1","name":"autoscaling","versions":[`+
		`{"groupVersion":"autoscaling/v2","version":"v2"},{"groupVersion":"autoscaling/v1","version":"v1"}],`+
		`"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}}`+"\n", get(t, d, "/apis/autoscaling", nil).Body.String())
}

func TestListsWithoutEntriesAreEmptyNotNull(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/api":       `{"kind":"APIVersions","versions":[],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"192.0.2.2:16443"}]}`,
		"/apis":      `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"a","versions":[{"groupVersion":"a/v1","version":"v1"}],"preferredVersion":{"groupVersion":"a/v1","version":"v1"}}]}`,
		"/apis/a/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"a/v1","resources":[]}`,
	} {
		assert.Equal(t, want+"\n", get(t, New(empty("a/v1")), path, nil).Body.String())
	}
	assert.Equal(t, `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`+"\n", get(t, New(nil), "/apis", nil).Body.String())
}

func TestAClientGetsTheAggregatedDocumentIfItPrefersIt(t *testing.T) {
	t.Parallel()
	for sentence, row := range map[string]struct {
		accept     string
		aggregated bool
	}{
		"it accepts all":                              {"*/*", false},
		"it does not say what it accepts":             {"", false},
		"it asks for plain JSON":                      {"application/json", false},
		"it accepts only the aggregated one":          {aggregatedType, true},
		"it names the aggregated one first":           {aggregatedType + ",application/json", true},
		"it names the plain one first":                {"application/json, " + aggregatedType, false},
		"it gives the plain one less weight":          {"application/json;q=0.5, " + aggregatedType + ";q=0.9", true},
		"it refuses the aggregated one":               {aggregatedType + ";q=0", false},
		"it prefers an older version":                 {"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", false},
		"it would take protobuf first":                {"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," + aggregatedType, true},
		"it writes what is no type before it":         {";;," + aggregatedType, true},
		"it asks for another document under the name": {"application/json;g=meta.k8s.io;v=v2;as=APIGroupDiscoveryList", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := get(t, New(nil), "/api", http.Header{"Accept": {row.accept}})
			assert.Equal(t, row.aggregated, w.Header().Get("Content-Type") == aggregatedType, w.Body)
			assert.Equal(t, row.aggregated, w.Header().Get("ETag") != "")
			assert.Equal(t, "Accept", w.Header().Get("Vary"))
		})
	}
}

func TestAnAggregatedDocumentThatTheClientHasIsNotSentAgain(t *testing.T) {
	t.Parallel()
	d := New(recordedVersions(t))
	tag := get(t, d, "/apis", http.Header{"Accept": {aggregatedType}}).Header().Get("ETag")
	assert.Regexp(t, `^"[0-9A-F]{128}"$`, tag)
	again := get(t, d, "/apis", http.Header{"Accept": {aggregatedType}, "If-None-Match": {tag}})
	assert.Equal(t, http.StatusNotModified, again.Code)
	assert.Empty(t, again.Body.String())
	other := get(t, d, "/api", http.Header{"Accept": {aggregatedType}, "If-None-Match": {tag}})
	assert.Equal(t, http.StatusOK, other.Code, "that is the tag of another document")
}

func TestASubresourceIsListedUnderItsResource(t *testing.T) {
	t.Parallel()
	resources := Aggregate([]metav1.APIResource{
		{Name: "nodes", SingularName: "node", Kind: "Node", Verbs: metav1.Verbs{"get"}},
		{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get"}},
		{Name: "nodes/status", Kind: "Node", Verbs: metav1.Verbs{"get", "update"}},
	})
	require.Len(t, resources, 2)
	require.Len(t, resources[0].Subresources, 1)
	assert.Equal(t, "status", resources[0].Subresources[0].Subresource)
	assert.Equal(t, []string{"get", "update"}, resources[0].Subresources[0].Verbs)
	assert.Empty(t, resources[1].Subresources)
}
