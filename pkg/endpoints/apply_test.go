package endpoints_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "kube2014/pkg/master/endpointstest"
)

const applyPatch = "application/apply-patch+yaml"

// owners returns who owns fields of an object, and how. Their order in the object depends on the second in which they wrote.
func owners(answer Answer) (all []string) {
	for _, e := range answer.Meta().ManagedFields {
		all = append(all, strings.TrimRight(fmt.Sprint(e.Manager, " ", e.Operation, " ", e.Subresource), " "))
	}
	slices.Sort(all)
	return all
}

func TestAConfigurationCreatesAndThenChangesAnObject(t *testing.T) {
	t.Parallel()
	d := Open(t)
	created := d.Patch(Pods+"/web?fieldManager=one", applyPatch, "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: b}}\nspec: {containers: [{name: c, image: 'i:1'}]}\n")
	require.Equal(t, 201, created.Status, created.Text)
	same := d.Patch(Pods+"/web?fieldManager=one", applyPatch, "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {a: b}}, spec: {containers: [{name: c, image: 'i:1'}]}}")
	assert.Equal(t, 200, same.Status)
	assert.Equal(t, created.Meta().ResourceVersion, same.Meta().ResourceVersion, "nothing has changed but the time")

	var pod corev1.Pod
	d.Patch(Pods+"/web?fieldManager=one&force=1", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i:2"}]}}`).Into(&pod)
	assert.Empty(t, pod.Labels)
	assert.Equal(t, "i:2", pod.Spec.Containers[0].Image)
	assert.Equal(t, "Always", string(pod.Spec.RestartPolicy), "what nobody applies has its default")
	dry := d.Patch(Pods+"/web?fieldManager=two&dryRun=All", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"x":"y"}}}`)
	assert.Equal(t, []string{"one Apply", "two Apply"}, owners(dry))
	assert.Equal(t, []string{"one Apply"}, owners(d.Must("GET", Pods+"/web", "")))
	assert.Equal(t, 201, d.Patch(Pods+"/other?fieldManager=one&dryRun=All", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"other"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).Status)
	assert.Equal(t, 404, d.Do("GET", Pods+"/other", "").Status)
}

func TestWhatIsNoConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("web", ""))
	const head = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"`
	for body, row := range map[string]struct {
		query, message string
		status         int
	}{
		head + `}}`:                       {"", "fieldManager: Required value: is required for apply patch", 422},
		"{":                               {"?fieldManager=m", "error decoding YAML: ", 400},
		head + `,"name":"web"}}`:          {"?fieldManager=m&fieldValidation=Strict", "error strict decoding YAML: ", 400},
		head + `,"managedFields":[]}}`:    {"?fieldManager=m", "metadata.managedFields must be nil", 400},
		head + `,"uid":"other"}}`:         {"?fieldManager=m", `UID in precondition: other`, 409},
		head + `,"resourceVersion":"1"}}`: {"?fieldManager=m", "the object has been modified", 409},
		strings.Replace(head, "web", "x", 1) + `}}`:                                              {"?fieldManager=m", "the name of the object (x) does not match the name on the URL (web)", 400},
		head + `},"spec":{"nope":1}}`:                                                            {"?fieldManager=m", "failed to create typed patch object (/web; /v1, Kind=Pod): .spec.nope: field not declared in schema", 500},
		`{"apiVersion":"v1","kind":"Node"}`:                                                      {"?fieldManager=m", "invalid object type: /v1, Kind=Node", 400},
		head + `},"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":"i"}]}}`:    {"?fieldManager=m", `duplicate entries for key [name="c"]`, 500},
		head + `},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"1e9999"}}}]}}`: {"?fieldManager=m", "quantity", 400},
	} {
		answer := d.Patch(Pods+"/web"+row.query, applyPatch, body)
		assert.Equal(t, row.status, answer.Status, "%s: %s", body, answer.Text)
		assert.Contains(t, answer.Error().Message, row.message)
	}
	answer := d.Patch(Pods+"/new?fieldManager=m", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"new","uid":"u"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	assert.Equal(t, 409, answer.Status)
	assert.Contains(t, answer.Error().Message, "uid mismatch: the provided object specified uid u, and no existing object was found")
	warned := d.Patch(Pods+"/web?fieldManager=m", applyPatch, head+`,"name":"web"}}`)
	assert.Equal(t, 200, warned.Status)
	assert.Contains(t, warned.Header.Get("Warning"), `299 - "line 1: key \"name\" already set in map"`)
}

func TestEachWriterIsNamedByItselfOrByItsProgram(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for agent, manager := range map[string]string{"kubectl/v1.36 (linux)": "kubectl", "a\tb/1": "ab", strings.Repeat("ä", 100): strings.Repeat("ä", 64), "": "unknown"} {
		name := fmt.Sprint("x", len(agent))
		created := d.Must("POST", Pods, Pod(name, ""), "User-Agent", agent)
		assert.Equal(t, manager, created.Meta().ManagedFields[0].Manager)
	}
	d.Must("POST", Pods+"?fieldManager=maker", Pod("web", ""))
	d.Patch(Pods+"/web?fieldManager=labeller", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
	d.Patch(Pods+"/web/status?fieldManager=kubelet", StrategicPatch, `{"status":{"phase":"Running"}}`)
	assert.Equal(t, []string{"kubelet Update status", "labeller Update", "maker Update"}, owners(d.Must("GET", Pods+"/web", "")))
	d.Patch(Pods+"/web", MergePatch, `{"metadata":{"managedFields":[{}]}}`)
	assert.Empty(t, owners(d.Must("GET", Pods+"/web", "")))
	d.Patch(Pods+"/web", MergePatch, `{"metadata":{"labels":{"a":"c"}}}`)
	assert.Empty(t, owners(d.Must("GET", Pods+"/web", "")), "nobody owns anything until somebody applies something")
	d.Patch(Pods+"/web?fieldManager=one", applyPatch, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"x":"y"}}}`)
	assert.Equal(t, []string{"before-first-apply Update", "one Apply"}, owners(d.Must("GET", Pods+"/web", "")))
}
