package v1

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	"kube2014/pkg/api/v1beta1"
)

// refined is a pod of which nearly every value says more than June 2014 can.
const refined = `{
	"metadata": {"name": "web", "namespace": "default", "uid": "u", "labels": {"name": "web"}, "annotations": {"a": "b"}, "finalizers": ["f/f"]},
	"spec": {
		"nodeName": "machine-1", "hostname": "h", "priority": 7,
		"initContainers": [{"name": "init", "image": "busybox:1"}],
		"volumes": [{"name": "config", "configMap": {"name": "c"}}, {"name": "scratch", "emptyDir": {"medium": "Memory"}}],
		"containers": [{
			"name": "main", "image": "nginx:1.9", "command": ["sh", "-c", "echo 'a  b'"], "args": ["x"], "workingDir": "/w",
			"ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "127.0.0.1"}, {"containerPort": 81, "hostIP": "127.0.0.2"}],
			"env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B"}],
			"resources": {"limits": {"memory": "64Mi", "cpu": "0.5", "x/y": "1"}, "requests": {"memory": "32Mi", "cpu": "500m", "x/y": "1"}},
			"volumeMounts": [{"name": "config", "mountPath": "/c", "subPath": "s"}, {"name": "scratch", "mountPath": "/s"}],
			"livenessProbe": {"exec": {"command": ["true"]}}
		}, {"name": "side", "image": "busybox:1", "command": [""], "stdin": true}]
	},
	"status": {"phase": "Running", "message": "m"}
}`

func refinedPod(t *testing.T) *corev1.Pod {
	pod := &corev1.Pod{}
	require.NoError(t, json.Unmarshal([]byte(refined), pod))
	complete(pod)
	return pod
}

// plain returns the container that today's API makes of one that June 2014 has made.
func plain(c corev1.Container) corev1.Container {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	complete(pod)
	return pod.Spec.Containers[0]
}

func TestAChangeAtTheFirstDoorDropsJustWhatRefinedTheValue(t *testing.T) {
	t.Parallel()
	type task = v1beta1.Task
	containers := func(task *task) []v1beta1.Container { return task.DesiredState.Manifest.Containers }
	for name, row := range map[string]struct {
		change func(*task)
		want   func(*corev1.PodSpec)
	}{
		"the command": {
			func(task *task) { containers(task)[0].Command = "sleep 7" },
			func(spec *corev1.PodSpec) { spec.Containers[0].Command = []string{"sleep", "7"} },
		},
		"no command any more": {
			func(task *task) { containers(task)[0].Command = "" },
			func(spec *corev1.PodSpec) { spec.Containers[0].Command = nil },
		},
		"a plain value of an environment variable": {
			func(task *task) { containers(task)[0].Env[0].Value = "2" },
			func(spec *corev1.PodSpec) { spec.Containers[0].Env[0].Value = "2" },
		},
		"a value that came from elsewhere": {
			func(task *task) { containers(task)[0].Env[1].Value = "2" },
			func(spec *corev1.PodSpec) {
				// Two variables meant the same: the refinement is that of the one that is left.
				spec.Containers[0].Env[2] = spec.Containers[0].Env[1]
				spec.Containers[0].Env[1] = corev1.EnvVar{Name: "B", Value: "2"}
			},
		},
		"no variables any more": {
			func(task *task) { containers(task)[0].Env = nil },
			func(spec *corev1.PodSpec) { spec.Containers[0].Env = nil },
		},
		"a host port": {
			func(task *task) { containers(task)[0].Ports[0].HostPort = 9090 },
			func(spec *corev1.PodSpec) {
				spec.Containers[0].Ports[0] = corev1.ContainerPort{ContainerPort: 80, HostPort: 9090, Protocol: "TCP"}
			},
		},
		"the order of the ports": {
			func(task *task) {
				ports := containers(task)[0].Ports
				ports[0], ports[1] = ports[1], ports[0]
			},
			func(spec *corev1.PodSpec) {
				ports := spec.Containers[0].Ports
				ports[0], ports[1] = ports[1], ports[0]
			},
		},
		"the image": {
			func(task *task) { containers(task)[0].Image = "nginx" },
			func(spec *corev1.PodSpec) { spec.Containers[0].Image = "nginx" },
		},
		"the working directory": {
			func(task *task) { containers(task)[0].WorkingDir = "/v" },
			func(spec *corev1.PodSpec) { spec.Containers[0].WorkingDir = "/v" },
		},
		"the memory": {
			func(task *task) { containers(task)[0].Memory = 1 << 20 },
			func(spec *corev1.PodSpec) {
				spec.Containers[0].Resources.Limits["memory"] = resource.MustParse("1Mi")
			},
		},
		"no limit of memory any more": {
			func(task *task) { containers(task)[0].Memory = 0 },
			func(spec *corev1.PodSpec) { delete(spec.Containers[0].Resources.Limits, "memory") },
		},
		"the CPU, with the request that says the same": {
			func(task *task) { containers(task)[0].CPU = 250 },
			func(spec *corev1.PodSpec) {
				spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("250m")
				spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("250m")
			},
		},
		"a first limit": {
			func(task *task) { containers(task)[1].CPU = 100 },
			func(spec *corev1.PodSpec) {
				spec.Containers[1].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse("100m")}
				spec.Containers[1].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("100m")} // its default
			},
		},
		"a volume's name": {
			func(task *task) { task.DesiredState.Manifest.Volumes[0].Name = "other" },
			func(spec *corev1.PodSpec) {
				spec.Volumes[0] = corev1.Volume{Name: "other", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
			},
		},
		"one volume less": {
			func(task *task) { task.DesiredState.Manifest.Volumes = task.DesiredState.Manifest.Volumes[1:] },
			func(spec *corev1.PodSpec) { spec.Volumes = spec.Volumes[1:] },
		},
		"a mount that is only read": {
			func(task *task) { containers(task)[0].VolumeMounts[0].ReadOnly = true },
			func(spec *corev1.PodSpec) {
				spec.Containers[0].VolumeMounts[0] = corev1.VolumeMount{Name: "config", MountPath: "/c", ReadOnly: true}
			},
		},
		"a container's name": {
			func(task *task) { containers(task)[1].Name = "other" },
			func(spec *corev1.PodSpec) {
				spec.Containers[1] = plain(corev1.Container{Name: "other", Image: "busybox:1"})
			},
		},
		"one container less": {
			func(task *task) { task.DesiredState.Manifest.Containers = containers(task)[1:] },
			func(spec *corev1.PodSpec) { spec.Containers = spec.Containers[1:] },
		},
		"one container more, before the others": {
			func(task *task) {
				task.DesiredState.Manifest.Containers = append([]v1beta1.Container{{Name: "new", Command: "a b"}}, containers(task)...)
			},
			func(spec *corev1.PodSpec) {
				added := plain(corev1.Container{Name: "new", Command: []string{"a", "b"}})
				spec.Containers = append([]corev1.Container{added}, spec.Containers...)
			},
		},
		"no containers any more": {
			func(task *task) { task.DesiredState.Manifest.Containers = []v1beta1.Container{} },
			func(spec *corev1.PodSpec) { spec.Containers = []corev1.Container{} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := refinedPod(t)
			stored := in(t, want)
			row.want(&want.Spec)
			next := putV1beta1(t, stored, func(wire interface{}) { row.change(wire.(*task)) })
			requireSameJSON(t, want, out(t, next))
		})
	}
}

func TestLabelsOfATaskAreThoseOfItsPod(t *testing.T) {
	t.Parallel()
	want := refinedPod(t)
	next := putV1beta1(t, in(t, want), func(wire interface{}) { wire.(*v1beta1.Task).Labels = map[string]string{"name": "other"} })
	want.Labels = map[string]string{"name": "other"}
	requireSameJSON(t, want, out(t, next))
}

func TestAChangedControllerKeepsWhatItsTemplateHas(t *testing.T) {
	t.Parallel()
	pod := refinedPod(t)
	rc := &corev1.ReplicationController{ObjectMeta: pod.ObjectMeta, Spec: corev1.ReplicationControllerSpec{
		Replicas: new(int32(2)), MinReadySeconds: 5, Selector: map[string]string{"name": "web"},
		Template: &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
	}}
	complete(rc)
	next := putV1beta1(t, in(t, rc), func(wire interface{}) {
		state := &wire.(*v1beta1.ReplicationController).DesiredState
		state.Replicas, state.ReplicasInSet["name"] = 3, "other"
		state.TaskTemplate.Labels["name"] = "other"
		state.TaskTemplate.DesiredState.Manifest.Containers[0].Image = "nginx"
	})
	*rc.Spec.Replicas, rc.Spec.Selector = 3, map[string]string{"name": "other"}
	rc.Spec.Template.Labels, rc.Spec.Template.Spec.Containers[0].Image = map[string]string{"name": "other"}, "nginx"
	requireSameJSON(t, rc, out(t, next))
}

func TestAChangedServiceHasThePortAndTheSelectorOfJune2014(t *testing.T) {
	t.Parallel()
	service := func() *corev1.Service {
		made := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: "None", Selector: map[string]string{"name": "web"}, Ports: []corev1.ServicePort{
			{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}, {Name: "https", Port: 443}}}}
		made.Name, made.Namespace, made.UID, made.Labels = "web", Namespace, "u", map[string]string{"tier": "front"}
		complete(made)
		return made
	}
	for name, row := range map[string]struct {
		change func(*v1beta1.Service)
		want   func(*corev1.Service)
	}{
		"the port": {
			func(wire *v1beta1.Service) { wire.Port = 81 },
			func(want *corev1.Service) {
				want.Spec.Ports = []corev1.ServicePort{{Port: 81, TargetPort: intstr.FromInt32(81), Protocol: "TCP"}}
			},
		},
		"no port any more": {
			func(wire *v1beta1.Service) { wire.Port = 0 },
			func(want *corev1.Service) { want.Spec.Ports = nil },
		},
		"the selector": {
			func(wire *v1beta1.Service) { wire.Labels = map[string]string{"name": "other"} },
			func(want *corev1.Service) { want.Spec.Selector = map[string]string{"name": "other"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := service()
			next := putV1beta1(t, in(t, want), func(wire interface{}) { row.change(wire.(*v1beta1.Service)) })
			row.want(want)
			requireSameJSON(t, want, out(t, next))
		})
	}
}

// June 2014 allowed containers without a name, and two of one name.
func TestContainersOfOneNameAreToldApartByTheirOrder(t *testing.T) {
	t.Parallel()
	pod := refinedPod(t)
	pod.Spec.Containers = []corev1.Container{
		plain(corev1.Container{Stdin: true}), plain(corev1.Container{Name: "a", TTY: true}),
		plain(corev1.Container{Image: "x:1"}), plain(corev1.Container{Name: "a", Stdin: true}),
	}
	next := putV1beta1(t, in(t, pod), func(wire interface{}) {
		manifest := &wire.(*v1beta1.Task).DesiredState.Manifest
		manifest.Containers = append(manifest.Containers, v1beta1.Container{Name: "a"})
	})
	pod.Spec.Containers = append(pod.Spec.Containers, plain(corev1.Container{Name: "a"}))
	requireSameJSON(t, pod, out(t, next))
}

func TestARefinementIsFoundWithoutComparingAllWithAll(t *testing.T) {
	t.Parallel()
	const many = 10_000
	calls := 0
	in := func(v corev1.EnvVar) api.EnvVar { calls++; return inEnvVar(v) }
	out := func(v api.EnvVar) corev1.EnvVar { calls++; return outEnvVar(v) }
	vars := make([]corev1.EnvVar, many) // the worst case: all mean the same
	for i := range vars {
		vars[i] = corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{}}
	}
	refined := refinements(vars, in, out)
	assert.Equal(t, vars, refine(conversion.Each(vars, in), refined, in, out))
	assert.LessOrEqual(t, calls, 6*many)
}

var malformed = []string{"{", "[]", "7", `"text"`, `{"metadata":{"finalizers":{}}}`, `{} {}`, `{"metadata":{"deletionTimestamp":"soon"}}`}

func TestARemainderThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, kind := range v1Kinds {
		for _, remainder := range malformed {
			stored := in(t, makeV1(t, kind, 1))
			stored.Meta().Remainder = api.Remainder(remainder)
			_, err := codecFor(stored).ToVersioned(stored)
			require.ErrorContains(t, err, "the remainder of "+string(stored.Key().Kind), remainder)
			_, err = codecFor(stored).EncodeItem(stored)
			require.Error(t, err, remainder)
		}
	}
	task := &api.Task{JSONBase: api.JSONBase{ID: "web"}}
	task.Remainder = `{"spec":{"containers":[{"resources":{"limits":{"memory":"much"}}}]}}`
	_, err := codecFor(task).EncodeItem(task)
	require.ErrorContains(t, err, `the remainder of task "web": quantities must match the regular expression`)
	assert.Equal(t, api.Internal, api.KindOf(err))
}

// What June 2014 says of an object, no remainder can say otherwise.
func TestAWrongRemainderDoesNotHideWhatJune2014Says(t *testing.T) {
	t.Parallel()
	task := &api.Task{JSONBase: api.JSONBase{ID: "web"}, Labels: map[string]string{"a": "b"}}
	task.DesiredState.Manifest.Containers = []api.Container{{Name: "main", Image: "nginx:1.9"}}
	task.CurrentState.Host = "machine-1"
	want := out(t, task)
	task.Remainder = `{"metadata":{"name":"x","namespace":"y","uid":"z","labels":{"c":"d"},"annotations":{"e":"f"},"resourceVersion":"7"},
		"spec":{"nodeName":"x","containers":[{"name":"x"},null,{"name":"main","image":"x","workingDir":"y","command":["z"],"ports":[{}],"env":[{}],"volumeMounts":[{}],
			"resources":{"limits":{"cpu":"1","memory":"1"}}}],"volumes":[{"name":"x"}]}}`
	requireSameJSON(t, want, out(t, task))
}
