package openapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/discovery"
)

func TestTheIndexNamesEachDocumentWithItsHash(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	w := get(d, "/openapi/v3", nil)
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
	hash := regexp.MustCompile(`[0-9A-F]{128}`)
	location := func(path string) string {
		return `"` + path + `":{"serverRelativeURL":"/openapi/v3/` + path + `?hash=HASH"}`
	}
	assert.Equal(t, `{"paths":{`+location("api/v1")+","+location("apis/authentication.k8s.io/v1")+","+
		location("apis/authorization.k8s.io/v1")+","+location("apis/discovery.k8s.io/v1")+"}}",
		strings.TrimSuffix(hash.ReplaceAllString(w.Body.String(), "HASH"), "\n"))
	for i, path := range paths {
		assert.Equal(t, `"`+hash.FindAllString(w.Body.String(), -1)[i]+`"`, get(d, path, nil).Header().Get("ETag"))
	}
}

func TestADocumentIsFoundByPathHashAndTag(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	const path = "/openapi/v3/api/v1"
	tag := get(d, path, nil).Header().Get("ETag")
	hash := tag[1 : len(tag)-1]

	without := get(d, path, nil)
	assert.Equal(t, http.StatusOK, without.Code)
	assert.Equal(t, "application/json", without.Header().Get("Content-Type"))
	assert.Equal(t, "Accept", without.Header().Get("Vary"))
	assert.Empty(t, without.Header().Get("Cache-Control"), "another document may be here tomorrow")

	right := get(d, path+"?hash="+hash+"&timeout=32s", nil)
	assert.Equal(t, http.StatusOK, right.Code)
	assert.Equal(t, without.Body, right.Body)
	assert.Equal(t, "public, immutable", right.Header().Get("Cache-Control"))
	expires, err := http.ParseTime(right.Header().Get("Expires"))
	require.NoError(t, err)
	assert.True(t, expires.After(time.Now().AddDate(0, 11, 0)), expires)

	wrong := get(d, path+"?hash=0", nil)
	assert.Equal(t, http.StatusMovedPermanently, wrong.Code)
	assert.Equal(t, path+"?hash="+hash, wrong.Header().Get("Location"))
	assert.Empty(t, wrong.Header().Get("Cache-Control"))

	known := get(d, path, http.Header{"If-None-Match": {tag}})
	assert.Equal(t, http.StatusNotModified, known.Code)
	assert.Empty(t, known.Body.String())
}

func TestADocumentIsThereForClientsThatTakeJSON(t *testing.T) {
	t.Parallel()
	d := New(nil, nil)
	assert.Equal(t, http.StatusOK, get(d, root, nil).Code)
	groups, types := served(t)
	d = New(groups, types)
	for accept, code := range map[string]int{
		"":                            http.StatusOK,
		"*/*":                         http.StatusOK,
		"application/*":               http.StatusOK,
		"text/html, application/json": http.StatusOK,
		"application/com.github.proto-openapi.spec.v3@v1.0+protobuf":                  http.StatusNotAcceptable,
		"application/com.github.proto-openapi.spec.v3@v1.0+protobuf,application/json": http.StatusOK,
	} {
		assert.Equal(t, code, get(d, root+"/api/v1", http.Header{"Accept": {accept}}).Code, accept)
	}
}

func TestWhatIsNotInTheIndexIsNotFound(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	for _, path := range []string{"/openapi/v1", "/openapi", "/openapi/v3/api", "/openapi/v3/api/v2", "/openapi/v3/api/v1/pods"} {
		assert.Equal(t, http.StatusNotFound, get(d, path, nil).Code, path)
	}
	assert.Equal(t, http.StatusOK, get(d, "/openapi/v3/", nil).Code)
}

// counted counts how often it is described.
type counted struct{}

var timesDescribed atomic.Int32

func (counted) SwaggerDoc() map[string]string {
	timesDescribed.Add(1)
	return map[string]string{"": "It is counted."}
}

func TestDocumentsAreMadeOnceAtFirstUse(t *testing.T) {
	t.Parallel()
	timesDescribed.Store(0)
	d := New([]Version{{Version: discovery.Version{GroupVersion: schema.GroupVersion{Version: "v1"}, Resources: []metav1.APIResource{
		{Name: "counteds", Kind: "Counted", Verbs: metav1.Verbs{"get"}},
	}}}}, map[schema.GroupVersionKind]any{{Version: "v1", Kind: "Counted"}: counted{}})
	assert.Zero(t, timesDescribed.Load(), "nobody has asked yet")
	get(d, root, nil)
	once := timesDescribed.Load()
	assert.Positive(t, once)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			assert.Contains(t, get(d, root+"/api/v1", nil).Body.String(), "It is counted.")
		})
	}
	group.Wait()
	assert.Equal(t, once, timesDescribed.Load())
}

func TestTwoServersWriteTheSameBytes(t *testing.T) {
	t.Parallel()
	one, other := get(New(served(t)), root, nil), get(New(served(t)), root, nil)
	assert.True(t, json.Valid(one.Body.Bytes()))
	assert.Equal(t, one.Body.String(), other.Body.String())
}
