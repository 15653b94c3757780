package openapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	openapi "k8s.io/kube-openapi/pkg/util/proto"

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

func TestADocumentIsInTheFormThatTheClientLikesBest(t *testing.T) {
	t.Parallel()
	d := New(nil, nil)
	assert.Equal(t, http.StatusOK, get(d, root, nil).Code)
	groups, types := served(t)
	d = New(groups, types)
	const deprecated = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	for accept, want := range map[string]string{
		"":                               typeJSON,
		"*/*":                            typeJSON,
		"application/*":                  typeJSON,
		"text/html, application/json":    typeJSON,
		typeProtobufV3:                   typeProtobufV3,
		deprecated:                       typeProtobufV3,
		deprecated + ",application/json": typeProtobufV3,
		"application/json," + deprecated: typeJSON,
		"text/html":                      "",
		typeProtobufV2:                   "",
	} {
		w := get(d, root+"/api/v1", http.Header{"Accept": {accept}})
		assert.Equal(t, want, w.Header().Get("Content-Type"), accept)
		assert.Equal(t, want == "", w.Code == http.StatusNotAcceptable, accept)
	}
}

// client-go reads version 3 like this.
func TestClientsReadVersion3InProtobuf(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	w := get(d, root+"/api/v1", http.Header{"Accept": {typeProtobufV3}})
	assert.Equal(t, get(d, root+"/api/v1", nil).Header().Get("ETag"), w.Header().Get("ETag"), "the hash is that of the text in JSON")
	document := new(openapi_v3.Document)
	require.NoError(t, proto.Unmarshal(w.Body.Bytes(), document))
	models, err := openapi.NewOpenAPIV3Data(document)
	require.NoError(t, err)
	spec := models.LookupModel(core + "PodSpec").(*openapi.Kind)
	assert.Equal(t, "merge", spec.Fields["containers"].GetExtensions()["x-kubernetes-patch-strategy"])
	assert.Len(t, document.Paths.Path, len(written(t)[paths[0]].Paths))
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

func TestADocumentThatNobodyReadsIsForgottenButNotItsHash(t *testing.T) {
	t.Parallel()
	versions, types := served(t)
	synctest.Test(t, func(t *testing.T) {
		d := New(versions, types)
		for path, document := range map[string]*described{paths[0]: d.all[paths[0]], pathV2: d.v2()} {
			for _, accept := range []string{typeJSON, typeProtobufV2 + "," + typeProtobufV3} {
				header := http.Header{"Accept": {accept}}
				first := get(d, path, header)
				tag, form := first.Header().Get("ETag"), document.json
				if accept != typeJSON {
					form = document.protobuf
				}
				time.Sleep(keptFor - time.Nanosecond) // the bubble's clock: it takes no time
				get(d, path, header)
				time.Sleep(keptFor - time.Nanosecond)
				synctest.Wait()
				assert.True(t, isKept(form), "it was read again")
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				assert.False(t, isKept(form))

				known := get(d, path, http.Header{"Accept": {accept}, "If-None-Match": {`"other", ` + tag}})
				assert.Equal(t, http.StatusNotModified, known.Code)
				assert.Contains(t, get(d, root, nil).Body.String(), d.all[paths[0]].hash())
				assert.False(t, isKept(document.json), "its hash is enough")
				assert.False(t, isKept(document.protobuf))

				again := get(d, path, http.Header{"Accept": {accept}, "If-None-Match": {`"other"`}})
				assert.Equal(t, first.Body.Bytes(), again.Body.Bytes())
				time.Sleep(keptFor)
				synctest.Wait()
			}
		}
	})
}

func isKept(t *text) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.body != nil
}

func TestATimerDoesNotKeepDocumentsOfBefore(t *testing.T) {
	t.Parallel()
	d := New(served(t))
	get(d, pathV2, nil)
	before := weak.Make(d.v2().json)
	d = d.Next(nil, nil)
	runtime.GC()
	assert.Nil(t, before.Value())
	runtime.KeepAlive(d)
}
