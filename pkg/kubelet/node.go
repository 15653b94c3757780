package kubelet

import (
	"context"
	"log"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"kube2014/pkg/util"
)

// minBeatPause is the pause after the first failure to write the node's status. It doubles up to the
// normal period.
const minBeatPause = 250 * time.Millisecond

// beat keeps the node alive until the context ends.
func (k *Kubelet) beat(ctx context.Context, port int32) {
	info, pause := k.nodeInfo(), minBeatPause
	for ctx.Err() == nil {
		k.stop.wait(ctx)
		try, cancel := context.WithTimeout(ctx, max(k.NodeStatusUpdateFrequency, time.Second))
		err := k.updateNode(try, info, port)
		cancel()
		wait := k.NodeStatusUpdateFrequency
		if err != nil {
			wait, pause = min(pause, wait), min(2*pause, wait)
			if !k.outage.note(ctx, err) && ctx.Err() == nil {
				log.Printf("the kubelet of %s: its node: %s", k.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
			}
		} else {
			k.outage.note(ctx, nil)
			pause = minBeatPause
		}
		util.Sleep(ctx, wait)
	}
}

// updateNode writes the node's status, and creates the node if it does not exist. The first time, it also gives the
// node its default labels.
func (k *Kubelet) updateNode(ctx context.Context, info corev1.NodeSystemInfo, port int32) error {
	for {
		node, err := k.Client.Nodes().Get(ctx, k.Name)
		if apierrors.IsNotFound(err) {
			node, err = k.Client.Nodes().Create(ctx, k.newNode())
		}
		if err == nil {
			k.See(node)
			if k.stop.left() > 0 {
				return nil
			}
			k.setNodeStatus(&node.Status, info, port, metav1.Now())
			if !k.registered { // others may change the labels later
				node.Labels = labels.Merge(node.Labels, k.newNode().Labels)
			}
			_, err = k.Client.Nodes().UpdateStatus(ctx, node)
			k.registered = k.registered || err == nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			return err
		}
		if ctx.Err() != nil { // others are always faster
			return ctx.Err()
		}
	}
}

func (k *Kubelet) newNode() *corev1.Node {
	own := map[string]string{corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH}
	if len(validation.IsValidLabelValue(k.Name)) == 0 {
		own[corev1.LabelHostname] = k.Name
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.Name, Labels: own}}
}

func (k *Kubelet) nodeInfo() corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID: k.Name, SystemUUID: k.Name, BootID: string(uuid.NewUUID()),
		KernelVersion: "hollow", OSImage: "hollow", ContainerRuntimeVersion: k.Runtime.Version(), KubeletVersion: k.Version,
		OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
	}
}

// setNodeStatus sets the kubelet's part of the status of its node. The rest stays.
func (k *Kubelet) setNodeStatus(s *corev1.NodeStatus, info corev1.NodeSystemInfo, port int32, now metav1.Time) {
	for _, condition := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	} {
		setNodeCondition(s, condition, now)
	}
	s.Addresses = nil
	if _, err := netip.ParseAddr(k.Address); err == nil {
		s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: k.Address})
	}
	s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: k.Name})
	s.Capacity, s.Allocatable = k.Capacity.DeepCopy(), k.Capacity.DeepCopy()
	s.NodeInfo = info
	s.DaemonEndpoints.KubeletEndpoint.Port = port
}

func setNodeCondition(s *corev1.NodeStatus, condition corev1.NodeCondition, now metav1.Time) {
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

// addresses gives the pods of a machine their addresses.
type addresses struct {
	prefix netip.Prefix // invalid for none

	mu    sync.Mutex // guards what follows
	taken map[netip.Addr]bool
}

func newAddresses(prefix netip.Prefix) *addresses {
	return &addresses{prefix: prefix.Masked(), taken: map[netip.Addr]bool{}}
}

// take returns the lowest address that is free. The first and the last one of the prefix are not
// for pods. The address is invalid if all are taken.
func (a *addresses) take() netip.Addr {
	if !a.prefix.IsValid() {
		return netip.Addr{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for ip := a.prefix.Addr().Next(); a.prefix.Contains(ip.Next()); ip = ip.Next() {
		if !a.taken[ip] {
			a.taken[ip] = true
			return ip
		}
	}
	return netip.Addr{}
}

func (a *addresses) giveBack(ip netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.taken, ip)
}
