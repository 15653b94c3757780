package kubelet_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/util/workqueue"
)

func TestAPodStartsRunsAndEndsInItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		c.create(makePod("web-1"))
		pass(startAfter / 2)
		assert.Equal(t, "Pending 0/1 ContainerCreating, 0 restarts", c.glance("web-1"))
		pass(startAfter)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		pod := c.get("web-1")
		assert.Equal(t, []string{"PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True"}, conditionsOf(pod))
		assert.Equal(t, "127.1.2.1", pod.Status.PodIP)
		assert.Equal(t, []corev1.PodIP{{IP: "127.1.2.1"}}, pod.Status.PodIPs)
		assert.Equal(t, machine, pod.Status.HostIP)
		assert.Equal(t, []corev1.HostIP{{IP: machine}}, pod.Status.HostIPs)
		assert.False(t, pod.Status.StartTime.IsZero())
		assert.Equal(t, corev1.PodQOSBestEffort, pod.Status.QOSClass)
		status := pod.Status.ContainerStatuses[0]
		assert.Regexp(t, "^hollow://[0-9a-f]{64}$", status.ContainerID)
		assert.Equal(t, "nginx:1.8", status.Image)
		assert.Regexp(t, "^hollow://sha256:[0-9a-f]{64}$", status.ImageID)
		assert.True(t, *status.Started)
		assert.Equal(t, []string{
			`Pulled: Container image "nginx:1.8" already present on machine`, "Created: Created container: web", "Started: Started container web",
		}, c.events.take())

		c.annotate("web-1", "stop-after", "10s") // too late: it counts as it was when the container started
		c.delete("web-1", -1)
		require.True(t, c.exists("web-1"))
		pass(time.Second)
		assert.False(t, c.exists("web-1"))
		assert.Equal(t, []string{"Killing: Stopping container web"}, c.events.take())
	})
}

func TestAKubeletKeepsItsNodeAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		node, err := c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		assert.Equal(t, machine, node.Labels[corev1.LabelHostname])
		assert.Equal(t, []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: machine}, {Type: corev1.NodeHostName, Address: machine}}, node.Status.Addresses)
		assert.Equal(t, int32(10250), node.Status.DaemonEndpoints.KubeletEndpoint.Port)
		assert.Equal(t, "v1.36.0", node.Status.NodeInfo.KubeletVersion)
		assert.Equal(t, "hollow", node.Status.NodeInfo.OSImage)
		assert.Equal(t, "110", node.Status.Allocatable.Pods().String())
		assert.Equal(t, "8Gi", node.Status.Capacity.Memory().String())
		first := node.Status.Conditions

		_, err = c.client.Nodes().Change(t.Context(), machine, func(node *corev1.Node) error {
			node.Spec.Unschedulable = true
			return nil
		})
		require.NoError(t, err)
		_, err = c.client.Nodes().Patch(t.Context(), machine, types.MergePatchType, []byte(`{"status": {"capacity": {"example.com/card": "4"}}}`), "status")
		require.NoError(t, err)
		pass(10 * time.Second)
		node, err = c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		assert.True(t, node.Spec.Unschedulable, "a cordon is not the kubelet's")
		card := node.Status.Allocatable["example.com/card"]
		assert.Equal(t, "4", card.String(), "a resource that another one has added stays, and can be allocated")
		require.Len(t, node.Status.Conditions, 4)
		for i, condition := range node.Status.Conditions {
			assert.Equal(t, 10*time.Second, condition.LastHeartbeatTime.Sub(first[i].LastHeartbeatTime.Time), condition.Type)
			assert.Equal(t, first[i].LastTransitionTime, condition.LastTransitionTime, condition.Type)
		}
		ready := node.Status.Conditions[3]
		assert.Equal(t, "Ready=True KubeletReady: kubelet is posting ready status",
			string(ready.Type)+"="+string(ready.Status)+" "+ready.Reason+": "+ready.Message)

		require.NoError(t, c.client.Nodes().Delete(t.Context(), machine, metav1.DeleteOptions{}))
		pass(10 * time.Second)
		_, err = c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err, "K119: who deletes a node whose kubelet lives sees it again")
	})
}

func TestANodeThatWasThereBeforeItsKubeletGetsItsDefaultLabels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		_, err := c.client.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: machine, Labels: map[string]string{"disk": "ssd", corev1.LabelOSStable: "plan9"},
		}})
		require.NoError(t, err)
		labels := func() map[string]string {
			node, err := c.client.Nodes().Get(t.Context(), machine)
			require.NoError(t, err)
			return node.Labels
		}
		want := map[string]string{"disk": "ssd", corev1.LabelHostname: machine, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH}
		c.start()
		assert.Equal(t, want, labels())

		_, err = c.client.Nodes().Change(t.Context(), machine, func(node *corev1.Node) error {
			delete(node.Labels, corev1.LabelHostname)
			return nil
		})
		require.NoError(t, err)
		pass(time.Minute)
		assert.NotContains(t, labels(), corev1.LabelHostname, "it is for registration only")
		c.stop()
		c.start()
		assert.Equal(t, want, labels())
	})
}

func TestANodeThatWasHeldForDeadIsReadyAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startKubelet(t)
		pass(time.Minute)
		// Somebody else says so just before the kubelet writes.
		var once sync.Once
		c.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPut {
				once.Do(func() {
					_, err := c.client.Nodes().Patch(t.Context(), machine, types.StrategicMergePatchType,
						[]byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown"},{"type":"example.org/Other","status":"True"}]}}`), "status")
					assert.NoError(t, err)
				})
			}
			next.ServeHTTP(w, req)
		})
		pass(10 * time.Second)
		node, err := c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		require.Len(t, node.Status.Conditions, 5, "what others tell stays")
		ready := node.Status.Conditions[3]
		assert.Equal(t, corev1.ConditionTrue, ready.Status)
		assert.Equal(t, ready.LastHeartbeatTime, ready.LastTransitionTime)
	})
}

func TestAKubeletStartsBeforeItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.create(makePod("web-1"))
		c.Stop()
		c.start()
		pass(5 * time.Minute)
		c.Restart()
		pass(45 * time.Second) // it asks for its pods after half a minute at the latest
		_, err := c.client.Nodes().Get(t.Context(), machine)
		require.NoError(t, err)
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
	})
}

func TestTheLookAtAPodCanBeTraced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var seen []string
		c.config.Around = func(sync workqueue.Sync) workqueue.Sync {
			return func(ctx context.Context, key string) error {
				seen = append(seen, key)
				return sync(ctx, key)
			}
		}
		c.start()
		c.create(makePod("web-1"))
		pass(time.Second)
		assert.Contains(t, seen, "default/web-1")
		assert.Equal(t, "Running 1/1 running, 0 restarts", c.glance("web-1"))
		c.stop()
	})
}
