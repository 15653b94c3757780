package clients

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// kubeconfig writes a file that leads to a server.
func kubeconfig(t *testing.T, s *server) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"clusters": [{"name": "it", "cluster": {"server": %q, "insecure-skip-tls-verify": %t}}],
		"users": [{"name": "it", "user": {"token": %q}}],
		"contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]}`, s.url(), s.scheme == "https", todaysToken), 0o600))
	return file
}

// controlled is a server with today's controller manager.
type controlled struct {
	*server
	kubeconfig string
	clients    *kubernetes.Clientset
}

func control(t *testing.T, s *server) controlled {
	c := controlled{s, kubeconfig(t, s), clientsetFor(t, s.config())}
	startProcess(t, filepath.Join("..", "bin", "kube-controller-manager"), "--kubeconfig", c.kubeconfig,
		"--leader-elect=false", "--secure-port", "0", "--controllers=replicationcontroller-controller")
	return c
}

// pods returns the pods that a replication controller made.
func (c controlled) pods(t *testing.T, controller string) (pods []corev1.Pod) {
	for _, pod := range listPods(t, c.clients) {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owner.Name == controller && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// waitFor waits until a replication controller has so many pods, and says so.
func (c controlled) waitFor(t *testing.T, controller string, n int) {
	t.Helper()
	eventually(t, func() bool {
		got, err := c.clients.CoreV1().ReplicationControllers(metav1.NamespaceDefault).Get(t.Context(), controller, metav1.GetOptions{})
		require.NoError(t, err)
		return len(c.pods(t, controller)) == n && got.Status.Replicas == int32(n) &&
			*got.Spec.Replicas == int32(n) && got.Status.ObservedGeneration == got.Generation
	}, fmt.Sprintf("%s has %d pods, and a status", controller, n))
}

// waitForOther waits until a pod that was deleted is replaced.
func (c controlled) waitForOther(t *testing.T, controller string, n int) {
	t.Helper()
	gone := c.pods(t, controller)[0]
	deletePod(t, c.clients, gone.Name)
	c.waitFor(t, controller, n)
	for _, pod := range c.pods(t, controller) {
		assert.NotEqual(t, gone.UID, pod.UID)
	}
}

// checkControllers posts a replication controller at each door and changes it.
func checkControllers(t *testing.T, c controlled) {
	controllers := c.clients.CoreV1().ReplicationControllers(metav1.NamespaceDefault)
	labels, two := map[string]string{"app": "second"}, int32(2)
	created, err := controllers.Create(t.Context(), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "second"},
		Spec: corev1.ReplicationControllerSpec{Replicas: &two, Selector: labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", nil).Spec,
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.waitFor(t, "second", 2)
	for _, pod := range c.pods(t, "second") {
		assert.Equal(t, labels, pod.Labels)
		assert.Equal(t, created.UID, metav1.GetControllerOf(&pod).UID)
		assert.True(t, strings.HasPrefix(pod.Name, "second-"), pod.Name)
	}
	c.waitForOther(t, "second", 2)

	var scale *autoscalingv1.Scale
	eventually(t, func() bool { // its status may be late
		scale, err = controllers.GetScale(t.Context(), "second", metav1.GetOptions{})
		require.NoError(t, err)
		return scale.Status == autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=second"}
	}, "the scale has two pods")
	scale.Spec.Replicas, scale.ResourceVersion = 5, ""
	_, err = controllers.UpdateScale(t.Context(), "second", scale, metav1.UpdateOptions{})
	require.NoError(t, err)
	c.waitFor(t, "second", 5)
	kubectl := exec.Command(filepath.Join("..", "bin", "kubectl"), "--kubeconfig", c.kubeconfig, "scale", "rc", "second", "--replicas=1")
	kubectl.Env = append(os.Environ(), "HOME="+t.TempDir()) // where it keeps what it has discovered at an address
	output, err := kubectl.CombinedOutput()
	require.NoError(t, err, string(output))
	c.waitFor(t, "second", 1)

	if onToday() { // it has one door
		return
	}
	url := c.url() + "/api/v1beta1/replicationControllers"
	first := func(replicas int) string {
		return fmt.Sprintf(`{"id": "first", "desiredState": {"replicas": %d, "replicasInSet": {"app": "first"}, "taskTemplate": {"labels": {"app": "first"},
			"desiredState": {"manifest": {"version": "v1beta1", "containers": [{"name": "c", "image": "nginx"}]}}}}}`, replicas)
	}
	status, text, err := ask(t.Context(), http.MethodPost, url, first(3))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, text)
	c.waitFor(t, "first", 3)
	c.waitForOther(t, "first", 3)
	status, text, err = ask(t.Context(), http.MethodPut, url+"/first", first(1))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, text)
	c.waitFor(t, "first", 1)
	status, text, err = ask(t.Context(), http.MethodGet, c.url()+"/api/v1beta1/tasks?labels=app=first", "")
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, c.pods(t, "first")[0].Name, "its pods are tasks")
}

func TestTodaysControllerManagerMakesThePodsOfReplicationControllers(t *testing.T) {
	t.Parallel()
	if os.Getenv(changesVariable) == "" {
		t.Skip("make proof runs it: " + changesVariable)
	}
	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		checkControllers(t, control(t, inMemory(t)))
	})
	t.Run("on etcd", func(t *testing.T) {
		t.Parallel()
		checkControllers(t, control(t, onEtcd(t)))
	})
}
