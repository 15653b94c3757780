package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// cluster is a server with parts around it, ours or today's.
type cluster struct {
	*server
	clients *kubernetes.Clientset
}

// runParts starts parts of ours as another process, as clients of a server.
func runParts(t *testing.T, s *server, parts string, flags ...string) *process {
	program, err := apiserver()
	require.NoError(t, err)
	return startProcess(t, program, append([]string{"-run", parts, "-kubeconfig", kubeconfig(t, s)}, flags...)...)
}

func onlyInProof(t *testing.T) {
	if os.Getenv(changesVariable) == "" {
		t.Skip("make proof runs it: " + changesVariable)
	}
}

// unplaced starts a server that leaves pods to a scheduler.
func unplaced(t *testing.T) *server {
	if onToday() {
		return startToday(t)
	}
	return startOurs(t, "-scheduler", "none")
}

// podAddresses returns the addresses of pods: today's server takes no endpoints at loopback ones (K69).
// Nobody connects to them here.
func podAddresses(ours string) string {
	if onToday() {
		return "10.81.0.0/16"
	}
	return ours
}

const runningPort = 18080 // of containers, on addresses of their own

// createController posts a replication controller, and a service for its pods.
func (c cluster) createController(t *testing.T, name string, replicas int32) {
	labels := map[string]string{"app": name}
	spec := pod("", nil).Spec
	if !onToday() { // there the machine does not have the pods' addresses, and a pod that cannot listen is not ready (K115)
		spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: runningPort}}
	}
	_, err := c.clients.CoreV1().ReplicationControllers(metav1.NamespaceDefault).Create(t.Context(), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: labels,
			Template: &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.clients.CoreV1().Services(metav1.NamespaceDefault).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 8000, TargetPort: intstr.FromInt32(runningPort)}}}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func (c cluster) scale(t *testing.T, name string, replicas int32) {
	controllers := c.clients.CoreV1().ReplicationControllers(metav1.NamespaceDefault)
	scale, err := controllers.GetScale(t.Context(), name, metav1.GetOptions{})
	require.NoError(t, err)
	scale.Spec.Replicas, scale.ResourceVersion = replicas, ""
	_, err = controllers.UpdateScale(t.Context(), name, scale, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// ready returns the pods of a replication controller that are ready.
func (c cluster) ready(t *testing.T, name string) (ready []corev1.Pod) {
	for _, pod := range listPods(t, c.clients) {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.Labels["app"] == name && pod.DeletionTimestamp == nil {
				ready = append(ready, pod)
			}
		}
	}
	return ready
}

// waitForReady waits until so many pods are ready, none is left besides, and the controller says so.
func (c cluster) waitForReady(t *testing.T, name string, n int) {
	t.Helper()
	eventually(t, func() bool {
		controller, err := c.clients.CoreV1().ReplicationControllers(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		return len(c.ready(t, name)) == n && len(listPods(t, c.clients)) == n && int(controller.Status.ReadyReplicas) == n
	}, fmt.Sprintf("%s has %d pods that are ready", name, n))
}

// waitForEndpoints waits until the endpoints of a service are the addresses of its pods.
func (c cluster) waitForEndpoints(t *testing.T, name string) (version string) {
	t.Helper()
	eventually(t, func() bool {
		endpoints, err := c.clients.CoreV1().Endpoints(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false
		}
		require.NoError(t, err)
		have, want := map[string]bool{}, map[string]bool{}
		for _, subset := range endpoints.Subsets {
			for _, address := range subset.Addresses {
				have[fmt.Sprint(address.IP, " ", subset.Ports[0].Port)] = true
			}
		}
		for _, pod := range c.ready(t, name) {
			want[fmt.Sprint(pod.Status.PodIP, " ", runningPort)] = true
		}
		version = endpoints.ResourceVersion
		return assert.ObjectsAreEqual(want, have)
	}, "the endpoints of "+name+" are its pods")
	return version
}

// checkPods lets a replication controller have pods, which run and are reached.
func (c cluster) checkPods(t *testing.T) {
	c.createController(t, "web", 3)
	c.waitForReady(t, "web", 3)
	nodes := map[string]bool{}
	for _, pod := range c.ready(t, "web") {
		nodes[pod.Spec.NodeName] = true
	}
	assert.Len(t, nodes, 2, "they are spread")
	before := c.waitForEndpoints(t, "web")

	gone := c.ready(t, "web")[0]
	deletePod(t, c.clients, gone.Name)
	eventually(t, func() bool {
		for _, pod := range listPods(t, c.clients) {
			if pod.UID == gone.UID {
				return false
			}
		}
		return true
	}, "its kubelet ends a pod that is deleted")
	c.waitForReady(t, "web", 3)
	assert.NotEqual(t, before, c.waitForEndpoints(t, "web"))
	c.scale(t, "web", 10)
	c.waitForReady(t, "web", 10)
	c.scale(t, "web", 0)
	c.waitForReady(t, "web", 0)
	c.waitForEndpoints(t, "web")
}

// The replication controller, the endpoint controller, the scheduler and the kubelets, against our
// server, or, in make parts, against today's.
func TestOurPartsRunPods(t *testing.T) {
	t.Parallel()
	onlyInProof(t)
	s := unplaced(t)
	runParts(t, s, "controller_manager,scheduler,kubelet", "-machines", "127.0.0.1,127.0.0.2", "-kubelet_port", "0", "-cluster_cidr", podAddresses("127.81.0.0/16"))
	cluster{s, clientsetFor(t, s.config())}.checkPods(t)
}

// Today's replication controller and endpoints controller, with our scheduler and kubelets. Our server
// does not write endpoints that another one manages.
func TestTodaysControllersManageWhatOurKubeletsRun(t *testing.T) {
	t.Parallel()
	onlyInProof(t)
	s := unplaced(t)
	runParts(t, s, "scheduler,kubelet", "-machines", "127.0.0.1,127.0.0.2", "-kubelet_port", "0", "-cluster_cidr", podAddresses("127.82.0.0/16"))
	startProcess(t, filepath.Join("..", "bin", "kube-controller-manager"), "--kubeconfig", kubeconfig(t, s),
		"--leader-elect=false", "--secure-port", "0", "--controllers=replicationcontroller-controller,endpoints-controller")
	cluster{s, clientsetFor(t, s.config())}.checkPods(t)
}
