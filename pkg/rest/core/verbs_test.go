package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/storage"
)

const (
	controller = `{"metadata":{"name":"x"},"spec":{"replicas":2,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	service    = `{"metadata":{"name":"x"},"spec":{"ports":[{"port":80}]}}`
	event      = `{"metadata":{"name":"x","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web","namespace":"default"},"type":"Normal"}`
)

// kinds are the kinds that are stored: where they are, and an object named x of each.
var kinds = []struct{ name, path, object string }{
	{"pods", Pods, Pod("x", "")},
	{"replicationcontrollers", Controllers, controller},
	{"services", Services, service},
	{"endpoints", Endpoints, `{"metadata":{"name":"x"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]}`},
	{"events", Events, event},
	{"nodes", Nodes, `{"metadata":{"name":"x"}}`},
}

func forEachKind(t *testing.T, test func(t *testing.T, d *Door, path, object string)) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, Open(t), kind.path, kind.object)
		})
	}
}

const labelled = `{"metadata":{"labels":{"l":"m"}}}`

func TestAnObjectOfEachKindIsCreatedReadChangedAndDeleted(t *testing.T) {
	forEachKind(t, func(t *testing.T, d *Door, path, object string) {
		created := d.Do("POST", path, object)
		require.Equal(t, 201, created.Status, created.Text)
		meta := created.Meta()
		assert.NotEmpty(t, meta.UID)
		assert.NotEmpty(t, meta.ResourceVersion)
		assert.Equal(t, Now, meta.CreationTimestamp.UTC())
		assert.Equal(t, created.Text, d.Must("GET", path+"/x", "").Text)

		patched := d.Patch(path+"/x", MergePatch, labelled)
		require.Equal(t, 200, patched.Status, patched.Text)
		assert.Equal(t, "m", patched.Meta().Labels["l"])
		assert.NotEqual(t, meta.ResourceVersion, patched.Meta().ResourceVersion)
		assert.Equal(t, meta.UID, patched.Meta().UID)
		assert.NotContains(t, d.Must("PUT", path+"/x", object).Meta().Labels, "l")
		names, _ := d.Must("GET", path, "").Names()
		assert.Equal(t, []string{"x"}, names)

		d.Must("DELETE", path+"/x?propagationPolicy=Background", "")
		assert.Equal(t, 404, d.Do("GET", path+"/x", "").Status)
		assert.Equal(t, 404, d.Do("DELETE", path+"/x", "").Status)
	})
}

func TestWhatChangesNothingIsNotWritten(t *testing.T) {
	forEachKind(t, func(t *testing.T, d *Door, path, object string) {
		version := d.Must("POST", path, object).Meta().ResourceVersion
		assert.Equal(t, version, d.Must("PUT", path+"/x", object).Meta().ResourceVersion)
		for _, patchType := range []string{MergePatch, StrategicPatch} {
			assert.Equal(t, version, d.Patch(path+"/x", patchType, `{}`).Meta().ResourceVersion)
		}
		assert.Equal(t, version, d.Patch(path+"/x", JSONPatch, `[]`).Meta().ResourceVersion)
		_, list := d.Must("GET", path, "").Names()
		assert.Equal(t, version, list.ResourceVersion)

		d.Must("GET", path+"/x", "", "Accept", "application/vnd.kubernetes.protobuf") // versions are compared in that form then
		assert.Equal(t, version, d.Patch(path+"/x", MergePatch, `{}`).Meta().ResourceVersion)
		assert.NotEqual(t, version, d.Patch(path+"/x", MergePatch, labelled).Meta().ResourceVersion)
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	forEachKind(t, func(t *testing.T, d *Door, path, object string) {
		dry := d.Must("POST", path+"?dryRun=All", object).Meta()
		assert.NotEmpty(t, dry.UID)
		assert.Empty(t, dry.ResourceVersion)
		assert.Equal(t, 404, d.Do("GET", path+"/x", "").Status)

		before := d.Must("POST", path, object).Text
		assert.Equal(t, 409, d.Do("POST", path+"?dryRun=All", object).Status)
		patched := d.Patch(path+"/x?dryRun=All", MergePatch, labelled).Meta()
		assert.Equal(t, "m", patched.Labels["l"])
		d.Must("PUT", path+"/x?dryRun=All", object)
		d.Must("DELETE", path+"/x?dryRun=All", "")
		d.Must("DELETE", path+"/x", `{"dryRun":["All"]}`)
		d.Must("DELETE", path+"?dryRun=All", "")
		assert.Equal(t, before, d.Must("GET", path+"/x", "").Text)
	})
}

func TestAFinalizerHoldsAnObjectUntilItIsGone(t *testing.T) {
	forEachKind(t, func(t *testing.T, d *Door, path, object string) {
		d.Must("POST", path, object)
		require.Equal(t, 200, d.Patch(path+"/x", MergePatch, `{"metadata":{"finalizers":["a.b/c"]}}`).Status)
		d.Must("DELETE", path+"/x", "")
		held := d.Must("GET", path+"/x", "").Meta()
		require.NotNil(t, held.DeletionTimestamp)
		assert.Equal(t, held.ResourceVersion, d.Must("DELETE", path+"/x", "").Meta().ResourceVersion, "it is told once")

		const none = `{"metadata":{"finalizers":null}}`
		for _, query := range []string{"?dryRun=All", ""} {
			assert.Equal(t, held.ResourceVersion, d.Must("GET", path+"/x", "").Meta().ResourceVersion)
			answer := d.Patch(path+"/x"+query, MergePatch, none)
			require.Equal(t, 200, answer.Status)
			assert.Empty(t, answer.Meta().Finalizers)
			assert.NotNil(t, answer.Meta().DeletionTimestamp)
		}
		assert.Equal(t, 404, d.Do("GET", path+"/x", "").Status)
	})
}

func TestOnlyWhatIsGrantedTimeIsShownWithItWhenItIsDeleted(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`)
	d.Must("POST", Pods, Pod("p", ""))
	assert.Nil(t, d.Must("DELETE", Services+"/s", "").Meta().DeletionTimestamp)
	assert.NotNil(t, d.Must("DELETE", Pods+"/p", "").Meta().DeletionTimestamp)
}

func TestAnUpdateThatNamesAUIDCreatesNothing(t *testing.T) {
	t.Parallel()
	d := Open(t)
	service := `{"metadata":{"name":"s"%s},"spec":{"ports":[{"port":80}]}}`
	refused := d.Do("PUT", Services+"/s", fmt.Sprintf(service, `,"uid":"u"`)).Error()
	assert.EqualValues(t, 409, refused.Code)
	assert.True(t, strings.HasSuffix(refused.Message, "Precondition failed: UID in precondition: u, UID in object meta: "), refused.Message)
	assert.Equal(t, 404, d.Do("GET", Services+"/s", "").Status)
	assert.Equal(t, 201, d.Do("PUT", Services+"/s", fmt.Sprintf(service, "")).Status)
}

func TestADeleteMayNameTheObjectThatItMeans(t *testing.T) {
	forEachKind(t, func(t *testing.T, d *Door, path, object string) {
		meta := d.Must("POST", path, object).Meta()
		for _, precondition := range []string{`"uid":"other"`, `"resourceVersion":"1"`} {
			assert.Equal(t, 409, d.Do("DELETE", path+"/x", `{"preconditions":{`+precondition+`}}`).Status)
		}
		d.Must("DELETE", path+"/x", fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, meta.UID, meta.ResourceVersion))
	})
}

func TestAPutCreatesWhereTheKindAllowsIt(t *testing.T) {
	t.Parallel()
	creates := map[string]bool{"services": true, "endpoints": true, "events": true}
	for _, kind := range kinds {
		d, want := Open(t), 404
		if creates[kind.name] {
			want = 201
		}
		assert.Equal(t, want, d.Do("PUT", kind.path+"/x", kind.object).Status, kind.name)
		assert.Equal(t, 404, d.Patch(kind.path+"/y", MergePatch, `{}`).Status, "a patch creates nothing")
	}
	assert.Equal(t, 201, Open(t).Do("PUT", "/api/v1/namespaces/default/limitranges/x", `{"metadata":{"name":"x"},"spec":{"limits":[]}}`).Status)
}

func TestTheServerSetsWhatAClientMayNot(t *testing.T) {
	t.Parallel()
	d := Open(t)
	var pod corev1.Pod
	d.Must("POST", Pods, `{"metadata":{"name":"x","uid":"mine","generation":7,"selfLink":"/x","creationTimestamp":"2001-01-01T00:00:00Z",
		"deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":5,"managedFields":[{"manager":"me"}]},
		"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}`).Into(&pod)
	assert.NotEqual(t, "mine", string(pod.UID))
	assert.EqualValues(t, 1, pod.Generation)
	assert.Equal(t, Now, pod.CreationTimestamp.UTC())
	assert.Nil(t, pod.DeletionTimestamp)
	assert.Nil(t, pod.DeletionGracePeriodSeconds)
	assert.Equal(t, "unknown", pod.ManagedFields[0].Manager, "what cannot be read is ignored")
	assert.Equal(t, corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}, pod.Status)
}

func TestTheGenerationCountsChangesOfTheSpec(t *testing.T) {
	t.Parallel()
	d := Open(t)
	assert.EqualValues(t, 1, d.Must("POST", Controllers, controller).Meta().Generation)
	assert.EqualValues(t, 1, d.Patch(Controllers+"/x", MergePatch, labelled).Meta().Generation)
	assert.EqualValues(t, 1, d.Patch(Controllers+"/x/status", MergePatch, `{"status":{"replicas":1}}`).Meta().Generation)
	assert.EqualValues(t, 2, d.Patch(Controllers+"/x", MergePatch, `{"spec":{"replicas":5}}`).Meta().Generation)
	d.Patch(Controllers+"/x/scale", MergePatch, `{"spec":{"replicas":6}}`)
	assert.EqualValues(t, 3, d.Must("GET", Controllers+"/x", "").Meta().Generation)
}

func TestAStatusAndASpecAreChangedApart(t *testing.T) {
	t.Parallel()
	d := Open(t)
	var rc corev1.ReplicationController
	d.Must("POST", Controllers, controller)
	d.Patch(Controllers+"/x/status", MergePatch, `{"metadata":{"labels":{"q":"w"}},"spec":{"replicas":9},"status":{"replicas":3}}`).Into(&rc)
	assert.Equal(t, "w", rc.Labels["q"], "metadata belongs to both, as on today's server")
	assert.EqualValues(t, 2, *rc.Spec.Replicas)
	assert.EqualValues(t, 3, rc.Status.Replicas)
	d.Patch(Controllers+"/x", MergePatch, `{"spec":{"replicas":4},"status":{"replicas":9}}`).Into(&rc)
	assert.EqualValues(t, 4, *rc.Spec.Replicas)
	assert.EqualValues(t, 3, rc.Status.Replicas)

	var scale autoscalingv1.Scale
	d.Patch(Controllers+"/x/scale", MergePatch, `{"spec":{"replicas":7}}`).Into(&scale)
	assert.EqualValues(t, 7, scale.Spec.Replicas)
	assert.EqualValues(t, 3, scale.Status.Replicas)
	assert.Equal(t, "a=b", scale.Status.Selector)
	assert.Equal(t, 422, d.Patch(Controllers+"/x/scale", MergePatch, `{"spec":{"replicas":-1}}`).Status)
	d.Must("PUT", Controllers+"/x/scale", `{"metadata":{"name":"x"},"spec":{"replicas":8}}`).Into(&scale)
	assert.EqualValues(t, 8, scale.Spec.Replicas, "the namespace is that of the path")
	assert.Equal(t, 409, d.Patch(Controllers+"/x/scale", MergePatch, `{"metadata":{"resourceVersion":"1"}}`).Status)
	assert.Equal(t, 404, d.Do("GET", Controllers+"/none/scale", "").Status)
}

func TestANameIsGeneratedWhenOnlyItsBeginningIsGiven(t *testing.T) {
	t.Parallel()
	d := Open(t)
	name := d.Must("POST", Pods, `{"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).Meta().Name
	assert.Regexp(t, `^web-[a-z0-9]{5}$`, name)
	long := d.Must("POST", Pods, `{"metadata":{"generateName":"web-`+fmt.Sprintf("%060d", 0)+`"},"spec":{"containers":[{"name":"c","image":"i"}]}}`).Meta().Name
	assert.Len(t, long, 63)
	assert.Equal(t, "x", d.Must("POST", Pods, Pod("x", `"generateName":"web-"`)).Meta().Name)
}

// K95.
func TestAContainerMayBePrivileged(t *testing.T) {
	t.Parallel()
	pod := Open(t).Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}}`)
	assert.Contains(t, pod.Text, `"privileged":true`)
}

// onANode stores a pod on a node whose kubelet was heard some time ago.
func onANode(t *testing.T, silent time.Duration) *Door {
	d := Open(t)
	d.Must("POST", Nodes, `{"metadata":{"name":"n1"}}`)
	heard := Now.Add(-silent).Format(time.RFC3339)
	ready := d.Patch(Nodes+"/n1/status", StrategicPatch, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"`+heard+`"}]}}`)
	require.Equal(t, 200, ready.Status, ready.Text)
	d.Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}`)
	return d
}

func TestAPodOnALiveNodeIsGivenTimeToEnd(t *testing.T) {
	t.Parallel()
	d := onANode(t, time.Second)
	told := d.Must("DELETE", Pods+"/x", "").Meta()
	assert.EqualValues(t, 30, *told.DeletionGracePeriodSeconds)
	assert.Equal(t, Now.Add(30*time.Second), told.DeletionTimestamp.UTC())
	assert.EqualValues(t, 2, told.Generation)

	assert.Equal(t, told.ResourceVersion, d.Must("DELETE", Pods+"/x?gracePeriodSeconds=60", "").Meta().ResourceVersion, "a longer grace is too late")
	shorter := d.Must("DELETE", Pods+"/x?gracePeriodSeconds=5", "").Meta()
	assert.Equal(t, Now.Add(5*time.Second), shorter.DeletionTimestamp.UTC())
	assert.EqualValues(t, 2, shorter.Generation)
	d.Must("DELETE", Pods+"/x?gracePeriodSeconds=0", "")
	assert.Equal(t, 404, d.Do("GET", Pods+"/x", "").Status)
}

func TestAPodThatHasTimeLeftOutlivesItsFinalizers(t *testing.T) {
	t.Parallel()
	d := onANode(t, time.Second)
	d.Patch(Pods+"/x", MergePatch, `{"metadata":{"finalizers":["a.b/c"]}}`)
	d.Must("DELETE", Pods+"/x", "")
	require.Equal(t, 200, d.Patch(Pods+"/x", MergePatch, `{"metadata":{"finalizers":null}}`).Status)
	d.Must("GET", Pods+"/x", "")
	d.Must("DELETE", Pods+"/x?gracePeriodSeconds=0", "")
	assert.Equal(t, 404, d.Do("GET", Pods+"/x", "").Status)
}

func TestAPodThatNobodyCanEndIsDeletedAtOnce(t *testing.T) {
	t.Parallel()
	silent := onANode(t, time.Minute)
	silent.Must("DELETE", Pods+"/x", "")
	assert.Equal(t, 404, silent.Do("GET", Pods+"/x", "").Status)

	ended := onANode(t, time.Second)
	require.Equal(t, 200, ended.Patch(Pods+"/x/status", MergePatch, `{"status":{"phase":"Succeeded"}}`).Status)
	ended.Must("DELETE", Pods+"/x", "")
	assert.Equal(t, 404, ended.Do("GET", Pods+"/x", "").Status)
}

func TestAPodIsBoundOnce(t *testing.T) {
	t.Parallel()
	d := Open(t)
	binding := func(more string) string {
		return `{"metadata":{"name":"x"` + more + `},"target":{"kind":"Node","name":"n1"}}`
	}
	d.Must("POST", Pods, Pod("x", ""))
	assert.Equal(t, 409, d.Do("POST", Pods+"/x/binding", binding(`,"uid":"other"`)).Status)
	assert.Equal(t, 404, d.Do("POST", Pods+"/none/binding", `{"metadata":{"name":"none"},"target":{"name":"n1"}}`).Status)
	assert.Equal(t, 400, d.Do("POST", Pods+"/x/binding", `{"target":{"name":"n1"}}`).Status)
	assert.Equal(t, 422, d.Do("POST", Pods+"/x/binding", `{"metadata":{"name":"x"},"target":{"kind":"Pod","name":"n1"}}`).Status)
	assert.Equal(t, 400, d.Do("POST", Pods+"/x/binding", `{"metadata":{"name":"y"},"target":{"name":"n1"}}`).Status)
	assert.Equal(t, 400, d.Do("POST", Pods+"/x/binding", binding(`,"namespace":"other"`)).Status)
	assert.Equal(t, 201, d.Do("POST", Pods+"/x/binding?dryRun=All", binding("")).Status)
	bound := d.Do("POST", Pods+"/x/binding", binding(`,"annotations":{"a":"b"}`))
	require.Equal(t, 201, bound.Status)
	var status metav1.Status
	bound.Into(&status)
	assert.Equal(t, metav1.StatusSuccess, status.Status)

	var pod corev1.Pod
	d.Must("GET", Pods+"/x", "").Into(&pod)
	assert.Equal(t, "n1", pod.Spec.NodeName)
	assert.Equal(t, map[string]string{"a": "b"}, pod.Annotations)
	require.Len(t, pod.Status.Conditions, 1)
	assert.Equal(t, corev1.PodScheduled, pod.Status.Conditions[0].Type)
	again := d.Do("POST", "/api/v1/namespaces/default/bindings", binding("")).Error()
	assert.EqualValues(t, 409, again.Code)
	assert.Equal(t, `Operation cannot be fulfilled on pods/binding "x": pod x is already assigned to node "n1"`, again.Message)
}

func TestK24APodIsBoundOnlyToANodeThatCouldBe(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("x", ""))
	for _, node := range []string{"", "..", "a/b", "_tasks", "a b", "A", `\u0000`, "a\\nb"} {
		assert.Equal(t, 422, d.Do("POST", Pods+"/x/binding", `{"metadata":{"name":"x"},"target":{"name":"`+node+`"}}`).Status, node)
	}
}

func TestAPodThatIsHeldOrIsToEndIsNotBound(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, `{"metadata":{"name":"gated"},"spec":{"schedulingGates":[{"name":"a.b/c"}],"containers":[{"name":"c","image":"i"}]}}`)
	d.Must("POST", Pods, Pod("ending", `"finalizers":["a.b/c"]`))
	d.Must("DELETE", Pods+"/ending", "")
	for _, name := range []string{"gated", "ending"} {
		assert.Equal(t, 409, d.Do("POST", Pods+"/"+name+"/binding", `{"metadata":{"name":"`+name+`"},"target":{"name":"n1"}}`).Status, name)
	}
}

func TestK79APodWithoutItsLastGateIsNotCalledGated(t *testing.T) {
	t.Parallel()
	d := Open(t)
	var pod corev1.Pod
	d.Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"schedulingGates":[{"name":"a.b/c"}],"containers":[{"name":"c","image":"i"}]}}`).Into(&pod)
	require.Len(t, pod.Status.Conditions, 1)
	assert.Equal(t, corev1.PodReasonSchedulingGated, pod.Status.Conditions[0].Reason)
	free := d.Patch(Pods+"/x", MergePatch, `{"spec":{"schedulingGates":null}}`)
	require.Equal(t, 200, free.Status, free.Text)
	var freed corev1.Pod
	free.Into(&freed)
	assert.Empty(t, freed.Status.Conditions)
}

func TestTheLogOfAPodSaysWhyThereIsNone(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("x", ""))
	log := func() string { return d.Do("GET", Pods+"/x/log", "").Error().Message }
	assert.Empty(t, d.Must("GET", Pods+"/x/log", "").Text, "as today's server has it")
	d.Must("POST", Pods+"/x/binding", `{"metadata":{"name":"x"},"target":{"name":"n1"}}`)
	assert.Equal(t, `pods "n1" not found`, log(), "as today's server has it")
	d.Must("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"}}`)
	assert.Equal(t, `container "c" in pod "x" is waiting to start: no kubelet has started it`, log())
}

func TestAServiceKeepsItsAddressUntilItIsChanged(t *testing.T) {
	t.Parallel()
	d := Open(t)
	const path = "/api/v1/namespaces/default/services"
	d.Must("POST", path, `{"metadata":{"name":"web"},"spec":{"clusterIP":"10.0.0.1","ports":[{"port":80}]}}`)
	assert.Contains(t, d.Must("PUT", path+"/web", `{"metadata":{"name":"web"},"spec":{"ports":[{"port":81}]}}`).Text, `"clusterIP":"10.0.0.1"`)
}

func TestK26EndpointsOfTooManyPairsAreRefused(t *testing.T) {
	t.Parallel()
	d := Open(t)
	endpoints := func(name string, addresses, ports int) string {
		subset := corev1.EndpointSubset{}
		for range addresses {
			subset.Addresses = append(subset.Addresses, corev1.EndpointAddress{IP: "10.0.0.1"})
		}
		for i := range ports {
			subset.Ports = append(subset.Ports, corev1.EndpointPort{Name: fmt.Sprint("p", i), Port: 80})
		}
		text, err := json.Marshal(corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: name}, Subsets: []corev1.EndpointSubset{subset}})
		require.NoError(t, err)
		return string(text)
	}
	for _, row := range []struct {
		name             string
		addresses, ports int
		want             int
	}{
		{"few", 2, 3, 201},
		{"as-many-as-may-be", 200, 100, 201},
		{"one-more", 20_001, 1, 201}, // than may be, but not more than addresses
		{"too-many", 201, 100, 422},
		{"far-too-many", 1_000, 1_000, 422},
	} {
		made := d.Do("POST", Endpoints, endpoints(row.name, row.addresses, row.ports))
		require.Equal(t, row.want, made.Status, "%s: %.300s", row.name, made.Text)
	}
	refused := d.Do("PUT", Endpoints+"/few", endpoints("few", 201, 100)).Error()
	assert.Equal(t, `Endpoints "few" is invalid: subsets: Too many: 20100: must have at most 20000 items`, refused.Message)
}

func TestAListByNameReadsNoOtherObject(t *testing.T) {
	t.Parallel()
	d := Open(t)
	d.Must("POST", Pods, Pod("a", ""))
	broken := &api.Task{JSONBase: api.JSONBase{ID: "broken"}}
	broken.Remainder = "another program wrote this"
	_, err := d.Store.Commit(storage.Create(broken))
	require.NoError(t, err)
	names, _ := d.Must("GET", Pods+"?fieldSelector=metadata.name%3Da,status.phase!%3DFailed", "").Names()
	assert.Equal(t, []string{"a"}, names)
	assert.Equal(t, 500, d.Do("GET", Pods+"?fieldSelector=metadata.name!%3Da", "").Status)
}
