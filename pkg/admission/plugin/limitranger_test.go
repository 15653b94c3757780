package plugin

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	. "kube2014/pkg/master/endpointstest"
)

const limitRanges = "/api/v1/namespaces/default/limitranges"

// recorded is what kube-apiserver 1.36.3 answered: to pods of a dry run, where there were limits,
// and to limits.
type recorded struct {
	Pods []struct {
		Note        string
		Limits      []json.RawMessage // that were sent
		Stored      []corev1.LimitRangeSpec
		Pod         json.RawMessage
		Status      int
		Message     string
		Annotations map[string]string
		Resources   map[string]corev1.ResourceRequirements // by container
	}
	Limits []struct {
		Limits  json.RawMessage
		Status  int
		Message string
	}
}

func readRecorded(t *testing.T) (all recorded) {
	text, err := os.ReadFile("testdata/limits.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &all))
	return all
}

// openLimited opens a door with a LimitRanger and limit ranges.
func openLimited(t *testing.T, limits ...string) (*Door, admission.Interface) {
	ranger := made(t, NewLimitRanger)
	door := openWith(t, ranger)
	ranger.(WantsObjects).SetObjects(door.Store, door.Store, nil)
	for _, one := range limits {
		door.Must("POST", limitRanges, one)
	}
	return door, ranger
}

func TestPodsAreLimitedAsInTodaysServer(t *testing.T) {
	t.Parallel()
	for _, r := range readRecorded(t).Pods {
		t.Run(r.Note, func(t *testing.T) {
			t.Parallel()
			door, _ := openLimited(t)
			for i, one := range r.Limits {
				var stored corev1.LimitRange
				door.Must("POST", limitRanges, string(one)).Into(&stored)
				assertSame(t, r.Stored[i], stored.Spec)
			}
			answer := door.Do("POST", Pods+"?dryRun=All", string(r.Pod))
			require.Equal(t, r.Status, answer.Status, answer.Text)
			if r.Status != 201 {
				assert.Equal(t, r.Message, answer.Error().Message)
				return
			}
			var pod corev1.Pod
			answer.Into(&pod)
			assert.Equal(t, r.Annotations, pod.Annotations)
			resources := map[string]corev1.ResourceRequirements{}
			for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
				for _, c := range containers {
					resources[c.Name] = c.Resources
				}
			}
			assertSame(t, r.Resources, resources)
		})
	}
}

// assertSame compares values as JSON: a quantity has several forms in memory.
func assertSame(t *testing.T, want, got any) {
	t.Helper()
	wanted, err := json.Marshal(want)
	require.NoError(t, err)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(wanted), string(text))
}

func openWith(t *testing.T, made ...admission.Interface) *Door {
	plugins := admission.Plugins{}
	var names []string
	for i, plugin := range made {
		names = append(names, string(rune('a'+i)))
		plugins[names[i]] = func(json.RawMessage) (admission.Interface, error) { return plugin, nil }
	}
	chain, err := plugins.New(names, nil)
	require.NoError(t, err)
	door := Open(t)
	door.Admission = chain
	return door
}

func TestLimitsAreCheckedAsInTodaysServer(t *testing.T) {
	t.Parallel()
	for i, r := range readRecorded(t).Limits {
		door, _ := openLimited(t)
		answer := door.Do("POST", limitRanges, string(r.Limits))
		if assert.Equal(t, r.Status, answer.Status, "%d: %s", i, answer.Text); r.Status != 201 {
			assert.Equal(t, r.Message, answer.Error().Message)
		}
	}
}

// K53.
func TestAFileWithLimitsIsRefusedAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := NewLimitRanger(json.RawMessage(`{}`))
	assert.EqualError(t, err, "configuration: the plugin has none; create objects of the kind LimitRange instead, such as by kubectl create")
}

// limits is a limit range with items.
func limits(items string) string {
	return `{"metadata":{"name":"limits"},"spec":{"limits":[` + items + `]}}`
}

func TestWithoutLimitsInTheNamespaceNothingIsLimited(t *testing.T) {
	t.Parallel()
	door, ranger := openLimited(t)
	door.Must("POST", "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
	door.Must("POST", "/api/v1/namespaces/other/limitranges", limits(`{"type":"Container","max":{"memory":"1Mi"}}`))
	var pod corev1.Pod
	door.Must("POST", Pods, onePod).Into(&pod)
	assert.Empty(t, pod.Annotations)
	assert.Empty(t, pod.Spec.Containers[0].Resources.Limits)
	assert.True(t, ranger.(admission.SkipsNamespaces).Idle("default"))
	assert.False(t, ranger.(admission.SkipsNamespaces).Idle("other"))
}

func TestAnUpdateThatDoesNotChangeResourcesIsNotLimited(t *testing.T) {
	t.Parallel()
	door, _ := openLimited(t)
	door.Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"limits":{"memory":"2Gi"}}}]}}`)
	door.Must("POST", limitRanges, limits(`{"type":"Container","max":{"memory":"1Gi"}}`))
	assert.Equal(t, 200, door.Patch(Pods+"/x", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
}

// The first door lets an update change what a task may use.
func TestAnUpdateThatChangesResourcesIsLimited(t *testing.T) {
	t.Parallel()
	_, made := openLimited(t, limits(`{"type":"Container","max":{"memory":"1Gi"},"default":{"memory":"1Gi"},"defaultRequest":{"memory":"1Mi"}}`))
	pod := func(memory string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		if memory != "" {
			pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(memory)}
		}
		return pod
	}
	for memory, row := range map[string]struct {
		limit, request string
		refused        bool
	}{"": {"1Gi", "1Mi", false}, "1Gi": {"1Gi", "1Mi", false}, "2Gi": {"2Gi", "1Mi", true}, "3Gi": {"3Gi", "0", false}} {
		updated := pod(memory)
		a := &admission.Attributes{Operation: admission.Update, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default", Name: "x", Object: updated, OldObject: pod("3Gi")}
		require.NoError(t, made.(admission.MutationInterface).Admit(t.Context(), a), memory)
		has := updated.Spec.Containers[0].Resources
		assert.Equal(t, []string{row.limit, row.request}, []string{has.Limits.Memory().String(), has.Requests.Memory().String()}, memory)
		err := made.(admission.ValidationInterface).Validate(t.Context(), a)
		assert.Equal(t, row.refused, err != nil, memory)
	}
}

func TestClaimsOfStorageAreLimited(t *testing.T) {
	t.Parallel()
	_, made := openLimited(t, limits(`{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"2Gi"}}`))
	for storage, wrong := range map[string]string{"1Gi": "", "2Gi": "", "": `[minimum storage usage per PersistentVolumeClaim is 1Gi.  No request is specified, maximum storage usage per PersistentVolumeClaim is 2Gi.  No request is specified]`,
		"1Mi": "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi", "3Gi": "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"} {
		claim := &corev1.PersistentVolumeClaim{}
		if storage != "" {
			claim.Spec.Resources.Requests = corev1.ResourceList{"storage": resource.MustParse(storage)}
		}
		a := &admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), Namespace: "default", Name: "x", Object: claim}
		if err := made.(admission.ValidationInterface).Validate(t.Context(), a); wrong == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, `persistentvolumeclaims "x" is forbidden: `+wrong)
		}
	}
}
