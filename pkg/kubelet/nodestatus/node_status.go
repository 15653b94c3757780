// Package nodestatus keeps a node alive: it creates the node of a kubelet, and writes its status again and again.
package nodestatus

import (
	"context"
	"log"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
)

// Node is what a kubelet says of its node.
type Node struct {
	Name     string
	Address  string // of the machine
	Port     int32  // of the kubelet
	Capacity corev1.ResourceList

	KubeletVersion, RuntimeVersion string
}

// Updater writes the status of a node.
type Updater struct {
	Node
	Client    *clientv1.Client
	Frequency time.Duration
	Outage    *clientv1.Outage
	// Wait waits while the kubelet is stopped. See is told what the node is, and reports whether the kubelet is stopped now.
	Wait func(ctx context.Context)
	See  func(node *corev1.Node) (stopped bool)

	registered bool // the node has its default labels
}

// minPause is the pause after the first failure to write the node's status. It doubles up to the
// normal period.
const minPause = 250 * time.Millisecond

// Run keeps the node alive until the context ends.
func (u *Updater) Run(ctx context.Context) {
	info, pause := u.info(), minPause
	for ctx.Err() == nil {
		u.Wait(ctx)
		try, cancel := context.WithTimeout(ctx, max(u.Frequency, time.Second))
		err := u.update(try, info)
		cancel()
		wait := u.Frequency
		if err != nil {
			wait, pause = min(pause, wait), min(2*pause, wait)
			if !u.Outage.Note(ctx, err) && ctx.Err() == nil {
				log.Printf("the kubelet of %s: its node: %s", u.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		} else {
			u.Outage.Note(ctx, nil)
			pause = minPause
		}
		util.Sleep(ctx, wait)
	}
}

// update writes the node's status, and creates the node if it does not exist. The first time, it also gives the
// node its default labels.
func (u *Updater) update(ctx context.Context, info corev1.NodeSystemInfo) error {
	for {
		node, err := u.Client.Nodes().Get(ctx, u.Name)
		if apierrors.IsNotFound(err) {
			node, err = u.Client.Nodes().Create(ctx, u.newNode())
		}
		if err == nil {
			if u.See(node) {
				return nil
			}
			u.setStatus(&node.Status, info, metav1.Now())
			if !u.registered { // others may change the labels later
				node.Labels = labels.Merge(node.Labels, u.newNode().Labels)
			}
			_, err = u.Client.Nodes().UpdateStatus(ctx, node)
			u.registered = u.registered || err == nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		if ctx.Err() != nil { // others are always faster
			return ctx.Err()
		}
	}
}

func (n Node) newNode() *corev1.Node {
	own := map[string]string{corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH}
	if len(validation.IsValidLabelValue(n.Name)) == 0 {
		own[corev1.LabelHostname] = n.Name
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: own}}
}

func (n Node) info() corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID: n.Name, SystemUUID: n.Name, BootID: string(uuid.NewUUID()),
		KernelVersion: "hollow", OSImage: "hollow", ContainerRuntimeVersion: n.RuntimeVersion, KubeletVersion: n.KubeletVersion,
		OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
	}
}

// setStatus sets the kubelet's part of the status of its node. The rest stays.
func (n Node) setStatus(s *corev1.NodeStatus, info corev1.NodeSystemInfo, now metav1.Time) {
	for _, condition := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	} {
		setCondition(s, condition, now)
	}
	s.Addresses = nil
	if _, err := netip.ParseAddr(n.Address); err == nil {
		s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: n.Address})
	}
	s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: n.Name})
	if s.Capacity == nil {
		s.Capacity = corev1.ResourceList{}
	}
	maps.Copy(s.Capacity, n.Capacity.DeepCopy()) // others may add resources
	s.Allocatable = s.Capacity.DeepCopy()
	s.NodeInfo = info
	s.DaemonEndpoints.KubeletEndpoint.Port = n.Port
}

func setCondition(s *corev1.NodeStatus, condition corev1.NodeCondition, now metav1.Time) {
	condition.LastHeartbeatTime, condition.LastTransitionTime = now, now
	i := slices.IndexFunc(s.Conditions, func(c corev1.NodeCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		s.Conditions = append(s.Conditions, condition)
		return
	}
	if s.Conditions[i].Status == condition.Status {
		condition.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = condition
}
