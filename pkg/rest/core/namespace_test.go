package core_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	. "kube2014/pkg/master/endpointstest"
)

const namespacesPath, configMaps = "/api/v1/namespaces", "/api/v1/namespaces/default/configmaps"

// withNamespace returns a door with a namespace dev.
func withNamespace(t *testing.T) *Door {
	d := Open(t)
	d.Must("POST", namespacesPath, `{"metadata":{"name":"dev"}}`)
	return d
}

func TestANamespaceWithoutFinalizersIsRemovedByTheSecondDelete(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(d *Door) Answer{
		"a delete":  func(d *Door) Answer { return d.Must("DELETE", namespacesPath+"/dev", "") },
		"an update": func(d *Door) Answer { return d.Must("PUT", namespacesPath+"/dev", `{"metadata":{"name":"dev"}}`) },
		"an update of its status": func(d *Door) Answer {
			return d.Patch(namespacesPath+"/dev/status", MergePatch, `{"status":{"conditions":null}}`)
		},
	} {
		d := withNamespace(t)
		d.Must("PUT", namespacesPath+"/dev/finalize", `{"metadata":{"name":"dev"},"spec":{}}`)
		d.Must("DELETE", namespacesPath+"/dev?dryRun=All", "")
		var namespace corev1.Namespace
		d.Must("DELETE", namespacesPath+"/dev", "").Into(&namespace)
		assert.Equal(t, corev1.NamespaceTerminating, namespace.Status.Phase, name)
		assert.Equal(t, corev1.NamespaceTerminating, namespaceIn(d, "dev").Status.Phase, name)
		assert.Equal(t, 200, second(d).Status, name)
		assert.Equal(t, 404, d.Do("GET", namespacesPath+"/dev", "").Status, name)
	}
}

func namespaceIn(d *Door, name string) (namespace corev1.Namespace) {
	d.Must("GET", namespacesPath+"/"+name, "").Into(&namespace)
	return namespace
}

func TestANamespaceWhoseStatusHasNoPhaseIsActive(t *testing.T) {
	t.Parallel()
	d := withNamespace(t)
	d.Must("PUT", namespacesPath+"/dev/status", `{"metadata":{"name":"dev"},"status":{"conditions":[{"type":"x","status":"True"}]}}`)
	namespace := namespaceIn(d, "dev")
	assert.Equal(t, corev1.NamespaceActive, namespace.Status.Phase)
	assert.Len(t, namespace.Status.Conditions, 1)

	d.Must("DELETE", namespacesPath+"/dev", "")
	refused := d.Do("PUT", namespacesPath+"/dev/status", `{"metadata":{"name":"dev"},"status":{}}`).Error()
	assert.Equal(t, "Namespace \"dev\" is invalid: status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty", refused.Message)
}

func TestAFailedPreconditionOfANamespacesDeleteIsToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	d := withNamespace(t)
	meta := namespaceIn(d, "dev").ObjectMeta
	for options, message := range map[string]string{
		`{"preconditions":{"uid":"u"}}`: "Precondition failed: UID in precondition: u, UID in object meta: " + string(meta.UID),
		`{"preconditions":{"resourceVersion":"1"}}`: "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: " +
			meta.ResourceVersion,
	} {
		refused := d.Do("DELETE", namespacesPath+"/dev", options).Error()
		assert.EqualValues(t, 409, refused.Code)
		assert.Equal(t, `Operation cannot be fulfilled on namespaces "dev": `+message, refused.Message)
	}
}

func TestADeletionIsNoFieldThatAnUpdateSets(t *testing.T) {
	t.Parallel()
	for field, value := range map[string]string{"deletionTimestamp": `"2026-06-06T12:00:00Z"`, "deletionGracePeriodSeconds": "30"} {
		d := Open(t)
		d.Must("POST", Pods, Pod("x", ""))
		d.Must("POST", configMaps, `{"metadata":{"name":"x"}}`)
		meta := `"` + field + `":` + value
		message := ` "x" is invalid: metadata.` + field + `: Invalid value: ` + value + `: field is immutable`
		for _, answer := range []Answer{
			d.Patch(Pods+"/x", MergePatch, `{"metadata":{`+meta+`}}`), d.Patch(Pods+"/x/status", MergePatch, `{"metadata":{`+meta+`}}`),
			d.Do("PUT", configMaps+"/x", `{"metadata":{"name":"x",`+meta+`}}`), d.Patch(configMaps+"/x", StrategicPatch, `{"metadata":{`+meta+`}}`),
		} {
			assert.Equal(t, 422, answer.Status, answer.Text)
			assert.Contains(t, answer.Error().Message, message)
		}
		assert.Nil(t, d.Must("GET", configMaps+"/x", "").Meta().DeletionTimestamp)
	}
}

func TestAnObjectThatIsBeingDeletedTakesBackWhatItHasShown(t *testing.T) {
	t.Parallel()
	d := Open(t)
	held := `"finalizers":["a.b/c"]`
	d.Must("POST", Pods, Pod("x", held))
	deleted := d.Must("DELETE", Pods+"/x", "")
	require.NotNil(t, deleted.Meta().DeletionTimestamp)
	assert.Equal(t, deleted.Meta(), d.Must("PUT", Pods+"/x", deleted.Text).Meta())
	assert.Equal(t, deleted.Meta(), d.Must("PUT", Pods+"/x", Pod("x", held)).Meta(), "what is missing stays")
	assert.Equal(t, deleted.Meta(), d.Patch(Pods+"/x", MergePatch, `{"metadata":{"deletionTimestamp":null,"deletionGracePeriodSeconds":null}}`).Meta())
	assert.Equal(t, deleted.Meta().DeletionTimestamp, d.Patch(Pods+"/x", MergePatch, `{"metadata":{"deletionTimestamp":"2001-01-01T00:00:00Z"}}`).Meta().DeletionTimestamp, "as on today's server")
	assert.Equal(t, 422, d.Patch(Pods+"/x", MergePatch, `{"metadata":{"deletionGracePeriodSeconds":30}}`).Status)
}

func TestTheNameOfAnObjectThatIsBeingDeletedIsTaken(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("x", `"finalizers":["a.b/c"]`))
	for _, query := range []string{"", "?dryRun=All"} {
		assert.Equal(t, `pods "x" already exists`, d.Do("POST", Pods+query, Pod("x", "")).Error().Message)
	}
	d.Must("DELETE", Pods+"/x", "")
	for _, query := range []string{"", "?dryRun=All"} {
		refused := d.Do("POST", Pods+query, Pod("x", "")).Error()
		assert.EqualValues(t, 409, refused.Code)
		assert.Equal(t, `object is being deleted: pods "x" already exists`, refused.Message)
	}
}

func TestANullInDataIsAnEmptyValue(t *testing.T) {
	t.Parallel()
	d := Open(t)
	data := func(answer Answer) string {
		t.Helper()
		var object struct{ Data, BinaryData json.RawMessage }
		require.Less(t, answer.Status, 300, answer.Text)
		answer.Into(&object)
		return string(object.Data) + string(object.BinaryData)
	}
	const secrets = "/api/v1/namespaces/default/secrets"
	assert.Equal(t, `{"a":"","b":"1"}{"c":""}`, data(d.Do("POST", configMaps, `{"metadata":{"name":"x"},"data":{"a":null,"b":"1"},"binaryData":{"c":null}}`)))
	assert.Equal(t, `{"a":"","b":"1","d":""}{"c":"","e":""}`, data(d.Patch(configMaps+"/x", JSONPatch,
		`[{"op":"add","path":"/data/d","value":null},{"op":"add","path":"/binaryData/e","value":null}]`)))
	for _, patchType := range []string{MergePatch, StrategicPatch} {
		assert.Equal(t, `{"a":"","b":"1"}{"c":"","e":""}`, data(d.Patch(configMaps+"/x", patchType, `{"data":{"d":null}}`)), "there it deletes")
	}
	assert.Equal(t, `{"a":"","b":""}`, data(d.Do("POST", secrets, `{"metadata":{"name":"x"},"data":{"a":null},"stringData":{"b":null}}`)))
}

func TestAListOfNoVersionInParticularIsWhole(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, name := range []string{"a", "b", "c"} {
		d.Must("POST", Pods, Pod(name, ""))
	}
	for query, want := range map[string]int{
		"?limit=2": 2, "?limit=2&resourceVersion=0": 3, "?limit=2&resourceVersion=0&resourceVersionMatch=NotOlderThan": 3,
		"?limit=2&resourceVersion=1&resourceVersionMatch=NotOlderThan": 2,
	} {
		names, list := d.Must("GET", Pods+query, "").Names()
		assert.Len(t, names, want, query)
		assert.Equal(t, want < 3, list.Continue != "", query)
	}
	_, first := d.Must("GET", Pods+"?limit=1", "").Names()
	names, _ := d.Must("GET", Pods+"?limit=1&resourceVersion=0&continue="+first.Continue, "").Names()
	assert.Equal(t, []string{"b"}, names)
}

func TestAKindWithoutGenerationsKeepsThatOfItsClient(t *testing.T) {
	t.Parallel()
	d := Open(t)
	assert.EqualValues(t, 7, d.Must("POST", configMaps, `{"metadata":{"name":"x","generation":7}}`).Meta().Generation)
	assert.EqualValues(t, 7, d.Must("PUT", configMaps+"/x", `{"metadata":{"name":"x","generation":9}}`).Meta().Generation)
	assert.EqualValues(t, 1, d.Must("POST", Pods, Pod("x", `"generation":7`)).Meta().Generation)
	assert.Contains(t, d.Do("POST", configMaps, `{"metadata":{"name":"y","generation":-1}}`).Error().Message, "metadata.generation: Invalid value: -1: must be greater than or equal to 0")
}

// K86: some are told up to four times there.
func TestEachCauseIsToldOnce(t *testing.T) {
	t.Parallel()
	d := withNamespace(t)
	refused := d.Do("PUT", namespacesPath+"/dev", `{"metadata":{"name":"dev","labels":{"a":"b c"}}}`).Error()
	require.Len(t, refused.Details.Causes, 1)
	assert.Equal(t, "metadata.labels", refused.Details.Causes[0].Field)
}
