package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/master/servertest"

	"kube2014/pkg/master/controllertest"
)

// nodeBench is a server with nodes, pods and a node controller.
type nodeBench struct {
	*controllertest.Bench
	skew time.Duration // of the kubelets' clocks
}

func inNodeBubble(t *testing.T, test func(t *testing.T, b *nodeBench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) { test(t, &nodeBench{Bench: shared}) })
}

// run runs a controller until the function that it returns is called.
func (b *nodeBench) run() (stop func()) {
	client := b.Client(b.T, "controller")
	objects := informers.New(client, 0)
	n := NewNodeController(Config{Client: client, Informers: objects, Recorder: b})
	return servertest.Run(b.T, func(ctx context.Context) {
		objects.Run(ctx)
		n.Run(ctx)
	})
}

// kubelets makes nodes, or takes those that exist, and posts their status each 10 s until the
// function that it returns is called. The first does so now, each other one a second later.
func (b *nodeBench) kubelets(names ...string) (stop func()) {
	ctx, cancel := context.WithCancel(b.T.Context())
	var running sync.WaitGroup
	for i, name := range names {
		_, err := b.API.Nodes().Create(b.T.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
		require.True(b.T, err == nil || apierrors.IsAlreadyExists(err), "%v", err)
		running.Go(func() {
			wait := time.Duration(i) * time.Second
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
				b.post(ctx, name)
				wait = 10 * time.Second
			}
		})
	}
	stop = func() { cancel(); running.Wait() }
	b.T.Cleanup(stop)
	return stop
}

// post posts the status of a node, if the server can be reached.
func (b *nodeBench) post(ctx context.Context, name string) {
	node, err := b.API.Nodes().Get(ctx, name)
	if err != nil {
		return
	}
	now := metav1.NewTime(time.Now().Add(b.skew))
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, LastHeartbeatTime: now},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, LastHeartbeatTime: now},
	}
	_, _ = b.API.Nodes().UpdateStatus(ctx, node) // the next one comes in 10 s
}

// pods makes pods of a controller, named after their nodes.
func (b *nodeBench) podsOn(nodes ...string) {
	for _, node := range nodes {
		b.pod("web-"+node, node, "ReplicationController")
	}
}

func (b *nodeBench) pod(name, node, owner string) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: new(int64(30)), Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: owner, Name: "web", UID: "u", Controller: new(true)}}
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	b.CreatePod(pod)
}

// names returns the names of the pods.
func (b *nodeBench) names() string { return strings.Join(b.PodNames(), " ") }

func (b *nodeBench) node(name string) *corev1.Node {
	return controllertest.Get(b.T, b.API.Nodes(), name)
}

func (b *nodeBench) ready(name string) corev1.ConditionStatus {
	return nodeCondition(b.node(name), corev1.NodeReady).Status
}

// K74.
func TestThePodsOfANodeThatStopsGoAfterTheGracePeriod(t *testing.T) {
	for name, skew := range map[string]time.Duration{"the same clock": 0, "a clock that is behind": -24 * time.Hour, "a clock that is ahead": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			inNodeBubble(t, func(t *testing.T, b *nodeBench) {
				b.skew = skew
				b.kubelets("a", "b")
				stop := b.kubelets("c")
				b.podsOn("a", "b", "c")
				b.run()
				b.Settle(5*time.Minute + 3*time.Second)
				require.Equal(t, "web-a web-b web-c", b.names())
				require.Empty(t, b.TakeEvents())

				stop()
				b.Settle(36 * time.Second) // the last heartbeat was 3 s before
				assert.Equal(t, "web-a web-b web-c", b.names())
				assert.Equal(t, corev1.ConditionTrue, b.ready("c"))
				b.Settle(10 * time.Second)
				assert.Equal(t, "web-a web-b", b.names())
				assert.Equal(t, []string{"c Normal NodeNotReady: Node c status is now: NodeNotReady"}, b.TakeEvents())
				ready := nodeCondition(b.node("c"), corev1.NodeReady)
				assert.Equal(t, corev1.ConditionUnknown, ready.Status)
				assert.Equal(t, "NodeStatusUnknown", ready.Reason)
				assert.Equal(t, "Kubelet stopped posting node status.", ready.Message)
				assert.WithinDuration(t, time.Now(), ready.LastTransitionTime.Time, 10*time.Second)
				assert.Equal(t, corev1.ConditionUnknown, nodeCondition(b.node("c"), corev1.NodeDiskPressure).Status)
				assert.Equal(t, corev1.ConditionFalse, nodeCondition(b.node("c"), corev1.NodeNetworkUnavailable).Status, "no kubelet writes it")

				version := b.node("c").ResourceVersion
				b.podsOn("c") // a pod that comes later
				b.Settle(10 * time.Second)
				assert.Equal(t, "web-a web-b", b.names())
				assert.Equal(t, version, b.node("c").ResourceVersion, "it is marked once")
				assert.Empty(t, b.TakeEvents())

				b.kubelets("c")
				b.podsOn("c")
				b.Settle(5 * time.Minute)
				assert.Equal(t, corev1.ConditionTrue, b.ready("c"))
				assert.Equal(t, "web-a web-b web-c", b.names(), "it is back")
			})
		})
	}
}

func TestNothingIsDeletedAfterAnOutageOfTheServer(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a", "b", "c")
		b.podsOn("a", "b", "c")
		b.run()
		b.Settle(2 * time.Minute)
		for range 3 {
			b.Stop()
			b.Settle(10 * time.Minute)
			b.Restart()
			b.Settle(2 * time.Minute)
			assert.Equal(t, "web-a web-b web-c", b.names())
		}
		assert.Empty(t, b.TakeEvents())
	})
}

func TestKubeletsHaveANewGracePeriodAfterAnOutage(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a", "b")
		stop := b.kubelets("c")
		b.podsOn("a", "b", "c")
		b.run()
		b.Settle(2 * time.Minute)
		stop()
		b.Settle(30 * time.Second)
		b.Stop()
		b.Settle(10 * time.Minute)
		b.Restart()
		b.Settle(38 * time.Second)
		assert.Equal(t, "web-a web-b web-c", b.names())
		assert.Empty(t, b.TakeEvents())
		b.Settle(15 * time.Second)
		assert.Equal(t, "web-a web-b", b.names())
	})
}

// K74.
func TestNoPodIsDeletedWhileAllNodesAreSilent(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		stop := b.kubelets("a", "b", "c", "d", "e", "f", "g", "h")
		b.podsOn("a", "b", "c", "h")
		b.run()
		b.Settle(2*time.Minute + 5*time.Second)
		stop() // the last heartbeats are up to 10 s apart
		b.Settle(10 * time.Minute)
		assert.Equal(t, "web-a web-b web-c web-h", b.names())
		assert.Len(t, b.TakeEvents(), 8)
		assert.Equal(t, corev1.ConditionUnknown, b.ready("h"))

		b.kubelets("a")
		b.Settle(38 * time.Second) // the others have that long, too
		assert.Equal(t, "web-a web-b web-c web-h", b.names())
		b.kubelets("b")
		b.Settle(15 * time.Second)
		assert.Equal(t, "web-a web-b", b.names())
	})
}

// K74.
func TestATaintKeepsPodsAwayButEvictsNone(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		b.podsOn("a")
		b.run()
		b.Settle(time.Second)
		_, err := b.API.Nodes().Change(t.Context(), "a", func(node *corev1.Node) error {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "a", Value: "b", Effect: corev1.TaintEffectNoExecute})
			return nil
		})
		require.NoError(t, err)
		b.Settle(time.Hour)
		assert.Equal(t, "web-a", b.names())
	})
}

func TestABarePodOfANodeThatStopsStays(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		stop := b.kubelets("c")
		b.pod("bare", "c", "")
		b.pod("daemon", "c", "DaemonSet")
		b.pod("static", "c", "Node")
		b.pod("db-0", "c", "StatefulSet")
		b.pod("ended", "c", "")
		b.pod("unknown", "c", "Widget")
		pods := b.API.Pods()
		ended, err := pods.Get(t.Context(), "ended")
		require.NoError(t, err)
		ended.Status.Phase = corev1.PodSucceeded
		_, err = pods.UpdateStatus(t.Context(), ended)
		require.NoError(t, err)
		b.run()
		b.Settle(time.Minute)
		stop()
		b.Settle(time.Minute)
		assert.Equal(t, "bare daemon db-0 ended static", b.names())
		for _, name := range []string{"bare", "daemon", "db-0", "static"} {
			pod, err := pods.Get(t.Context(), name)
			require.NoError(t, err)
			assert.Equal(t, corev1.PodUnknown, pod.Status.Phase)
			assert.Equal(t, "NodeLost", pod.Status.Reason)
			assert.Equal(t, "Node c which was running pod "+name+" is unresponsive", pod.Status.Message)
			require.Len(t, pod.Status.Conditions, 1)
			assert.Equal(t, corev1.ConditionFalse, pod.Status.Conditions[0].Status)
		}
		ended, err = pods.Get(t.Context(), "ended")
		require.NoError(t, err)
		assert.Equal(t, corev1.PodSucceeded, ended.Status.Phase)
		marked, err := pods.Get(t.Context(), "bare")
		require.NoError(t, err)
		b.Settle(time.Minute)
		again, err := pods.Get(t.Context(), "bare")
		require.NoError(t, err)
		assert.Equal(t, marked.ResourceVersion, again.ResourceVersion, "it is marked once")
	})
}

func TestAPodThatNobodyWillEndGoesWithItsNode(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		stop := b.kubelets("c")
		b.pod("bare", "c", "")
		b.pod("ends", "c", "")
		b.run()
		b.Settle(time.Minute)
		stop()
		require.NoError(t, b.API.Pods().Delete(t.Context(), "ends", metav1.DeleteOptions{}))
		b.Settle(5 * time.Minute)
		assert.Equal(t, "bare ends", b.names(), "the kubelet may come back and end it")
		require.NoError(t, b.API.Nodes().Delete(t.Context(), "c", metav1.DeleteOptions{}))
		b.Settle(time.Minute)
		assert.Equal(t, "bare", b.names())
	})
}

func TestThePodsOfANodeThatIsGoneGoAfterTheGracePeriod(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		stop := b.kubelets("c")
		b.podsOn("a", "c")
		b.pod("bare", "c", "")
		b.pod("db-0", "c", "StatefulSet")
		b.run()
		b.Settle(time.Minute + 2*time.Second)
		stop()
		require.NoError(t, b.API.Nodes().Delete(t.Context(), "c", metav1.DeleteOptions{}))
		b.Settle(40 * time.Second)
		assert.Equal(t, "bare db-0 web-a web-c", b.names())
		b.Settle(10 * time.Second)
		assert.Equal(t, "bare web-a", b.names())
		bare, err := b.API.Pods().Get(t.Context(), "bare")
		require.NoError(t, err)
		assert.Equal(t, corev1.PodUnknown, bare.Status.Phase)
	})
}

func TestANodeThatIsMadeAgainHasANewGracePeriod(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		b.kubelets("c")()
		b.podsOn("c")
		b.post(t.Context(), "c")
		b.run()
		for range 5 {
			b.Settle(30 * time.Second)
			require.NoError(t, b.API.Nodes().Delete(t.Context(), "c", metav1.DeleteOptions{}))
			b.Settle(20 * time.Second)
			_, err := b.API.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
			require.NoError(t, err)
			b.post(t.Context(), "c")
		}
		assert.Equal(t, "web-c", b.names())
	})
}

func TestANodeThatNeverHadAKubeletIsLeftAlone(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		_, err := b.API.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
		require.NoError(t, err)
		b.podsOn("m1")
		b.pod("bare", "m1", "")
		b.pod("waits", "", "ReplicationController")
		b.run()
		b.Settle(10 * time.Minute)
		assert.Equal(t, "bare waits web-m1", b.names())
		assert.Empty(t, b.node("m1").Status.Conditions)
		assert.Empty(t, b.TakeEvents())
	})
}

func TestANodeHasTheTaintsOfItsConditions(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		own, old := corev1.Taint{Key: "own", Effect: corev1.TaintEffectNoSchedule}, corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
		driving := corev1.Taint{Key: old.Key, Effect: corev1.TaintEffectNoExecute}
		for _, name := range []string{"a", "b", "new"} {
			_, err := b.API.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{old, own, driving}}})
			require.NoError(t, err)
		}
		b.kubelets("a")
		stop := b.kubelets("b")
		b.run()
		b.Settle(6 * time.Second)
		assert.Equal(t, []corev1.Taint{own, driving}, b.node("a").Spec.Taints)
		assert.Equal(t, []corev1.Taint{old, own, driving}, b.node("new").Spec.Taints, "no kubelet says that it is ready")

		stop()
		_, err := b.API.Nodes().Change(t.Context(), "a", func(node *corev1.Node) error {
			node.Spec.Unschedulable = true
			return nil
		})
		require.NoError(t, err)
		b.Settle(time.Minute)
		added := func(key string) []corev1.Taint {
			return []corev1.Taint{own, driving, {Key: key, Effect: corev1.TaintEffectNoSchedule}}
		}
		assert.Equal(t, added("node.kubernetes.io/unschedulable"), b.node("a").Spec.Taints)
		assert.Equal(t, added("node.kubernetes.io/unreachable"), b.node("b").Spec.Taints)
		b.kubelets("b")
		b.Settle(6 * time.Second)
		assert.Equal(t, []corev1.Taint{own, driving}, b.node("b").Spec.Taints)
	})
}

func TestAControllerThatStartsAgainGivesANewGracePeriod(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		b.kubelets("c")()
		b.podsOn("a", "c")
		b.post(t.Context(), "c")
		for range 5 {
			stop := b.run()
			b.Settle(38 * time.Second)
			stop()
		}
		assert.Equal(t, "web-a web-c", b.names())
		b.run()
		b.Settle(time.Minute)
		assert.Equal(t, "web-a", b.names())
	})
}

func TestWhatFailsIsTriedAgain(t *testing.T) {
	for name, fault := range map[string]controllertest.Fault{
		"lost answers": controllertest.LoseAnswer,
		"refusals": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "no", http.StatusForbidden)
		},
		"conflicts": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { http.Error(w, "no", http.StatusConflict) },
		"cuts":      func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			inNodeBubble(t, func(t *testing.T, b *nodeBench) {
				b.kubelets("a")
				stop := b.kubelets("c")
				b.podsOn("a", "c")
				b.pod("bare", "c", "")
				b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number <= 6 {
						fault(w, req, next)
						return
					}
					next.ServeHTTP(w, req)
				})
				b.run()
				b.Settle(time.Minute)
				stop()
				b.Settle(2 * time.Minute)
				assert.Equal(t, "bare web-a", b.names())
				assert.Equal(t, corev1.ConditionUnknown, b.ready("c"))
				bare, err := b.API.Pods().Get(t.Context(), "bare")
				require.NoError(t, err)
				assert.Equal(t, "NodeLost", bare.Status.Reason)
			})
		})
	}
}

// A pod of the same name that has come meanwhile is another one.
func TestOnlyThePodThatWasSeenIsDeleted(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a")
		stop := b.kubelets("c")
		b.podsOn("c")
		var replaced sync.Once
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method == http.MethodDelete {
				replaced.Do(func() {
					assert.NoError(t, b.API.Pods().Delete(t.Context(), "web-c", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
					b.pod("web-c", "a", "ReplicationController")
				})
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.Settle(time.Minute)
		stop()
		b.Settle(5 * time.Minute)
		replaced.Do(func() { t.Error("nothing was deleted") })
		assert.Equal(t, "web-c", b.names())
	})
}

func TestTheStatusOfALostPod(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC))
	condition := func(conditionType corev1.PodConditionType, status corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: conditionType, Status: status}
	}
	marked := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: podNodeLost, LastTransitionTime: now}
	scheduled := condition(corev1.PodScheduled, corev1.ConditionTrue)
	for name, row := range map[string]struct{ before, want []corev1.PodCondition }{
		"no condition": {nil, []corev1.PodCondition{marked}},
		"not yet":      {[]corev1.PodCondition{scheduled}, []corev1.PodCondition{scheduled, marked}},
		"ready":        {[]corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionTrue), scheduled}, []corev1.PodCondition{marked, scheduled}},
		"not ready":    {[]corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse)}, []corev1.PodCondition{condition(corev1.PodReady, corev1.ConditionFalse)}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "c"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: row.before}}
		same := pod.DeepCopy()
		lost := lostPod(pod, now)
		require.NotNil(t, lost, name)
		assert.Equal(t, same, pod, name)
		assert.Equal(t, row.want, lost.Status.Conditions, name)
		assert.Equal(t, corev1.PodUnknown, lost.Status.Phase, name)
		assert.Nil(t, lostPod(lost, now), name)
	}
}

func TestANodeThatGoesHasANewGracePeriodEvenWithoutATimeInItsHeartbeats(t *testing.T) {
	t.Parallel()
	health, now := newNodeHealth(40*time.Second), time.Now()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}}}
	pods := []*corev1.Pod{{Spec: corev1.PodSpec{NodeName: "c"}}}
	observe := func(second int, nodes ...*corev1.Node) bool {
		at := now.Add(time.Duration(second) * time.Second)
		health.observe(nodes, pods, at, at)
		return health.isSilent("c")
	}
	assert.False(t, observe(0, node))
	assert.False(t, observe(35, node))
	assert.False(t, observe(40))
	assert.False(t, observe(79))
	assert.True(t, observe(80))
	assert.True(t, health.isGone("c"))
	assert.False(t, observe(85, node), "it is back")
	assert.False(t, health.isGone("c"))
}

func TestAKubeletThatComesBackWhileTheServerDoesNotAnswerKeepsItsPods(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a", "b")
		stop := b.kubelets("c")
		b.podsOn("a", "b", "c")
		b.run()
		b.Settle(time.Minute + 3*time.Second)
		var marks atomic.Int64
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() == "controller" && req.Method == http.MethodPut && marks.Add(1) == 1 {
				_, err := io.ReadAll(req.Body) // after that the server sees when the sender goes
				assert.NoError(t, err)
				<-req.Context().Done()
				return
			}
			next.ServeHTTP(w, req)
		})
		stop()
		b.Settle(46 * time.Second)
		require.Equal(t, int64(1), marks.Load(), "the server is asked to mark the node")
		b.kubelets("c")
		b.Settle(2 * time.Minute)
		assert.Equal(t, "web-a web-b web-c", b.names())
		assert.Equal(t, corev1.ConditionTrue, b.ready("c"))
	})
}

func TestAKubeletThatComesBackWhileItsPodsAreDeletedKeepsTheOthers(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a", "b")
		stop := b.kubelets("c")
		for n := range 20 {
			b.pod(fmt.Sprint("web-", n), "c", "ReplicationController")
		}
		b.run()
		b.Settle(time.Minute + 3*time.Second)
		deleted := make(chan struct{}, 20)
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodDelete {
				deleted <- struct{}{}
				time.Sleep(3 * time.Second)
			}
			next.ServeHTTP(w, req)
		})
		stop()
		<-deleted
		b.kubelets("c")
		b.Settle(2 * time.Minute)
		assert.Less(t, len(deleted), 5)
		assert.Len(t, strings.Fields(b.names()), 19-len(deleted))
	})
}

func TestAServerThatHangsForAWhileCostsNoPod(t *testing.T) {
	inNodeBubble(t, func(t *testing.T, b *nodeBench) {
		b.kubelets("a", "b", "c")
		b.podsOn("a", "b", "c")
		b.run()
		b.Settle(61500 * time.Millisecond)
		var hangs atomic.Bool
		hangs.Store(true)
		goOn := make(chan struct{})
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			switch {
			case req.UserAgent() == "controller" && req.URL.Path == "/api/v1/nodes" && !req.URL.Query().Has("watch"):
				<-goOn
			case hangs.Load() && strings.HasPrefix(req.URL.Path, "/api/v1/nodes"):
				w.WriteHeader(http.StatusServiceUnavailable) // what a kubelet is told in the end
				return
			}
			next.ServeHTTP(w, req)
		})
		b.Settle(31900 * time.Millisecond)
		hangs.Store(false)
		b.post(t.Context(), "a") // it is the first that is heard again
		b.Settle(100 * time.Millisecond)
		close(goOn)
		b.Settle(2 * time.Minute)
		assert.Equal(t, "web-a web-b web-c", b.names())
		assert.Empty(t, b.TakeEvents())
	})
}
