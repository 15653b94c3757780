package endpoints_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/endpoints/bodies"
	. "kube2014/pkg/master/endpointstest"
)

func TestEachMethodHasTheStatusThatTheResourceGivesIt(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct {
		method, path string
		want         int
	}{
		{"GET", "/api/v1/pods", 200},
		{"HEAD", Pods + "/web", 200},
		{"GET", "/api/v1/pods/web", 404},
		{"DELETE", "/api/v1/pods/web", 404},
		{"PATCH", "/api/v1/pods/web", 404},
		{"GET", "/api/v1/namespaces/default/nodes", 404},
		{"GET", "/api/v1/namespaces/other/pods", 200},
		{"GET", "/api/v1/namespaces/other/pods/web", 404},
		{"GET", "/api/v1/nothing", 404},
		{"GET", "/api/v2/pods", 404},
		{"GET", Pods + "/web/nothing", 404},
		{"POST", "/api/v1/pods", 405},
		{"DELETE", "/api/v1/pods", 405},
		{"POST", Pods + "/web", 405},
		{"PUT", Pods, 405},
		{"PATCH", Pods, 405},
		{"DELETE", Pods + "/web/status", 405},
		{"GET", Pods + "/web/binding", 405},
		{"OPTIONS", Pods, 405},
		{"BREW", Pods, 405},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			assert.Equal(t, row.want, d.Do(row.method, row.path, "").Status)
		})
	}
}

func TestANodeHasNoNamespaceWhateverItSays(t *testing.T) {
	t.Parallel()
	d := Open(t)
	const node = `{"metadata":{"name":"n","namespace":"x","labels":{"a":"b"}}}`
	for _, request := range [][2]string{{"POST", Nodes}, {"PUT", Nodes + "/n"}} {
		answer := d.Must(request[0], request[1], node)
		assert.Contains(t, answer.Text, `"labels":{"a":"b"}`)
		assert.NotContains(t, answer.Text, "namespace")
	}
}

func TestAnErrorIsAStatusInTheWordsOfTodaysServer(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct {
		name, method, path, body, contentType string
		code                                  int
		reason                                metav1.StatusReason
		message                               string
	}{
		{"it is not there", "GET", Pods + "/none", "", "", 404, "NotFound", `pods "none" not found`},
		{"the name is taken", "POST", Pods, Pod("web", ""), "", 409, "AlreadyExists", `pods "web" already exists`},
		{"another name in the path", "PUT", Pods + "/web", Pod("other", ""), "", 400, "BadRequest", "the name of the object (other) does not match the name on the URL (web)"},
		{"no name beside the one in the path", "PUT", Pods + "/web", `{}`, "", 400, "BadRequest", "the name of the object (web based on URL) was undeterminable: name must be provided"},
		{"another namespace and another name", "PUT", Pods + "/web", Pod("other", `"namespace":"other"`), "", 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
		{"another namespace", "PUT", Pods + "/web", Pod("web", `"namespace":"other"`), "", 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
		{"a patch of the name", "PATCH", Pods + "/web", `{"metadata":{"name":"other"}}`, MergePatch, 400, "BadRequest", "the name of the object (other) does not match the name on the URL (web)"},
		{"a patch of the namespace", "PATCH", Pods + "/web", `{"metadata":{"namespace":"other"}}`, MergePatch, 400, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
		{"a version that cannot be", "POST", Pods, `{"apiVersion":"a/b/c","kind":"Pod"}`, "", 400, "BadRequest",
			"the object provided is unrecognized (must be of type Pod): unexpected GroupVersion string: a/b/c ({\"apiVersion\":\"a/b/c\",\"kind\":\" ...)"},
		{"a stale version", "PUT", Pods + "/web", Pod("web", `"resourceVersion":"1"`), "", 409, "Conflict",
			`Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again`},
		{"another uid", "PATCH", Pods + "/web", `{"metadata":{"uid":"x"}}`, MergePatch, 409, "Conflict", ""},
		{"another namespace is not there", "POST", "/api/v1/namespaces/other/pods", Pod("x", ""), "", 404, "NotFound", `namespaces "other" not found`},
		{"another kind", "POST", Pods, `{"apiVersion":"v1","kind":"Service"}`, "", 400, "BadRequest", ""},
		{"no JSON", "POST", Pods, `{`, "", 400, "BadRequest", ""},
		{"an unknown type of body", "POST", Pods, `{}`, "text/plain", 415, "UnsupportedMediaType", ""},
		{"an unknown type of patch", "PATCH", Pods + "/web", `{}`, "application/json", 415, "UnsupportedMediaType", ""},
		{"an unknown dry run", "POST", Pods + "?dryRun=Some", Pod("x", ""), "", 422, "Invalid", ""},
		{"no name", "POST", Pods, `{"spec":{"containers":[{"name":"c","image":"i"}]}}`, "", 422, "Invalid",
			`Pod "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"a namespace of another name", "POST", "/api/v1/namespaces", `{"metadata":{"name":"Other"}}`, "", 422, "Invalid", ""},
		{"the namespace is to go", "DELETE", "/api/v1/namespaces/default", "", "", 403, "Forbidden", `namespaces "default" is forbidden: this namespace may not be deleted`},
		{"a body that is too large", "POST", Pods, strings.Repeat(" ", bodies.MaxSize+1), "", 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"},
		{"fields that are unknown to the selector", "GET", Pods + "?fieldSelector=spec.x%3D1", "", "", 400, "BadRequest", "field label not supported: spec.x"},
		{"fields of a kind without any", "GET", Endpoints + "?fieldSelector=spec.x%3D1", "", "", 400, "BadRequest",
			`"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"fields of what is made for the answer", "GET", "/apis/discovery.k8s.io/v1/endpointslices?fieldSelector=spec.x%3D1", "", "", 400, "BadRequest",
			`"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := d.Do(row.method, row.path, row.body, "Content-Type", row.contentType).Error()
			assert.EqualValues(t, row.code, got.Code)
			assert.Equal(t, row.reason, got.Reason)
			if row.message != "" {
				assert.Equal(t, row.message, got.Message)
			}
		})
	}
}

func TestAClientGetsTheFirstFormThatItAcceptsAndTheServerHas(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, row := range []struct{ name, accept, kind string }{
		{"nothing said", "", "PodList"},
		{"anything", "*/*", "PodList"},
		{"any application", "application/*", "PodList"},
		{"a table", Table, "Table"},
		{"a table of a version that is to come, or none", "application/json;as=Table;v=v2;g=meta.k8s.io,application/json", "PodList"},
		{"a table rather than a list", "application/json;q=0.1," + Table + ";q=0.9", "Table"},
		{"a list rather than a table", Table + ";q=0.1, application/json;q=0.5", "PodList"},
		{"how much is unreadable", Table + ";q=x,application/json;q=0.9", "Table"},
		{"metadata", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "PartialObjectMetadataList"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var list metav1.TypeMeta
			d.Must("GET", Pods, "", "Accept", row.accept).Into(&list)
			assert.Equal(t, row.kind, list.Kind)
		})
	}
}

func TestWhatIsMadeOfAnObjectHasTheVersionThatTheClientNames(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	for _, version := range []string{"v1", "v1beta1"} {
		for kind, path := range map[string]string{"Table": Pods, "PartialObjectMetadata": Pods + "/web", "PartialObjectMetadataList": Pods} {
			var answer metav1.Table
			d.Must("GET", path, "", "Accept", "application/json;as="+kind+";g=meta.k8s.io;v="+version).Into(&answer)
			assert.Equal(t, metav1.TypeMeta{Kind: kind, APIVersion: "meta.k8s.io/" + version}, answer.TypeMeta)
			for _, row := range answer.Rows {
				assert.Contains(t, string(row.Object.Raw), `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`+version+`"`)
			}
		}
	}
}

func TestK32ARequestWhoseAnswerIsNotAcceptableChangesNothing(t *testing.T) {
	t.Parallel()
	d := Open(t)
	version := d.Must("POST", Pods, Pod("web", "")).Meta().ResourceVersion
	for _, row := range []struct{ method, path, body, contentType string }{
		{"POST", Pods, Pod("other", ""), ""}, {"PUT", Pods + "/web", Pod("web", `"labels":{"a":"b"}`), ""},
		{"PATCH", Pods + "/web", `{"metadata":{"labels":{"a":"b"}}}`, MergePatch},
		{"DELETE", Pods + "/web", "", ""}, {"DELETE", Pods, "", ""},
	} {
		for accept, status := range map[string]int{"text/html": 406, notFor(row.method, row.path): 406, Table: 400} {
			answer := d.Do(row.method, row.path+"?includeObject=All", row.body, "Accept", accept, "Content-Type", row.contentType)
			assert.Equal(t, status, answer.Status, "%s %s", row.method, accept)
		}
	}
	names, list := d.Must("GET", Pods, "").Names()
	assert.Equal(t, []string{"web"}, names)
	assert.Equal(t, version, list.ResourceVersion)
}

// notFor returns what one object cannot be, or what a list cannot be.
func notFor(method, path string) (accept string) {
	if method == "DELETE" && path == Pods {
		return "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	}
	return "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
}

func TestUnknownAndRepeatedFieldsAreToldAsTheClientWants(t *testing.T) {
	t.Parallel()
	const typo = `{"metadata":{"name":"x"},"spec":{"typo":1,"containers":[{"name":"c","image":"i","image":"j"}]}}`
	for _, row := range []struct {
		validation string
		code       int
		warnings   []string
	}{
		{"Ignore", 201, nil},
		{"", 201, []string{`299 - "unknown field \"spec.typo\""`, `299 - "duplicate field \"spec.containers[0].image\""`}},
		{"Warn", 201, []string{`299 - "unknown field \"spec.typo\""`, `299 - "duplicate field \"spec.containers[0].image\""`}},
		{"Strict", 400, nil},
		{"Perhaps", 422, nil},
	} {
		t.Run("fieldValidation="+row.validation, func(t *testing.T) {
			t.Parallel()
			answer := Open(t).Do("POST", Pods+"?fieldValidation="+row.validation, typo)
			assert.Equal(t, row.code, answer.Status)
			assert.Equal(t, row.warnings, answer.Header["Warning"])
		})
	}
	strict := Open(t).Do("POST", Pods+"?fieldValidation=Strict", typo).Error()
	assert.Equal(t, `Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.typo", duplicate field "spec.containers[0].image"`, strict.Message)
	yaml := Open(t).Do("POST", Pods+"?fieldValidation=Strict", "metadata: {name: x}\nspec:\n  containers: []\n  containers: []\n", "Content-Type", YAML).Error()
	assert.Contains(t, yaml.Message, `key "containers" already set in map`)
}

func TestWarningsAreCutBeforeTheyFillTheHeader(t *testing.T) {
	t.Parallel()
	unknown := strings.Repeat("x", 100_000)
	answer := Open(t).Do("POST", Pods, `{"metadata":{"name":"x"},"`+unknown+`":1,"spec":{"`+unknown+`":1,"containers":[{"name":"c","image":"i"}]}}`)
	require.Equal(t, 201, answer.Status)
	require.Len(t, answer.Header["Warning"], 2)
	for _, line := range answer.Header["Warning"] {
		assert.Less(t, len(line), 300)
	}
}

func TestAPersonGetsLines(t *testing.T) {
	t.Parallel()
	d := Open(t)
	assert.NotContains(t, d.Must("GET", Pods, "").Text, "\n  ")
	assert.Contains(t, d.Must("GET", Pods+"?pretty=1", "").Text, "\n  ")
	assert.Contains(t, d.Must("GET", Pods, "", "User-Agent", "curl/8").Text, "\n  ")
	assert.NotContains(t, d.Must("GET", Pods+"?pretty=false", "", "User-Agent", "curl/8").Text, "\n  ")
}

func TestTheTypeOfABodyIsReadAsTodaysServerDoes(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for contentType, want := range map[string]int{
		"": 201, "application/json": 201, "Application/JSON": 201, "application/json; charset=latin1": 201, "application/yaml;x=y": 201,
		"application/json,application/yaml": 415, "application/json;x": 415, ";": 415, "text/json": 415,
	} {
		assert.Equal(t, want, d.Do("POST", Pods+"?dryRun=All", Pod("web", ""), "Content-Type", contentType).Status, contentType)
	}
	assert.Equal(t, "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
		d.Patch(Pods+"/web?force=true", MergePatch, `{}`).Error().Message)
}

func TestABodyMayBeYAMLOrProtobuf(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, "metadata: {name: yaml}\nspec: {containers: [{name: c, image: i}]}", "Content-Type", YAML)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "proto"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	raw, err := pod.Marshal()
	require.NoError(t, err)
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	const protobuf = "application/vnd.kubernetes.protobuf"
	d.Must("POST", Pods, "k8s\x00"+string(envelope), "Content-Type", protobuf)
	names, _ := d.Must("GET", Pods, "").Names()
	assert.Equal(t, []string{"proto", "yaml"}, names)
	raw, err = (&metav1.DeleteOptions{DryRun: []string{"All"}}).Marshal()
	require.NoError(t, err)
	options, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	d.Must("DELETE", Pods+"/proto", "k8s\x00"+string(options), "Content-Type", protobuf)
	d.Must("GET", Pods+"/proto", "")
	assert.Equal(t, 400, d.Do("DELETE", Pods+"/proto", "k8s\x00"+string(envelope), "Content-Type", protobuf).Status, "a pod is no options")
	overhead := "\x12\x1b\x82\x02\x18\x0a\x03cpu\x12\x11\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f1234567" // spec.overhead, whose quantity has a length that the library panics at
	panics, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: []byte(overhead)}).Marshal()
	require.NoError(t, err)
	for _, bad := range []string{"", "k8s", "k8s\x00\xff", string(envelope), "k8s\x00" + string(envelope[:len(envelope)-3]), "k8s\x00" + string(panics)} {
		assert.Equal(t, 400, d.Do("POST", Pods, bad, "Content-Type", protobuf).Status)
	}
}

func TestAliasesOfYAMLCannotMakeABodyLargerThanItMayBe(t *testing.T) {
	t.Parallel()
	d := Open(t)
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%[1]d [%s]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	assert.Equal(t, 413, d.Do("POST", Pods, bomb, "Content-Type", YAML).Status)
	assert.GreaterOrEqual(t, d.Do("POST", Pods, "a: &a [*a]", "Content-Type", YAML).Status, 400)
}

func TestARowHasOfItsObjectWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	metadata := d.Must("GET", Pods+"/web", "", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").Text
	for include, want := range map[string]string{
		"None": "null", "Metadata": metadata, "": metadata, "Object": d.Must("GET", Pods+"/web", "").Text,
	} {
		for _, path := range []string{Pods, Pods + "/web"} {
			var table struct {
				Rows []struct{ Object json.RawMessage }
			}
			d.Must("GET", path+"?includeObject="+include, "", "Accept", Table).Into(&table)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, strings.TrimSpace(want), string(table.Rows[0].Object), "%s %q", path, include)
		}
	}
}

func TestATableHasTheStateAndTheAgesOfItsMoment(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	now := Now
	d.Server.Now = func() time.Time { return now }
	for _, row := range []struct {
		passes time.Duration
		status string // that is written before; "" for none
		cells  []any
	}{
		{0, "", []any{"web", "0/1", "Pending", "0", "0s"}},
		{time.Minute, "", []any{"web", "0/1", "Pending", "0", "60s"}},
		{0, `{"phase":"Running"}`, []any{"web", "0/1", "Running", "0", "60s"}},
		{time.Hour, "", []any{"web", "0/1", "Running", "0", "61m"}},
		{-2 * time.Hour, "", []any{"web", "0/1", "Running", "0", "<invalid>"}},
	} {
		now = now.Add(row.passes)
		if row.status != "" {
			d.Must("PATCH", Pods+"/web/status", `{"status":`+row.status+`}`, "Content-Type", MergePatch)
		}
		for _, path := range []string{Pods, Pods + "/web", Pods + "/web/status"} {
			var table metav1.Table
			d.Must("GET", path, "", "Accept", Table).Into(&table)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, row.cells, table.Rows[0].Cells[:5], path)
		}
	}
}

func TestWhatEachResourceAnswersCanBeATable(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Controllers, `{"metadata":{"name":"r"},"spec":{"selector":{"a":"b"},"replicas":2,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	for _, row := range []struct {
		name, method, path, body string
		cells                    []any
	}{
		{"a scale", "GET", Controllers + "/r/scale", "", []any{"r", 2., 0., "0s"}},
		{"a kind without columns of its own", "POST", "/api/v1/namespaces/default/limitranges", `{"metadata":{"name":"l"}}`, []any{"l", "2026-06-06T12:00:00Z"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var table metav1.Table
			d.Must(row.method, row.path, row.body, "Accept", Table).Into(&table)
			require.Len(t, table.Rows, 1)
			assert.Equal(t, row.cells, table.Rows[0].Cells)
			assert.Len(t, table.ColumnDefinitions, len(row.cells))
		})
	}
}
