package endpoints_test

import (
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	v1 "kube2014/pkg/api/v1"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/server/filters"
	"kube2014/pkg/server/request"
)

const (
	asProtobuf = "application/vnd.kubernetes.protobuf"
	ofMeta     = ";g=meta.k8s.io;v=v1"
	asMetadata = ";as=PartialObjectMetadata" + ofMeta
	asItsList  = ";as=PartialObjectMetadataList" + ofMeta
)

// decoder decodes JSON, YAML and protobuf.
var decoder = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, metav1.AddMetaToScheme, metav1beta1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// decoded returns the object in an answer, with its kind.
func decoded(t *testing.T, text string) runtime.Object {
	t.Helper()
	object, kind, err := decoder.Decode([]byte(text), nil, nil)
	require.NoError(t, err, text)
	object.GetObjectKind().SetGroupVersionKind(*kind)
	return object
}

// The answers of kube-apiserver 1.36.3 to these headers, but that K102 tells of.
func TestAnAnswerHasTheFormThatTheClientAccepts(t *testing.T) {
	t.Parallel()
	const (
		json, yaml = "application/json", "application/yaml"
		only       = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		none       = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
		streams    = ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
	)
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct {
		path, accept string
		status       int
		contentType  string
		is           string // the kind or, of an error, the message
	}{
		{"/web", "", 200, json, "Pod"},
		{"/web", "*/*", 200, json, "Pod"},
		{"/web", asProtobuf, 200, asProtobuf, "Pod"},
		{"", asProtobuf, 200, asProtobuf, "PodList"},
		{"/web", asProtobuf + ",application/json", 200, asProtobuf, "Pod"},
		{"/web", "application/json," + asProtobuf, 200, json, "Pod"},
		{"/web", asProtobuf + ";q=0.5,application/json", 200, json, "Pod"},
		{"/web", "application/json;q=0.5," + asProtobuf, 200, asProtobuf, "Pod"},
		{"/web", asProtobuf + ";stream=watch", 200, asProtobuf, "Pod"},
		{"/web", asProtobuf + ";stream=other", 406, json, only},
		{"/web", asProtobuf + ";other=x", 200, asProtobuf, "Pod"},
		{"/web", "application/yaml", 200, yaml, "Pod"},
		{"", "application/yaml", 200, yaml, "PodList"},
		{"/web", asProtobuf + asMetadata, 200, asProtobuf, "PartialObjectMetadata"},
		{"/web", strings.Replace(asProtobuf+asMetadata, "v=v1", "v=v1beta1", 1), 200, asProtobuf, "PartialObjectMetadata"},
		{"", asProtobuf + asItsList, 200, asProtobuf, "PartialObjectMetadataList"},
		{"/web", asProtobuf + asItsList, 406, json, "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Pod)"},
		{"", asProtobuf + asMetadata, 406, json, "you requested PartialObjectMetadata, but the requested object is a list (*core.PodList)"},
		{"/web", asProtobuf + ";as=Table" + ofMeta, 406, json, only},
		{"/web", asProtobuf + ";as=Table" + ofMeta + ",application/json", 200, json, "Pod"},
		{"/web", "*/*;as=Table" + ofMeta, 200, json, "Table"},
		{"/web", "application/yaml;as=Table" + ofMeta, 200, yaml, "Table"},
		{"/web", asProtobuf + ";as=Other" + ofMeta, 406, json, only},
		{"/web", "application/cbor", 406, json, none},
		{"", "text/plain", 406, json, none + streams},
		{"/other", asProtobuf, 404, asProtobuf, `pods "other" not found`},
		{"/other", "application/yaml", 404, yaml, `pods "other" not found`},
		{"/other", asProtobuf + asMetadata, 404, json, `pods "other" not found`},
		{"?watch=1", "application/yaml", 406, yaml, "only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"},
	} {
		answer := d.Do("GET", Pods+row.path, "", "Accept", row.accept)
		name := row.path + " " + row.accept
		assert.Equal(t, row.status, answer.Status, name)
		assert.Equal(t, row.contentType, answer.Header.Get("Content-Type"), name)
		assert.Equal(t, fmt.Sprint(len(answer.Text)), answer.Header.Get("Content-Length"), name)
		switch object := decoded(t, answer.Text).(type) {
		case *metav1.Status:
			assert.Equal(t, row.is, object.Message, name)
		default:
			assert.Equal(t, row.is, object.GetObjectKind().GroupVersionKind().Kind, name)
		}
	}
}

// As by kube-apiserver 1.36.3.
func TestWhatIsOnlyPostedIsInNoTable(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	assert.Equal(t, 200, d.Do("GET", Pods+"/web/status", "", "Accept", Table).Status)
	for path, body := range map[string]string{
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`,
		Pods + "/web/eviction": `{"metadata":{"name":"web"}}`,
	} {
		answer := d.Do("POST", path, body, "Accept", Table)
		assert.Equal(t, 406, answer.Status, path)
		assert.Equal(t, "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf",
			decoded(t, answer.Text).(*metav1.Status).Message, path)
		assert.Equal(t, 201, d.Do("POST", path, body, "Accept", Table+",application/json").Status, path)
	}
}

func TestAllFormsSayTheSame(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, name := range []string{"a", "b", "c"} {
		d.Must("POST", Pods, Pod(name, `"labels":{"k":"v"},"annotations":{"x":"y"},"finalizers":["f.io/f"]`))
	}
	d.Must("POST", Services, `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`)
	d.Must("POST", Events, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"message":"`+strings.Repeat("m", 900)+`"}`)
	for _, row := range []struct{ method, path, body, as string }{
		{"GET", Pods + "/a", "", ""}, {"GET", Pods, "", ""}, {"GET", Pods + "?limit=1", "", ""}, {"GET", Pods + "?labelSelector=none", "", ""},
		{"GET", Services, "", ""}, {"GET", Events, "", ""}, {"GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", "", ""},
		{"GET", "/api/v1/componentstatuses", "", ""}, {"GET", Nodes, "", ""},
		{"GET", Pods + "/a", "", asMetadata}, {"GET", Pods + "?limit=2", "", asItsList}, {"GET", "/api/v1/componentstatuses", "", asItsList},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"nonResourceAttributes":{"path":"/","verb":"get"}}}`, ""},
		{"DELETE", Services + "/web?dryRun=All", "", ""}, {"DELETE", Services + "/web?dryRun=All", "", asMetadata}, {"DELETE", Pods + "?dryRun=All", "", ""},
		{"PUT", Pods + "/a?dryRun=All", Pod("a", `"labels":{"k":"new"}`), ""},
		{"POST", Pods, Pod("A", ""), ""}, {"GET", "/api/v1/others", "", ""}, {"PUT", Pods, "", ""},
	} {
		name := row.method + " " + row.path + row.as
		want := timeless(decoded(t, d.Do(row.method, row.path, row.body, "Accept", "application/json"+row.as, "Content-Type", "application/json").Text))
		for _, mediaType := range []string{asProtobuf, "application/yaml"} {
			answer := d.Do(row.method, row.path, row.body, "Accept", mediaType+row.as, "Content-Type", "application/json")
			assert.Equal(t, mediaType, answer.Header.Get("Content-Type"), name)
			got := timeless(decoded(t, answer.Text))
			if list, ok := got.(*metav1.PartialObjectMetadataList); ok && mediaType == asProtobuf {
				for i := range list.Items { // items in protobuf have no kind
					list.Items[i].TypeMeta = want.(*metav1.PartialObjectMetadataList).Items[i].TypeMeta
				}
			}
			assert.True(t, equality.Semantic.DeepEqual(want, got), "%s in %s:\n%v\n%v", name, mediaType, want, got) // no items are nil in protobuf
		}
	}
}

// watchedIn is watched for events in protobuf.
func watchedIn(t *testing.T, d *Door, path, accept string, during func()) (events []metav1.WatchEvent) {
	answered := make(chan Answer, 1)
	go func() { answered <- d.Do("GET", path+"timeoutSeconds=30", "", "Accept", accept) }()
	synctest.Wait()
	during()
	answer := <-answered
	require.Equal(t, 200, answer.Status, answer.Text)
	assert.Equal(t, asProtobuf+";stream=watch", answer.Header.Get("Content-Type"))
	for text := []byte(answer.Text); len(text) > 0; {
		size := 4 + binary.BigEndian.Uint32(text)
		var event metav1.WatchEvent
		require.NoError(t, event.Unmarshal(text[4:size]))
		events, text = append(events, event), text[size:]
	}
	return events
}

func TestAWatchInProtobufTellsTheSame(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"", asMetadata} {
		synctest.Test(t, func(t *testing.T) {
			change := func(d *Door) func() {
				return func() {
					d.Must("POST", Pods, Pod("new", `"uid":"u"`))
					d.Must("PATCH", Pods+"/new", `{"metadata":{"labels":{"a":"`+strings.Repeat("b", 60)+`"}}}`, "Content-Type", MergePatch)
					d.Must("DELETE", Pods+"/new", "")
				}
			}
			one, other := Open(t), Open(t)
			const path = Pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnew&"
			_, text := watched(t, one, path, change(one), "Accept", "application/json"+as)
			lines := strings.Split(strings.TrimSpace(text), "\n")
			events := watchedIn(t, other, path, asProtobuf+as, change(other))
			require.Len(t, events, len(lines))
			var types []string
			for i, line := range lines {
				var want struct {
					Type   string
					Object json.RawMessage
				}
				require.NoError(t, json.Unmarshal([]byte(line), &want))
				types = append(types, events[i].Type)
				assert.Equal(t, want.Type, events[i].Type)
				assert.Equal(t, without(decoded(t, string(want.Object))), without(decoded(t, string(events[i].Object.Raw))))
			}
			assert.Equal(t, []string{"BOOKMARK", "ADDED", "MODIFIED", "DELETED"}, types)
		})
	}
}

// without returns an object without its uid, and the times of its managers.
func without(object runtime.Object) runtime.Object {
	object.(metav1.Object).SetUID("")
	return timeless(object)
}

// timeless returns an object without the times of its managers, which are those of the clock. Others are returned as they are.
func timeless(object runtime.Object) runtime.Object {
	meta, isObject := object.(metav1.Object)
	if !isObject {
		return object
	}
	managers := slices.Clone(meta.GetManagedFields())
	for i := range managers {
		managers[i].Time = nil
	}
	meta.SetManagedFields(managers)
	return object
}

func TestAWatchInProtobufEndsWithItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := withPods(t, 1)
		events := watchedIn(t, d, Pods+"?watch=1&", asProtobuf+asMetadata, func() { d.Store.Reset(9, nil) })
		require.Len(t, events, 2)
		assert.Equal(t, "ERROR", events[1].Type)
		assert.Equal(t, metav1.StatusReasonExpired, decoded(t, string(events[1].Object.Raw)).(*metav1.Status).Reason)
	})
}

func TestTheInitialEventsOfAWatchEndWithABookmarkInEachForm(t *testing.T) {
	t.Parallel()
	const (
		path     = Pods + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
		metadata = `"metadata":{"resourceVersion":"V","annotations":{"k8s.io/initial-events-end":"true"}}`
		partial  = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` + metadata + `}`
		row      = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"V"},"columnDefinitions":null,"rows":[{"cells":["","0/0","","0","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"],"object":`
		pod      = `{"kind":"Pod","apiVersion":"v1",` + metadata + `,"spec":{"containers":null},"status":{}}`
	)
	synctest.Test(t, func(t *testing.T) {
		d := Open(t)
		d.Must("POST", Pods, Pod("a", ""))
		version := d.Must("POST", Pods, Pod("b", "")).Meta().ResourceVersion
		for _, one := range []struct{ accept, query, want string }{
			{"", "allowWatchBookmarks=1&", pod},
			{"application/json" + asMetadata, "allowWatchBookmarks=1&", partial},
			{Table, "allowWatchBookmarks=1&", row + partial + "}]}"},
			{Table, "allowWatchBookmarks=1&includeObject=None&", row + partial + "}]}"},
			{Table, "allowWatchBookmarks=1&includeObject=Object&", row + pod + "}]}"},
			{"", "", ""},
		} {
			events, text := watched(t, d, path+one.query, func() {}, "Accept", one.accept)
			bookmark := "BOOKMARK"
			if one.want == "" {
				bookmark = "ADDED"
			}
			require.NotEmpty(t, events)
			assert.Equal(t, bookmark, events[len(events)-1].Type)
			if one.want != "" {
				lines := strings.Split(strings.TrimSpace(text), "\n")
				assert.Equal(t, `{"type":"BOOKMARK","object":`+strings.ReplaceAll(one.want, `"V"`, `"`+version+`"`)+"}", lines[len(lines)-1], one.accept+one.query)
			}
		}
		initial := watchedIn(t, d, path+"allowWatchBookmarks=1&", asProtobuf, func() {})
		require.Len(t, initial, 3)
		assert.Equal(t, "BOOKMARK", initial[2].Type)
		assert.JSONEq(t, strings.ReplaceAll(strings.Replace(pod, `{"kind":"Pod","apiVersion":"v1",`, "{", 1), `"V"`, `"`+version+`"`),
			asJSON(t, decoded(t, string(initial[2].Object.Raw))))
	})
}

func asJSON(t *testing.T, object runtime.Object) string {
	object.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return strings.Replace(string(text), `"apiVersion":"meta.k8s.io/v1",`, "", 1)
}

func TestWhatAWatchWithInitialEventsMayNotSayIsRefused(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for query, want := range map[string]string{
		"watch=1&sendInitialEvents=true":                                              `resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan`,
		"watch=1&resourceVersionMatch=NotOlderThan":                                   `resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided`,
		"watch=1&sendInitialEvents=true&resourceVersionMatch=Exact":                   `[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
		"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x": `resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided`,
		"sendInitialEvents=true":                                                      `sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list`,
	} {
		got := d.Do("GET", Pods+"?"+query, "").Error()
		assert.EqualValues(t, 422, got.Code)
		assert.Equal(t, `ListOptions.meta.k8s.io "" is invalid: `+want, got.Message)
	}
}

func TestAWebSocketInProtobufHasBinaryMessages(t *testing.T) {
	t.Parallel()
	d := Open(t)
	s, _, err := dial(t, d, Pods+"?watch=1&timeoutSeconds=60", &websocket.DialOptions{HTTPHeader: map[string][]string{"Accept": {asProtobuf}}})
	require.NoError(t, err)
	d.Must("POST", Pods, Pod("first", ""))
	kind, message, err := s.conn.Read(s.ctx)
	require.NoError(t, err)
	assert.Equal(t, websocket.MessageBinary, kind)
	var event metav1.WatchEvent
	require.NoError(t, event.Unmarshal(message))
	assert.Equal(t, "ADDED", event.Type)
	assert.Equal(t, "first", decoded(t, string(event.Object.Raw)).(metav1.Object).GetName())
}

func TestALargeAnswerIsCompressedForWhoAcceptsIt(t *testing.T) {
	t.Parallel()
	d := Open(t)
	const path = "/api/v1/namespaces/default/configmaps"
	large := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"data":{"a":"` + strings.Repeat("x", 128<<10) + `"}}`
	}
	d.Must("POST", path, large("large"))
	d.Must("POST", path, `{"metadata":{"name":"small"}}`)
	for _, row := range []struct {
		method, path, body, accept, encoding string
		compressed                           bool
	}{
		{"GET", path + "/large", "", "", "gzip", true}, {"GET", path, "", asProtobuf, "deflate, gzip", true}, {"GET", path + "?pretty=1", "", "", "br,gzip ,x", true},
		{"GET", path + "/large", "", "application/yaml", "gzip", true},
		{"POST", path + "?dryRun=All", large("other"), "", "gzip", true}, {"POST", path, large(strings.Repeat("N", 130<<10)), "", "gzip", true},
		{"PATCH", path + "/large?dryRun=All", "{}", "", "gzip", true},
		{"GET", path + "/small", "", "", "gzip", false}, {"GET", path, "", Table, "gzip", false},
		{"GET", path + "/large", "", "", "", false}, {"GET", path + "/large", "", "", "gzip;q=1", false}, {"GET", path + "/large", "", "", "*", false},
	} {
		name := row.method + " " + row.path + " " + row.accept + " " + row.encoding
		headers := []string{"Accept", row.accept, "Content-Type", map[bool]string{true: MergePatch}[row.method == "PATCH"]}
		plain, answer := d.Do(row.method, row.path, row.body, headers...), d.Do(row.method, row.path, row.body, append(headers, "Accept-Encoding", row.encoding)...)
		assert.Equal(t, plain.Status, answer.Status, name)
		assert.Equal(t, plain.Header.Get("Content-Type"), answer.Header.Get("Content-Type"), name)
		text := answer.Text
		if row.compressed {
			assert.Equal(t, []string{"gzip", "Accept-Encoding", ""}, []string{answer.Header.Get("Content-Encoding"), answer.Header.Get("Vary"), answer.Header.Get("Content-Length")}, name)
			r, err := gzip.NewReader(strings.NewReader(answer.Text))
			require.NoError(t, err, name)
			body, err := io.ReadAll(r)
			require.NoError(t, err, name)
			text = string(body)
		} else {
			assert.Empty(t, answer.Header.Values("Vary"), name)
			assert.Equal(t, fmt.Sprint(len(text)), answer.Header.Get("Content-Length"), name)
		}
		assert.Len(t, text, len(plain.Text), name)
	}
}

// observer keeps what the audit is told about an answer.
type observer struct {
	request.Observer
	inJSON func() []byte
}

func (o *observer) ResponseObject(inJSON func() []byte) { o.inJSON = inJSON }

func TestTheAuditGetsAnyAnswerInJSON(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for accept, like := range map[string]string{asProtobuf: "", "application/yaml": "", asProtobuf + asMetadata: "application/json" + asMetadata, "application/json": ""} {
		seen := &observer{Observer: request.ObserverFrom(t.Context())}
		observed := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			request.RecordOf(req.Context()).Observer = seen
			filters.Serve(w, req)
		})
		req := httptest.NewRequest("GET", Pods+"/web", nil)
		req.Header.Set("Accept", accept)
		filters.WithRequestInfo(observed, []request.Server{d.Server}).ServeHTTP(httptest.NewRecorder(), req)
		if accept == "application/json" {
			assert.Nil(t, seen.inJSON, "the audit reads what is sent")
			continue
		}
		require.NotNil(t, seen.inJSON, accept)
		assert.JSONEq(t, d.Must("GET", Pods+"/web", "", "Accept", like).Text, string(seen.inJSON()), accept)
	}
}
