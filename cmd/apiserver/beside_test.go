package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/api/v1beta1"
)

const (
	kubeletOfM1   = "/registry/hosts/m1/kubelet"
	controllerOfC = `{"id": "c", "desiredState": {"replicas": 2, "replicasInSet": {"name": "c"}, "taskTemplate": {"labels": {"name": "c"}, "desiredState": {"manifest": {"version": "v1beta1", "containers": [{"name": "web", "image": "dockerfile/nginx", "command": "run  it"}]}}}}, "labels": {"name": "c"}}`
	serviceS      = `{"id": "s", "port": 8000, "labels": {"name": "a"}}`
)

// openWithObjects opens the doors of an apiserver on an etcd in which the first door has
// stored objects of each kind. It leaves pods without a machine.
func openWithObjects(t *testing.T) (d *doors, stored func() map[string]string) {
	server := startEtcd(t)
	d = openDoors(t, "-machines", "m1,m2", "-scheduler", "none", "-etcd_servers", server.URL)
	d.send(http.StatusOK, "POST", "/api/v1beta1/services", serviceS)
	d.send(http.StatusOK, "POST", "/api/v1beta1/replicationControllers", controllerOfC)
	d.createTask("a", 80)
	d.createTask("b", 80)
	require.NoError(t, d.Loops.SyncEndpoints())
	return d, func() map[string]string { return keysIn(t, server.URL, "/registry") }
}

// June 2014's programs read these keys. Pods of the second door have others, but for the
// lists that the kubelets read.
func TestWhatTheFirstDoorHasStoredStaysToTheByteWhilePodsComeAndGo(t *testing.T) {
	t.Parallel()
	d, stored := openWithObjects(t)
	before := stored()
	require.Contains(t, before, "/registry/hosts/m1/tasks/a")
	require.Contains(t, before, "/registry/hosts/m2/tasks/b")
	require.Contains(t, before, "/registry/controllers/c")
	require.Contains(t, before, "/registry/services/specs/s")
	require.Contains(t, before, "/registry/services/endpoints/s")
	others := func() map[string]string { // than the pod's own and the list of its machine
		now := stored()
		assert.Contains(t, now, "/registry/pods/p")
		delete(now, "/registry/pods/p")
		now[kubeletOfM1] = before[kubeletOfM1]
		return now
	}
	d.createPod(podNamed("p", 90))
	assert.Equal(t, before, others())
	assert.Equal(t, before[kubeletOfM1], stored()[kubeletOfM1], "it has no machine yet")

	d.bind(http.StatusCreated, "p", "m1")
	assert.Equal(t, before, others())
	assert.True(t, strings.HasPrefix(stored()[kubeletOfM1], strings.TrimSuffix(before[kubeletOfM1], "]")+`,{"version":"v1beta1",`), "its manifest is the last one")

	bound := stored()
	d.sendAs(http.StatusOK, "PATCH", todaysPods+"/p", mergePatch, `{"metadata": {"labels": {"rev": "2"}, "annotations": {"by": "hand"}}}`)
	d.sendAs(http.StatusOK, "PATCH", todaysPods+"/p/status", mergePatch, `{"status": {"phase": "Running"}}`)
	assert.Equal(t, before, others())
	assert.Equal(t, bound[kubeletOfM1], stored()[kubeletOfM1], "the kubelet is told nothing new")

	d.sendAs(http.StatusOK, "PATCH", todaysPods+"/p", "application/strategic-merge-patch+json", `{"spec": {"containers": [{"name": "web", "image": "dockerfile/nginx:2"}]}}`)
	assert.Equal(t, before, others())
	assert.Equal(t, strings.Replace(bound[kubeletOfM1], `[{"name":"web","image":"dockerfile/nginx"`, `[{"name":"web","image":"dockerfile/nginx:2"`, 1), stored()[kubeletOfM1])

	d.send(http.StatusOK, "DELETE", todaysPods+"/p", "")
	assert.Equal(t, before, stored())
}

// What the second door adds to an object of the first one, programs of June 2014 pass
// over.
func TestWhatTheSecondDoorAddsToAnObjectStandsInOneMoreMember(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		key, first, second string
		status, kept       string // a status, and a part of it as it is stored
		labels, relabelled string // in the original, if June 2014 has the same labels
	}{
		"a task": {"/registry/hosts/m1/tasks/a", taskPath("a"), todaysPods + "/a",
			`{"status": {"phase": "Running", "podIP": "10.0.0.9"}}`, `"podIP":"10.0.0.9"`,
			`{"id":"a","labels":{"name":"a"}`, `{"id":"a","labels":{"name":"a","rev":"2"}`},
		"a controller": {"/registry/controllers/c", "/api/v1beta1/replicationControllers/c", todaysControllers + "/c",
			`{"status": {"replicas": 2}}`, `"status":{"replicas":2}`,
			`}},"labels":{"name":"c"}}},"labels":{"name":"c"}`, `}},"labels":{"name":"c"}}},"labels":{"name":"c","rev":"2"}`},
		"a service": {"/registry/services/specs/s", "/api/v1beta1/services/s", todaysServices + "/s",
			`{"status": {"conditions": [{"type": "Known", "status": "True", "reason": "Told", "lastTransitionTime": "2014-06-07T00:00:00Z"}]}}`, `"type":"Known"`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, stored := openWithObjects(t)
			before, answered := stored(), d.send(http.StatusOK, "GET", row.first, "")
			original := before[row.key]
			// added returns what follows the original, which has the part.
			added := func(original, part string) {
				t.Helper()
				now := stored()
				rest, found := strings.CutPrefix(now[row.key], strings.TrimSuffix(original, "}")+`,"v1":`)
				require.True(t, found, "%s\nis not the beginning of\n%s", original, now[row.key])
				assert.True(t, json.Valid([]byte(strings.TrimSuffix(rest, "}"))), rest)
				assert.Contains(t, rest, part)
				now[row.key] = before[row.key]
				assert.Equal(t, before, now, "all other keys are as before")
			}
			d.sendAs(http.StatusOK, "PATCH", row.second, mergePatch, `{"metadata": {"annotations": {"by": "hand"}}}`)
			added(original, `"annotations":{"by":"hand"}`)
			assert.Equal(t, answered, d.send(http.StatusOK, "GET", row.first, ""))

			d.sendAs(http.StatusOK, "PATCH", row.second+"/status", mergePatch, row.status)
			added(original, `"annotations":{"by":"hand"}`)
			added(original, row.kept)
			assert.Equal(t, answered, d.send(http.StatusOK, "GET", row.first, ""))

			d.sendAs(http.StatusOK, "PATCH", row.second, mergePatch, `{"metadata": {"labels": {"rev": "2"}}}`)
			added(strings.Replace(original, row.labels, row.relabelled, 1), row.kept)
			wanted := fromYAML[map[string]interface{}](t, answered)
			if row.labels != "" {
				wanted["labels"].(map[string]interface{})["rev"] = "2"
			}
			assert.Equal(t, wanted, read[map[string]interface{}](d, row.first))
		})
	}
}

// The list of a machine is what June 2014's kubelet reads.
func TestAKubeletOfJune2014ReadsThePodsOfItsMachine(t *testing.T) {
	t.Parallel()
	d, stored := openWithObjects(t)
	pod := podNamed("p", 90)
	pod.Annotations = map[string]string{"only": "today"}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}}}}
	web := &pod.Spec.Containers[0]
	web.Command, web.WorkingDir = []string{"sh", "-c", "sleep 1"}, "/tmp"
	web.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	web.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true}}
	web.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(90)}}}
	d.createPod(pod)
	kubelet := func(machine string) (list []v1beta1.ContainerManifest) {
		decoder := json.NewDecoder(strings.NewReader(stored()["/registry/hosts/"+machine+"/kubelet"]))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&list))
		return list
	}
	require.Len(t, kubelet("m1"), 1)
	require.Len(t, kubelet("m2"), 1)
	d.bind(http.StatusCreated, "p", "m2")
	require.Len(t, kubelet("m1"), 1)
	list := kubelet("m2")
	require.Len(t, list, 2)
	assert.Equal(t, "b", list[0].Id)
	env := list[1].Containers[0].Env
	assert.Equal(t, v1beta1.EnvVar{Name: "SERVICE_HOST", Value: "m2"}, env[len(env)-1])
	list[1].Containers[0].Env = env[:1]
	assert.Equal(t, v1beta1.ContainerManifest{Version: "v1beta1", Id: "p", Volumes: []v1beta1.Volume{{Name: "data"}}, Containers: []v1beta1.Container{{
		Name: "web", Image: "dockerfile/nginx", Command: "sh -c sleep 1", WorkingDir: "/tmp",
		Ports: []v1beta1.Port{{HostPort: 90, ContainerPort: 90, Protocol: "TCP"}}, Env: []v1beta1.EnvVar{{Name: "A", Value: "b"}},
		VolumeMounts: []v1beta1.VolumeMount{{Name: "data", ReadOnly: true, MountPath: "/data"}}}}}, list[1])
	d.send(http.StatusOK, "DELETE", taskPath("p"), "")
	assert.Len(t, kubelet("m2"), 1)
}

func TestAPodWithoutAMachineIsATaskWithoutAHost(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("a", 80)
		d.createPod(podNamed("p"))
		assert.Equal(t, "m1", d.task("a").CurrentState.Host)
		assert.NotContains(t, d.send(http.StatusOK, "GET", taskPath("p"), ""), `"host"`)
		list := read[v1beta1.TaskList](d, "/api/v1beta1/tasks")
		require.Len(t, list.Items, 2)
		assert.Equal(t, []string{"m1", ""}, []string{list.Items[0].CurrentState.Host, list.Items[1].CurrentState.Host})

		putBack(d, taskPath("p"))
		assert.Empty(t, d.machineOf("p"))
		d.bind(http.StatusCreated, "p", "m2")
		assert.Equal(t, "m2", d.task("p").CurrentState.Host)
		putBack(d, taskPath("p"))
		assert.Equal(t, "m2", d.machineOf("p"))
	}, "-machines", "m1,m2", "-scheduler", "none")
}

// The first door changes what it shows, and keeps the rest. A part of the rest that
// refines what was changed is dropped.
func TestAPutAtTheFirstDoorKeepsWhatOnlyTheSecondOneShows(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		pod := podNamed("p")
		pod.Annotations = map[string]string{"by": "hand"}
		pod.Spec.Containers[0].Command = []string{"sh", "-c", "sleep 1"}
		pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
		before := d.createPod(pod)

		task := d.task("p")
		task.Labels = map[string]string{"rev": "2"}
		task.DesiredState.Manifest.Containers[0].Image = "dockerfile/nginx:2"
		d.send(http.StatusOK, "PUT", taskPath("p"), encodeAll(t, task))
		after := d.pod("p")
		assert.NotEqual(t, before.ResourceVersion, after.ResourceVersion)
		assert.True(t, slices.ContainsFunc(after.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "kube2014" }))
		wanted := *before.DeepCopy()
		wanted.ManagedFields = after.ManagedFields
		wanted.ResourceVersion, wanted.Labels = after.ResourceVersion, map[string]string{"rev": "2"}
		wanted.Spec.Containers[0].Image = "dockerfile/nginx:2"
		assertSame(t, wanted, after, "")

		task.DesiredState.Manifest.Containers[0].Command = "sh -c true"
		d.send(http.StatusOK, "PUT", taskPath("p"), encodeAll(t, task))
		after = d.pod("p")
		wanted.ResourceVersion, wanted.ManagedFields = after.ResourceVersion, after.ManagedFields
		wanted.Spec.Containers[0].Command = []string{"sh", "-c", "true"}
		assertSame(t, wanted, after, "")
	})
}

func TestWhatOneDoorMakesTheOtherOneDeletes(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("a", 80)
		d.createPod(podNamed("p"))
		for _, pair := range [][2]string{{taskPath("p"), todaysPods + "/p"}, {todaysPods + "/a", taskPath("a")}} {
			d.send(http.StatusOK, "DELETE", pair[0], "")
			for _, path := range pair {
				d.send(http.StatusNotFound, "GET", path, "")
				d.send(http.StatusNotFound, "DELETE", path, "")
			}
		}
		d.createTask("p", 80)
		d.createPod(podNamed("a"))
	})
}

func TestAnIDIsGivenOnceOverBothDoors(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.createTask("a", 80)
		pod := d.createPod(podNamed("p"))
		task := d.pod("a")
		assert.Equal(t, "Conflict: task \"p\" already exists", d.send(http.StatusConflict, "POST", "/api/v1beta1/tasks", `{"id": "p"}`))
		assert.Contains(t, d.send(http.StatusConflict, "POST", todaysPods, encodeAll(t, podNamed("a"))), `"message":"pods \"a\" already exists","reason":"AlreadyExists"`)
		assertSame(t, pod, d.pod("p"), "it is still the first one")
		assertSame(t, task, d.pod("a"), "it is still the first one")

		for resource, first := range map[string]string{todaysControllers: "/api/v1beta1/replicationControllers", todaysServices: "/api/v1beta1/services"} {
			for _, own := range []string{controllerOfC, serviceS} {
				if strings.Contains(own, "port") == (resource == todaysServices) {
					d.send(http.StatusOK, "POST", first, own)
					shown := read[map[string]interface{}](d, resource+"/"+own[8:9])
					delete(shown["metadata"].(map[string]interface{}), "resourceVersion")
					assert.Contains(t, d.send(http.StatusConflict, "POST", resource, encodeAll(t, shown)), `"reason":"AlreadyExists"`)
					d.send(http.StatusOK, "DELETE", first+"/"+own[8:9], "")
					d.send(http.StatusCreated, "POST", resource, encodeAll(t, shown))
					d.send(http.StatusConflict, "POST", first, own)
				}
			}
		}
	})
}
