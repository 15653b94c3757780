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
	. "kube2014/pkg/endpoints/endpointstest"
)

// recorded is what kube-apiserver 1.36.3 answered: to pods of a dry run, where there were limits,
// and to limits.
type recorded struct {
	Pods []struct {
		Note        string
		Limits      json.RawMessage // that were sent
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

// refusedTypes are those that limit nothing here, and are refused.
const refusedTypes = "configuration[0].spec.limits[0].type: is neither Container nor Pod"

func TestPodsAreLimitedAsInTodaysServer(t *testing.T) {
	t.Parallel()
	for _, r := range readRecorded(t).Pods {
		t.Run(r.Note, func(t *testing.T) {
			t.Parallel()
			made, err := NewLimitRanger(r.Limits)
			if r.Note == "a claim of storage" || r.Note == "an unknown type" {
				require.EqualError(t, err, refusedTypes)
				return
			}
			require.NoError(t, err)
			for i, items := range made.(*limitRanger).limits {
				assertSame(t, r.Stored[i].Limits, items)
			}
			answer := openWith(t, made).Do("POST", Pods+"?dryRun=All", string(r.Pod))
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
	var plugins admission.Plugins
	var names []string
	for i, plugin := range made {
		names = append(names, string(rune('a'+i)))
		plugins.Register(names[i], func(json.RawMessage) (admission.Interface, error) { return plugin, nil })
	}
	chain, err := plugins.New(names, nil)
	require.NoError(t, err)
	door := Open(t)
	door.Admission = chain
	return door
}

// What is accepted of the limits that today's server accepts is known to K-numbers.
func TestLimitsThatTodaysServerRefusesAreRefused(t *testing.T) {
	t.Parallel()
	accepted := 0
	for _, r := range readRecorded(t).Limits {
		_, err := NewLimitRanger(r.Limits)
		if r.Status == 201 && err == nil {
			accepted++
		}
		assert.True(t, r.Status == 201 || err != nil || r.Message == "", "%s", r.Limits)
	}
	assert.Equal(t, 2, accepted)
}

// K51.
func TestWhatIsWrongWithLimitsIsTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Pod"}`: "configuration: is no LimitRange of v1",
		`7`:                                "configuration: is no LimitRange of v1",
		`[7]`:                              "configuration[0]: is no LimitRange of v1",
		limits(`{"type":"Container","max":{"memory":"much"}}`):                                                "configuration: has a quantity that is not of the form of 1, 100m or 1Gi",
		limits(`{"type":"Container","maximum":{}}`):                                                           "configuration.spec.limits[0].maximum: is an unknown field, or there twice",
		limits(`{"type":7}`):                                                                                  "configuration.spec.limits.type: has a value of another type",
		limits(`{"type":"PersistentVolumeClaim"}`):                                                            "configuration.spec.limits[0].type: is neither Container nor Pod",
		limits(`{"type":"Pod"},{"type":"Pod"}`):                                                               "configuration.spec.limits[1].type: is there twice",
		limits(`{"type":"Pod","default":{"memory":"1"}}`):                                                     "configuration.spec.limits[0].default: is only for the type Container",
		limits(`{"type":"Pod","defaultRequest":{"memory":"1"}}`):                                              "configuration.spec.limits[0].defaultRequest: is only for the type Container",
		limits(`{"type":"Pod","min":{"memory":"2"},"max":{"memory":"1"}}`):                                    "configuration.spec.limits[0].min[memory]: is more than max",
		limits(`{"type":"Container","min":{"memory":"2"},"default":{"memory":"1"}}`):                          "configuration.spec.limits[0].min[memory]: is more than default",
		limits(`{"type":"Container","default":{"memory":"2"},"max":{"memory":"1"}}`):                          "configuration.spec.limits[0].default[memory]: is more than max",
		limits(`{"type":"Container","min":{"memory":"2"},"defaultRequest":{"memory":"1"}}`):                   "configuration.spec.limits[0].min[memory]: is more than defaultRequest",
		limits(`{"type":"Container","defaultRequest":{"memory":"2"},"default":{"memory":"1"}}`):               "configuration.spec.limits[0].defaultRequest[memory]: is more than default",
		limits(`{"type":"Container","max":{"memory":"-1"}}`):                                                  "configuration.spec.limits[0].max[memory]: is negative",
		limits(`{"type":"Container","min":{"cpus":"1"}}`):                                                     "configuration.spec.limits[0].min[cpus]: is no resource of containers",
		limits(`{"type":"Pod","maxLimitRequestRatio":{"cpu":"999m"}}`):                                        "configuration.spec.limits[0].maxLimitRequestRatio[cpu]: is less than 1",
		limits(`{"type":"Pod","maxLimitRequestRatio":{"cpu":"3"},"min":{"cpu":"100m"},"max":{"cpu":"200m"}}`): "configuration.spec.limits[0].maxLimitRequestRatio[cpu]: is more than max is of min",
		`{"apiVersion":"v1","kind":"LimitRange","metadata":{"namespace":"other"}}`:                            "configuration.metadata.namespace: there is only the namespace default",
		`[` + limits(``) + `,{"apiVersion":"v1","kind":"LimitRange","spec":{"limits":[{"type":"x"}]}}]`:       "configuration[1].spec.limits[0].type: is neither Container nor Pod",
		`[` + limits(``) + `,{"apiVersion":"v2","kind":"LimitRange"}]`:                                        "configuration[1]: is no LimitRange of v1",
		`{"apiVersion":"v1","kind":"Secret","data":{"a":"b"}}`:                                                "configuration: is no LimitRange of v1, and has unknown fields",
	} {
		_, err := NewLimitRanger(json.RawMessage(text))
		assert.EqualError(t, err, want, text)
	}
}

// limits is the configuration of items.
func limits(items string) string {
	return `{"apiVersion":"v1","kind":"LimitRange","spec":{"limits":[` + items + `]}}`
}

func TestWithoutAConfigurationNothingIsLimited(t *testing.T) {
	t.Parallel()
	made, err := NewLimitRanger(nil)
	require.NoError(t, err)
	var pod corev1.Pod
	openWith(t, made).Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`).Into(&pod)
	assert.Empty(t, pod.Annotations)
	assert.Empty(t, pod.Spec.Containers[0].Resources.Limits)
}

func TestAnUpdateThatDoesNotChangeResourcesIsNotLimited(t *testing.T) {
	t.Parallel()
	made, err := NewLimitRanger(json.RawMessage(limits(`{"type":"Container","max":{"memory":"1Gi"}}`)))
	require.NoError(t, err)
	door := Open(t)
	door.Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1","resources":{"limits":{"memory":"2Gi"}}}]}}`)
	with := openWith(t, made)
	door.Admission = with.Admission
	assert.Equal(t, 200, door.Patch(Pods+"/x", MergePatch, `{"metadata":{"labels":{"a":"b"}}}`).Status)
}

// The first door lets an update change what a task may use.
func TestAnUpdateThatChangesResourcesIsLimited(t *testing.T) {
	t.Parallel()
	made, err := NewLimitRanger(json.RawMessage(limits(`{"type":"Container","max":{"memory":"1Gi"},"default":{"memory":"1Gi"},"defaultRequest":{"memory":"1Mi"}}`)))
	require.NoError(t, err)
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
		a := &admission.Attributes{Operation: admission.Update, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Name: "x", Object: updated, OldObject: pod("3Gi")}
		require.NoError(t, made.(admission.MutationInterface).Admit(t.Context(), a), memory)
		has := updated.Spec.Containers[0].Resources
		assert.Equal(t, []string{row.limit, row.request}, []string{has.Limits.Memory().String(), has.Requests.Memory().String()}, memory)
		err := made.(admission.ValidationInterface).Validate(t.Context(), a)
		assert.Equal(t, row.refused, err != nil, memory)
	}
}
