package endpoints_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "kube2014/pkg/master/endpointstest"
)

// withPods stores pods named a, b, … with a label of their name, on no node.
func withPods(t *testing.T, n int) *Door {
	d := Open(t)
	for i := range n {
		name := string(rune('a' + i))
		d.Must("POST", Pods, Pod(name, fmt.Sprintf(`"labels":{"name":%q,"odd":"%t"}`, name, i%2 == 1)))
	}
	return d
}

func query(parts ...string) string {
	values := url.Values{}
	for i := 0; i < len(parts); i += 2 {
		if parts[i+1] != "" {
			values.Set(parts[i], parts[i+1])
		}
	}
	return "?" + values.Encode()
}

func TestAListHasWhatItsSelectorsSelect(t *testing.T) {
	t.Parallel()
	d := withPods(t, 4)
	for _, row := range []struct {
		labels, fields string
		want           []string
	}{
		{"", "", []string{"a", "b", "c", "d"}},
		{"name=a", "", []string{"a"}},
		{"name==a", "", []string{"a"}},
		{"name!=a", "", []string{"b", "c", "d"}},
		{"name in (a,c)", "", []string{"a", "c"}},
		{"name in (a)", "", []string{"a"}},
		{"name notin (a,c)", "", []string{"b", "d"}},
		{"odd", "", []string{"a", "b", "c", "d"}},
		{"!odd", "", []string{}},
		{"none", "", []string{}},
		{"odd=true,name!=b", "", []string{"d"}},
		{"name=a,name=b", "", []string{}},
		{"", "metadata.name=c", []string{"c"}},
		{"", "metadata.name!=c", []string{"a", "b", "d"}},
		{"", "metadata.namespace=default,status.phase=Pending", []string{"a", "b", "c", "d"}},
		{"", "spec.nodeName!=", []string{}},
		{"odd=true", "metadata.name==b", []string{"b"}},
	} {
		names, _ := d.Must("GET", Pods+query("labelSelector", row.labels, "fieldSelector", row.fields), "").Names()
		assert.Equal(t, row.want, names, "%s %s", row.labels, row.fields)
	}
	for _, bad := range []string{"a b", "a in", "a=(", ",", "=", "a==="} {
		assert.Equal(t, 400, d.Do("GET", Pods+query("labelSelector", bad), "").Status, bad)
	}
	assert.Equal(t, 400, d.Do("GET", Pods+query("fieldSelector", "a"), "").Status)
}

func TestAFieldThatAKindIsNotSelectedByIsRefusedInTheWordsOfTodaysServer(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, row := range []struct{ path, field, message string }{
		{Pods, "metadata.labels", "field label not supported: metadata.labels"},
		{Nodes, "metadata.namespace", "field label not supported: metadata.namespace"},
		{"/api/v1/namespaces", "spec.finalizers", "field label not supported: spec.finalizers"},
		{"/api/v1/namespaces", "name", "field label not supported: name"},
		{Endpoints, "subsets", `"subsets" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/apis/discovery.k8s.io/v1/endpointslices", "ports", `"ports" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		refused := d.Do("GET", row.path+query("fieldSelector", row.field+"=x"), "").Error()
		assert.EqualValues(t, 400, refused.Code)
		assert.Equal(t, row.message, refused.Message)
	}
	d.Must("POST", "/api/v1/namespaces", `{"metadata":{"name":"dev"}}`)
	for selector, want := range map[string][]string{"status.phase=Active": {"dev"}, "metadata.name=dev": {"dev"}, "metadata.name!=dev": {}} {
		names, _ := d.Must("GET", "/api/v1/namespaces"+query("fieldSelector", selector), "").Names()
		assert.Equal(t, want, names, selector)
	}
}

func TestAListThatTakesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	d := withPods(t, 2)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, path := range []string{Pods, Pods + "?labelSelector=name", Pods + "?fieldSelector=status.phase!=Failed"} {
		recorder := httptest.NewRecorder()
		d.ServeHTTP(recorder, httptest.NewRequestWithContext(late, "GET", path, nil))
		require.Equal(t, 504, recorder.Code)
		assert.JSONEq(t, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Timeout","details":{},"code":504,
			"message":"Timeout: request did not complete within requested timeout - context deadline exceeded"}`, recorder.Body.String())
	}
}

func TestPagesTogetherAreTheListAtTheVersionOfTheFirst(t *testing.T) {
	t.Parallel()
	d := withPods(t, 5)
	names, first := d.Must("GET", Pods+"?limit=2", "").Names()
	assert.Equal(t, []string{"a", "b"}, names)
	assert.EqualValues(t, 3, *first.RemainingItemCount)

	d.Must("DELETE", Pods+"/c", "")
	d.Must("POST", Pods, Pod("cc", ""))
	names, second := d.Must("GET", Pods+query("limit", "2", "continue", first.Continue), "").Names()
	assert.Equal(t, []string{"c", "d"}, names)
	assert.Equal(t, first.ResourceVersion, second.ResourceVersion)
	names, last := d.Must("GET", Pods+query("limit", "2", "continue", second.Continue), "").Names()
	assert.Equal(t, []string{"e"}, names)
	assert.Empty(t, last.Continue)
	assert.Nil(t, last.RemainingItemCount)

	names, selected := d.Must("GET", Pods+query("limit", "1", "labelSelector", "odd=false"), "").Names()
	assert.Equal(t, []string{"a"}, names)
	assert.NotEmpty(t, selected.Continue)
	assert.Nil(t, selected.RemainingItemCount, "how many more are selected is not known")
}

func TestAPageOfAVersionThatIsForgottenOffersTheRestAsItIsNow(t *testing.T) {
	t.Parallel()
	d := withPods(t, 4)
	_, first := d.Must("GET", Pods+"?limit=2", "").Names()
	d.Forget(first.ResourceVersion)
	gone := d.Do("GET", Pods+query("limit", "2", "continue", first.Continue), "").Error()
	assert.Equal(t, metav1.StatusReasonExpired, gone.Reason)
	assert.EqualValues(t, 410, gone.Code)
	require.NotEmpty(t, gone.Continue)
	names, _ := d.Must("GET", Pods+query("continue", gone.Continue), "").Names()
	assert.Equal(t, []string{"c", "d", "forgotten"}, names)
	exact := d.Do("GET", Pods+query("resourceVersion", first.ResourceVersion, "resourceVersionMatch", "Exact"), "").Error()
	assert.Equal(t, "The resourceVersion for the provided list is too old.", exact.Message)
}

func TestAListMayNameAVersion(t *testing.T) {
	t.Parallel()
	d := withPods(t, 2)
	_, now := d.Must("GET", Pods, "").Names()
	d.Must("DELETE", Pods+"/a", "")
	for _, row := range []struct {
		name, version, match, limit string
		want                        []string
	}{
		{"any", "0", "", "", []string{"b"}},
		{"at least that one", now.ResourceVersion, "", "", []string{"b"}},
		{"at least that one, in words", now.ResourceVersion, "NotOlderThan", "", []string{"b"}},
		{"exactly that one", now.ResourceVersion, "Exact", "", []string{"a", "b"}},
		{"with a limit it is exact", now.ResourceVersion, "", "5", []string{"a", "b"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			names, _ := d.Must("GET", Pods+query("resourceVersion", row.version, "resourceVersionMatch", row.match, "limit", row.limit), "").Names()
			assert.Equal(t, row.want, names)
		})
	}
	tooLarge := d.Do("GET", Pods+"?resourceVersion=99999", "")
	assert.Equal(t, "1", tooLarge.Header.Get("Retry-After"))
	assert.Contains(t, tooLarge.Error().Message, "Too large resource version: 99999, current: ")
	future := d.Do("GET", Pods+query("resourceVersion", "99999", "resourceVersionMatch", "Exact"), "")
	assert.Equal(t, tooLarge.Error(), future.Error())
	for _, row := range []struct{ query, message string }{
		{query("sendInitialEvents", "true"), "sendInitialEvents is forbidden for list"},
		{query("resourceVersionMatch", "Exact"), "resourceVersionMatch is forbidden unless resourceVersion is provided"},
		{query("resourceVersionMatch", "Exact", "resourceVersion", "0"), `resourceVersionMatch "exact" is forbidden for resourceVersion "0"`},
		{query("resourceVersionMatch", "Perhaps", "resourceVersion", "1"), "supported values"},
		{query("resourceVersionMatch", "NotOlderThan", "resourceVersion", "1", "continue", "x"), "resourceVersionMatch is forbidden when continue is provided"},
	} {
		refused := d.Do("GET", Pods+row.query, "").Error()
		assert.EqualValues(t, 422, refused.Code)
		assert.Contains(t, refused.Message, row.message)
	}
	assert.Equal(t, 400, d.Do("GET", Pods+"?resourceVersion=x", "").Status)
}

func TestATokenThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	d := withPods(t, 1)
	for _, text := range []string{"x", `{}`, `[]`, `null`, `{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`, `{"v":"meta.k8s.io/v1","rv":1,"start":""}`} {
		refused := d.Do("GET", Pods+query("continue", base64.RawURLEncoding.EncodeToString([]byte(text))), "").Error()
		assert.EqualValues(t, 400, refused.Code)
		assert.Contains(t, refused.Message, "invalid continue token: ")
	}
	assert.Equal(t, 400, d.Do("GET", Pods+"?continue=%21", "").Status)
}

func TestACollectionIsDeletedAsFarAsItIsSelected(t *testing.T) {
	t.Parallel()
	d := withPods(t, 4)
	names, _ := d.Must("DELETE", Pods+query("labelSelector", "odd=true"), "").Names()
	assert.Equal(t, []string{"b", "d"}, names)
	names, _ = d.Must("GET", Pods, "").Names()
	assert.Equal(t, []string{"a", "c"}, names)
	d.Must("DELETE", Pods+query("fieldSelector", "metadata.name=c"), "")
	names, _ = d.Must("GET", Pods, "").Names()
	assert.Equal(t, []string{"a"}, names)
}
