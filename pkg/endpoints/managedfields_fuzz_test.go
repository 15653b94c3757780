package endpoints_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/fieldmanager"
)

const inProtobuf = "application/vnd.kubernetes.protobuf"

// entry returns the managed fields of one manager, in JSON.
func entry(manager, fields string) string {
	return fmt.Sprintf(`[{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":%s}]`, manager, fields)
}

// FuzzManagedFields sends managed fields that no honest client has, in each way in which they can come: as JSON text, or as the
// raw bytes of fields in protobuf. Afterwards the object can be read, changed and applied, and its managed fields are bounded.
func FuzzManagedFields(f *testing.F) {
	deep := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for _, fields := range []string{
		`{}`, ``, `null`, `[]`, `"x"`, `1`, `{`, `{"f:a":{}}{}`, `{"f:a":1}`, `{"x":{}}`, `{"f:":{}}`, `{":":{}}`, `{"":{}}`, `{".":{}}`, `{"f:a":{},"f:a":{"f:b":{}}}`,
		`{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}}`,
		`{"f:spec":{"f:containers":{"k:{\"name\":1,\"a\":[null,{\"b\":{}}],\"\":1e999}":{},"k:{}":{},"k:[]":{},"k:1":{},"k:":{},"k:{\"name\":\"c\",\"name\":\"d\"}":{}}}}`,
		`{"f:spec":{"i:999999999999999999999":{},"i:-1":{},"i:0":{},"i:2147483647":{},"i:x":{},"i:1e3":{}}}`,
		`{"f:metadata":{"f:finalizers":{"v:\"a.b/c\"":{},"v:1":{},"v:":{},"v:{\"a\":[1,{}]}":{},"v:null":{},"v:1e999":{}}}}`,
		deep(`{"f:a":`, `{}`, `}`, 500_000), deep(`[`, ``, `]`, 500_000), deep(`{"f:a":`, ``, ``, 500_000),
		`{"f:metadata":{"f:finalizers":{"v:` + deep(`[`, ``, `]`, 500_000) + `":{}}}}`,
		`{"f:metadata":{"f:finalizers":{"v:` + deep(`{\"a\":`, `1`, `}`, 100_000) + `":{}}}}`,
		`{"f:spec":{"f:containers":{"k:{\"name\":` + deep(`[`, ``, `]`, 500_000) + `}":{}}}}`,
		`{` + strings.Repeat(`"f:a":{},`, 200_000) + `"f:a":{}}`, `{"f:` + strings.Repeat("x", 2_000_000) + `":{}}`, "{\"f:\xff\":{}}", "{\"f:\\ud800\":{}}", "\x00",
	} {
		for _, way := range waysOf(fields) {
			f.Add(way, "m", fields)
		}
	}
	for _, manager := range []string{"", strings.Repeat("m", 2_000_000), "\x00", "\xff", "a\nb", "kube2014", "before-first-apply", `"`} {
		for _, way := range waysOf(manager) {
			f.Add(way, manager, `{"f:metadata":{"f:labels":{"f:a":{}}}}`)
		}
	}
	f.Fuzz(func(t *testing.T, way uint8, manager, fields string) {
		sendsEntries(t, ways[int(way)%len(ways)], entry(manager, fields), metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)})
	})
}

// FuzzManagedFieldsEntries is FuzzManagedFields with the whole JSON of managed fields, or with many entries in protobuf.
func FuzzManagedFieldsEntries(f *testing.F) {
	const one = `{"manager":"m","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}`
	for _, entries := range []string{
		`[{}]`, `[]`, `null`, `{}`, `[null]`, `[1]`, `[[]]`, `"x"`, `[` + one + `,` + one + `]`, `[{"manager":"m","manager":"n"}]`,
		`[` + strings.Repeat(`{},`, 99_999) + `{}]`, `[` + strings.Repeat(one+`,`, 20_000) + one + `]`, `[` + many(2_000) + `]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"time":"9999-12-31T23:59:59Z"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"time":"99999999-12-31T23:59:59Z"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"time":"0000-01-01T00:00:00-23:59"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"time":` + strings.Repeat("9", 10_000) + `}]`,
		`[{"manager":"m","operation":"` + strings.Repeat("x", 1_000_000) + `","apiVersion":"v1","fieldsType":"FieldsV1"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"` + strings.Repeat("/", 1_000_000) + `","fieldsType":"FieldsV1"}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"v1","subresource":"` + strings.Repeat("s", 1_000_000) + `","fieldsType":"FieldsV1","fieldsV1":{}}]`,
		`[{"manager":"m","operation":"Update","apiVersion":"autoscaling/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"}]`,
		`[{"manager":"m","operation":"Apply","apiVersion":"none/v9","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]`,
	} {
		for _, way := range waysOf(entries) {
			f.Add(way, entries, int64(len(entries)), int32(0))
		}
	}
	for _, seconds := range []int64{1 << 62, -1 << 63, 253402300800} {
		f.Add(uint8(inProto), `[`+one+`]`, seconds, int32(1<<31-1))
	}
	f.Fuzz(func(t *testing.T, way uint8, entries string, seconds int64, nanos int32) {
		var read []metav1.ManagedFieldsEntry
		_ = json.Unmarshal([]byte(entries), &read) // what cannot be read is sent as text only
		for i := range read {
			if read[i].Time == nil {
				read[i].Time = &metav1.Time{Time: metav1.Unix(seconds, int64(nanos)).Time}
			}
		}
		sendsEntries(t, ways[int(way)%len(ways)], entries, read...)
	})
}

// many returns entries of as many managers.
func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"manager":"m%d","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:%d":{}}}`, i, i))
	}
	return strings.Join(all, ",")
}

// way is how managed fields come.
type way struct {
	method, contentType, subresource string
	body                             string // with %s for the managed fields in JSON
}

const inProto = 7 // the number of the first way in protobuf

var ways = []way{
	{http.MethodPost, "application/json", "", Pod("new", `"labels":{"a":"b"},"managedFields":%s`)},
	{http.MethodPut, "application/json", "", Pod("web", `"labels":{"a":"c"},"managedFields":%s`)},
	{http.MethodPut, "application/json", "/status", Pod("web", `"labels":{"a":"c"},"managedFields":%s`)},
	{http.MethodPatch, MergePatch, "", `{"metadata":{"labels":{"a":"c"},"managedFields":%s}}`},
	{http.MethodPatch, StrategicPatch, "", `{"metadata":{"labels":{"a":"c"},"managedFields":%s}}`},
	{http.MethodPatch, JSONPatch, "", `[{"op":"add","path":"/metadata/managedFields","value":%s}]`},
	{http.MethodPatch, applyPatch, "", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","managedFields":%s}}`},
	{http.MethodPost, inProtobuf, "", ""},
	{http.MethodPut, inProtobuf, "", ""},
}

// waysOf returns the numbers of ways to send a text: of a long one only some, which differ most.
func waysOf(text string) []uint8 {
	if len(text) > 10_000 {
		return []uint8{1, 5, inProto + 1}
	}
	var all []uint8
	for way := range ways {
		all = append(all, uint8(way))
	}
	return all
}

func sendsEntries(t *testing.T, w way, text string, entries ...metav1.ManagedFieldsEntry) {
	d, path := attacked(t), Pods+"/web"+w.subresource
	if w.method == http.MethodPost {
		path = Pods
	}
	body := fmt.Sprintf(w.body, text)
	if w.contentType == inProtobuf {
		body = protobufPod(t, w.method, entries)
	}
	headers := []string{"Content-Type", w.contentType}
	answer := d.Do(w.method, path+"?fieldManager=f", body, headers...)
	notAtFault(t, answer)
	assert.Less(t, len(answer.Text), 100_000+20*len(body))
	for _, name := range []string{"web", "new"} {
		got := d.Do("GET", Pods+"/"+name, "")
		if got.Status == http.StatusNotFound {
			continue
		}
		require.Equal(t, http.StatusOK, got.Status)
		assert.True(t, json.Valid([]byte(got.Text)), "the answer is JSON")
		bounded(t, got)
		sameInProtobuf(t, got, d.Must("GET", Pods+"/"+name, "", "Accept", inProtobuf))
		notAtFault(t, d.Patch(Pods+"/"+name+"?fieldManager=g", MergePatch, `{"metadata":{"labels":{"x":"y"}}}`))
		notAtFault(t, d.Patch(Pods+"/"+name+"?fieldManager=h&force=true", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`","labels":{"a":"d"}}}`))
		notAtFault(t, d.Patch(Pods+"/"+name+"?fieldManager=h", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`"}}`))
		bounded(t, d.Must("GET", Pods+"/"+name, ""))
		d.Must("GET", Pods, "", "Accept", Table)
		assert.Less(t, d.Patch(Pods+"/"+name, MergePatch, `{"metadata":{"managedFields":[{}]}}`).Status, 300, "they can be reset")
	}
}

// notAtFault checks that a request is not answered with an error of the server, but for those that today's server has, too.
func notAtFault(t *testing.T, answer Answer) {
	t.Helper()
	if answer.Status >= 500 {
		assert.Contains(t, answer.Error().Message, "failed to ")
	}
}

func bounded(t *testing.T, answer Answer) {
	t.Helper()
	size := 0
	for _, e := range answer.Meta().ManagedFields {
		text, err := json.Marshal(e)
		require.NoError(t, err)
		size += len(text)
	}
	assert.LessOrEqual(t, size, 2*fieldmanager.MaxSize, "the size of the managed fields")
}

// sameInProtobuf checks that an answer in protobuf has the managed fields of the one in JSON.
func sameInProtobuf(t *testing.T, inJSON, answer Answer) {
	t.Helper()
	envelope, isOne := strings.CutPrefix(answer.Text, "k8s\x00")
	require.True(t, isOne)
	var unknown runtime.Unknown
	require.NoError(t, unknown.Unmarshal([]byte(envelope)))
	var pod corev1.Pod
	require.NoError(t, pod.Unmarshal(unknown.Raw))
	want, err := json.Marshal(inJSON.Meta().ManagedFields)
	require.NoError(t, err)
	got, err := json.Marshal(pod.ManagedFields)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
}

func protobufPod(t *testing.T, method string, entries []metav1.ManagedFieldsEntry) string {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "c"}, ManagedFields: entries},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if method == http.MethodPost {
		pod.Name = "new"
	}
	raw, err := pod.Marshal()
	require.NoError(t, err)
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	return "k8s\x00" + string(envelope)
}

// FuzzConfigurations applies texts to objects of some kinds, and to their subresources.
func FuzzConfigurations(f *testing.F) {
	for kind, apiKind := range []string{"Pod", "Service", "Node", "ReplicationController", "Endpoints"} {
		head := "apiVersion: v1\nkind: " + apiKind + "\nmetadata: {name: web}\n"
		for _, rest := range []string{
			"", "spec: {}", "spec: null", "spec: []", "status: {phase: Running, conditions: [{type: A, status: 'True'}]}", "metadata: {name: web, labels: {a: b, a: c}}",
			"spec: {containers: [{name: c, image: i}, {name: c, image: j}]}", "spec: {containers: [{image: i}]}", "spec: {containers: [1, null, {name: {a: b}}]}",
			"spec: {ports: [{port: 80}, {port: 80, protocol: UDP}, {port: x}]}", "spec: {replicas: 1e99, selector: {a: 1}}", "x: &a [*a]", "x: &a {<<: *a}",
			"spec: {containers: [{name: c, resources: {limits: {cpu: 1e999999999}}}]}", "subsets: [{addresses: [{ip: 1.2.3.4}]}]", "---\n{}", "\x00", "metadata: {finalizers: [a.b/c, a.b/c]}",
		} {
			f.Add(uint8(kind), "", true, head+rest)
			f.Add(uint8(kind), "/status", false, head+rest)
		}
	}
	f.Add(uint8(3), "/scale", true, "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web}\nspec: {replicas: 3}")
	f.Add(uint8(0), "", true, strings.Repeat("[", 200_000))
	f.Add(uint8(0), "", true, "a: "+strings.Repeat("{a: ", 9_000)+"1"+strings.Repeat("}", 9_000))
	f.Fuzz(func(t *testing.T, kind uint8, subresource string, force bool, text string) {
		if subresource != "/status" && subresource != "/scale" {
			subresource = ""
		}
		d, path := attacked(t), pathOf(kind)+"/web"
		for _, query := range []string{"?fieldManager=f", fmt.Sprintf("?fieldManager=g&force=%t", force)} {
			answer := d.Patch(path+subresource+query, applyPatch, text)
			notAtFault(t, answer)
			assert.Less(t, len(answer.Text), 100_000+20*len(text))
		}
		if got := d.Do("GET", path, ""); got.Status == http.StatusOK {
			bounded(t, got)
			notAtFault(t, d.Patch(path, MergePatch, `{"metadata":{"labels":{"x":"y"}}}`))
		}
	})
}
