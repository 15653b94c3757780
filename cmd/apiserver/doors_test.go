package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/master"
	"kube2014/pkg/options"
	"kube2014/pkg/storage"
)

const (
	todaysPods        = "/api/v1/namespaces/default/pods"
	todaysControllers = "/api/v1/namespaces/default/replicationcontrollers"
	todaysServices    = "/api/v1/namespaces/default/services"

	mergePatch = "application/merge-patch+json"
	inYAML     = "application/yaml"
)

// doors are both doors of one apiserver, without a network. No loop runs.
type doors struct {
	t *testing.T
	*master.Master
	handler http.Handler // of the insecure port
}

// openDoors assembles an apiserver as the program does. No kubelet answers it.
func openDoors(t *testing.T, flags ...string) *doors { return openDoorsWith(t, config, flags...) }

func openDoorsWith(t *testing.T, config *master.Config, flags ...string) *doors {
	o, err := options.Parse(flags)
	require.NoError(t, err)
	o.Admission.NoAccounts = true // no loop runs
	m, err := createMaster(config, o, io.Discard)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	if issuer := o.Authentication.OpenID; issuer != nil {
		issuer.Run(t.Context()) // it ends once the keys are known
	}
	return &doors{t, m, m.Server.PrepareRun().InsecureHandler()}
}

// flagsFor are the flags of an apiserver on a new store.
var flagsFor = map[string]func(t *testing.T) []string{
	"memory": func(*testing.T) []string { return nil },
	"etcd":   func(t *testing.T) []string { return []string{"-etcd_servers", startEtcd(t).URL} },
	"etcd3":  func(t *testing.T) []string { return sharedEtcd3.newPlace(t).flags() },
}

// onEachEtcd runs a test with the flags of apiservers on a new store of each etcd.
func onEachEtcd(t *testing.T, test func(t *testing.T, flags []string)) {
	t.Parallel()
	for name, flags := range flagsFor {
		if name != "memory" {
			t.Run("backend="+name, func(t *testing.T) {
				t.Parallel()
				test(t, flags(t))
			})
		}
	}
}

// atBothDoors runs a test on the doors of an apiserver on each store.
func atBothDoors(t *testing.T, test func(t *testing.T, d *doors), flags ...string) {
	t.Parallel()
	for name, own := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, openDoors(t, append(own(t), flags...)...))
		})
	}
}

func (d *doors) do(method, path, mediaType, body string) (status int, text string) {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", mediaType)
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, req)
	return recorder.Code, recorder.Body.String()
}

// send sends JSON, and returns the answer, which has the wanted status.
func (d *doors) send(wanted int, method, path, body string) string {
	d.t.Helper()
	return d.sendAs(wanted, method, path, "application/json", body)
}

func (d *doors) sendAs(wanted int, method, path, mediaType, body string) string {
	d.t.Helper()
	status, text := d.do(method, path, mediaType, body)
	require.Equal(d.t, wanted, status, "%s %s: %s", method, path, text)
	return text
}

func read[Object any](d *doors, path string) (object Object) {
	d.t.Helper()
	require.NoError(d.t, json.Unmarshal([]byte(d.send(http.StatusOK, "GET", path, "")), &object))
	return object
}

func (d *doors) pod(name string) corev1.Pod    { return read[corev1.Pod](d, todaysPods+"/"+name) }
func (d *doors) task(name string) v1beta1.Task { return read[v1beta1.Task](d, taskPath(name)) }
func (d *doors) machineOf(name string) string  { return d.pod(name).Spec.NodeName }
func (d *doors) bind(wanted int, name, to string) string {
	d.t.Helper()
	return d.send(wanted, "POST", todaysPods+"/"+name+"/binding", encodeAll(d.t, corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Target: corev1.ObjectReference{Kind: "Node", Name: to}}))
}

func taskPath(name string) string { return "/api/v1beta1/tasks/" + name }

// podNamed returns a small pod with host ports.
func podNamed(name string, hostPorts ...int32) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "dockerfile/nginx"}}}}
	for _, port := range hostPorts {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: port, HostPort: port})
	}
	return pod
}

// createPod posts a pod at the second door.
func (d *doors) createPod(pod corev1.Pod) corev1.Pod {
	d.t.Helper()
	var created corev1.Pod
	require.NoError(d.t, json.Unmarshal([]byte(d.send(http.StatusCreated, "POST", todaysPods, encodeAll(d.t, pod))), &created))
	return created
}

// createTask posts a task at the first door.
func (d *doors) createTask(name string, hostPort int) {
	d.t.Helper()
	text, err := v1beta1.Codec.Marshal(makeTask(name, hostPort))
	require.NoError(d.t, err)
	d.send(http.StatusOK, "POST", "/api/v1beta1/tasks", string(text))
}

func encodeAll(t *testing.T, object interface{}) string {
	text, err := json.Marshal(object)
	require.NoError(t, err)
	return string(text)
}

func (d *doors) podNames() (names []string) {
	d.t.Helper()
	for _, pod := range read[corev1.PodList](d, todaysPods).Items {
		names = append(names, pod.Name)
	}
	return names
}

// stored returns the objects that there are, with their versions.
func (d *doors) stored() (all []string) {
	for _, kind := range []api.Kind{api.TaskKind, api.ControllerKind, api.ServiceKind, api.EndpointsKind, api.NodeKind, "events"} {
		list, err := d.Stores.Objects.List(storage.Selection{Kind: kind})
		require.NoError(d.t, err)
		for _, object := range list.Items {
			all = append(all, fmt.Sprint(kind, " ", object.Key().ID, " ", object.Version()))
		}
	}
	return all
}
