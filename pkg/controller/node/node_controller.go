// Package node marks nodes whose kubelets are silent, and deletes their pods, as a client of the API.
package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
	"kube2014/pkg/util/pods"
	"kube2014/pkg/util/workqueue"
)

// Config is what a NodeController needs.
type Config struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	// MonitorPeriod is how often the nodes are checked. 0: 5 s.
	MonitorPeriod time.Duration
	// MonitorGracePeriod is how long the kubelet of a node may be silent. It is several times as
	// long as the pause between two heartbeats. 0: 40 s.
	MonitorGracePeriod time.Duration
	// Around is put around each look at the nodes. Nil: nothing.
	Around func(workqueue.Sync) workqueue.Sync
}

// NodeController marks nodes whose kubelets are silent, and deletes their pods, so that their
// controllers create others elsewhere. It measures the time since it has seen a heartbeat change, by
// its own clock. Time without the server does not count. While all kubelets are silent, the fault is
// probably between them and the server: then no pod is deleted.
type NodeController struct {
	config Config
	pods   *cache.SharedInformer[*corev1.Pod]
	health *nodeHealth
	logged string // the last failure that was logged, "" if there is none
}

// NewNodeController returns a controller that uses the informers. They must be run by the caller.
func NewNodeController(config Config) *NodeController {
	config.MonitorPeriod = cmp.Or(config.MonitorPeriod, 5*time.Second)
	config.MonitorGracePeriod = cmp.Or(config.MonitorGracePeriod, 40*time.Second)
	return &NodeController{config: config, pods: config.Informers.Pods(), health: newNodeHealth(config.MonitorGracePeriod)}
}

// Run checks the nodes until the context ends. It is called once.
func (n *NodeController) Run(ctx context.Context) {
	if !cache.WaitForSync(ctx, n.pods.HasSynced) {
		return
	}
	ticker := time.NewTicker(n.config.MonitorPeriod)
	defer ticker.Stop()
	for ctx.Err() == nil {
		n.look(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// look checks the nodes once.
func (n *NodeController) look(ctx context.Context) {
	defer util.HandleCrash()
	failure := ""
	monitor := workqueue.Sync(func(ctx context.Context, _ string) error { return n.monitor(ctx) })
	if err := monitor.Inside(n.config.Around)(ctx, ""); err != nil && ctx.Err() == nil {
		failure = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	if failure != "" && failure != n.logged {
		log.Printf("node controller: %s", failure)
	}
	n.logged = failure
}

// monitor marks the silent nodes and their pods, and taints all nodes by their conditions. If nodes cannot be listed, all get a new grace period.
// Other failures are retried the next time. It ends early if the server does not answer, or after a
// whole period: kubelets may have been heard meanwhile.
func (n *NodeController) monitor(ctx context.Context) error {
	requested := time.Now()
	list, err := n.config.Client.Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		n.health.forget()
		return err
	}
	pods := n.pods.Store().List()
	came := time.Now()
	if came.Sub(n.health.requested) > max(n.config.MonitorGracePeriod/2, 2*n.config.MonitorPeriod) {
		n.health.forget() // the server hung, or this process did: the kubelets could not be heard either
	}
	n.health.observe(list.Items, pods, requested, came)
	isOver := func(err error) bool { return isUnanswered(err) || time.Since(came) >= n.config.MonitorPeriod }
	var failures []error
	for _, node := range list.Items {
		var err error
		if n.health.isSilent(node.Name) {
			node, err = n.markNode(ctx, node)
		}
		if err == nil {
			err = n.taintNode(ctx, node)
		}
		failures = append(failures, err)
		if isOver(err) {
			return errors.Join(failures...)
		}
	}
	for _, pod := range pods {
		if !n.health.isSilent(pod.Spec.NodeName) {
			continue
		}
		err := n.losePod(ctx, pod)
		failures = append(failures, err)
		if isOver(err) {
			break
		}
	}
	return errors.Join(failures...)
}

// markNode sets the conditions of a node to Unknown, and returns it.
func (n *NodeController) markNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	marked := node.DeepCopy()
	if !markConditions(marked.Status.Conditions, metav1.Now()) {
		return node, nil
	}
	marked, err := n.config.Client.Nodes().UpdateStatus(ctx, marked)
	if isOutrun(err) {
		return node, nil
	}
	if err != nil {
		return node, fmt.Errorf("node %s: %w", node.Name, err)
	}
	n.config.Recorder.Eventf(node, corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", node.Name)
	return marked, nil
}

// taintNode gives a node the taints of its conditions. The plugin TaintNodesByCondition has given a new node the first one.
func (n *NodeController) taintNode(ctx context.Context, node *corev1.Node) error {
	taints := taintsOf(node)
	if slices.EqualFunc(taints, node.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) }) {
		return nil
	}
	tainted := node.DeepCopy()
	tainted.Spec.Taints = taints
	if _, err := n.config.Client.Nodes().Update(ctx, tainted); err != nil && !isOutrun(err) {
		return fmt.Errorf("node %s: %w", node.Name, err)
	}
	return nil
}

// losePod deletes a pod of a silent node if its controller will replace it. Otherwise it marks the pod
// as lost.
func (n *NodeController) losePod(ctx context.Context, pod *corev1.Pod) error {
	client := n.config.Client.In(pod.Namespace).Pods()
	isNodeGone := n.health.isGone(pod.Spec.NodeName)
	var err error
	switch lost := lostPod(pod, metav1.Now()); {
	case pods.HasEnded(pod):
	case isReplaced(pod, isNodeGone) || pod.DeletionTimestamp != nil && isNodeGone:
		if n.health.mayDelete() {
			err = client.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		}
	case lost != nil:
		_, err = client.UpdateStatus(ctx, lost)
	}
	if err == nil || isOutrun(err) {
		return nil
	}
	return fmt.Errorf("pod %s: %w", cache.Key(pod), err)
}

func isUnanswered(err error) bool {
	return err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown
}

// isOutrun reports whether another client was faster. The next look finds what is left to do.
func isOutrun(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }
