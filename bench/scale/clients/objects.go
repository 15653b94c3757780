package clients

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const (
	namespacesPath = "/api/v1/namespaces"
	nodesPath      = "/api/v1/nodes"
	allPods        = "/api/v1/pods"
	leaseNamespace = "kube-node-lease"
	leasesPath     = "/apis/coordination.k8s.io/v1/namespaces/" + leaseNamespace + "/leases"
)

func podsPath(namespace string) string { return namespacesPath + "/" + namespace + "/pods" }

func namespaceName(i int) string { return fmt.Sprintf("team-%02d", i) }
func nodeName(i int) string      { return fmt.Sprintf("node-%05d", i) }

const setName = "web-7d4b9c6f8"

// podPrefix begins the names of all pods, and nothing else in them.
const podPrefix = setName + "-"

func podName(i int) string { return fmt.Sprintf("%s%08d", podPrefix, i) }

// podNumber returns the number in the name of a pod, -1 if it has none.
func podNumber(name string) int {
	digits, ok := strings.CutPrefix(name, podPrefix)
	if i, err := strconv.Atoi(digits); ok && err == nil {
		return i
	}
	return -1
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// node returns one as a kubelet registers it, with its first status.
func node(i int) *corev1.Node {
	resources := corev1.ResourceList{"cpu": resource.MustParse("32"), "memory": resource.MustParse("128Gi"), "pods": resource.MustParse("110"), "ephemeral-storage": resource.MustParse("500Gi")}
	return &corev1.Node{
		TypeMeta: typeMeta("v1", "Node"),
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{
			"kubernetes.io/hostname": nodeName(i), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": fmt.Sprint("zone-", i%3)}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address(i)}, {Type: corev1.NodeHostName, Address: nodeName(i)}},
			Conditions: conditions(),
			NodeInfo: corev1.NodeSystemInfo{MachineID: fmt.Sprintf("%032d", i), KernelVersion: "6.12.0", OSImage: "Debian GNU/Linux 13", ContainerRuntimeVersion: "containerd://2.1.0",
				KubeletVersion: "v1.36.3", OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
}

func conditions() []corev1.NodeCondition {
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, LastHeartbeatTime: now, LastTransitionTime: now, Reason: reason, Message: message}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// nodeStatus returns the patch of a node's status that a kubelet sends when nothing has changed.
func nodeStatus() []byte {
	return patch(map[string]any{"conditions": conditions()})
}

func patch(status any) []byte {
	text, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		panic(err)
	}
	return text
}

func lease(node int) *coordinationv1.Lease {
	name, seconds := nodeName(node), int32(40)
	return &coordinationv1.Lease{TypeMeta: typeMeta("coordination.k8s.io/v1", "Lease"), ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: leaseNamespace},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &metav1.MicroTime{Time: time.Now()}}}
}

func replicaSet() *appsv1.ReplicaSet {
	labels := map[string]string{"app": "web", "pod-template-hash": "7d4b9c6f8"}
	return &appsv1.ReplicaSet{TypeMeta: typeMeta("apps/v1", "ReplicaSet"), ObjectMeta: metav1.ObjectMeta{Name: setName}, Spec: appsv1.ReplicaSetSpec{
		Replicas: new(int32(podsOfNamespace)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1.8.2"}}}}}}
}

// pod returns one as the controller of a replica set creates it.
func pod(i int, owner types.UID) *corev1.Pod {
	yes, seconds := true, int64(300)
	toleration := func(key string) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
	}
	return &corev1.Pod{
		TypeMeta: typeMeta("v1", "Pod"),
		ObjectMeta: metav1.ObjectMeta{Name: podName(i), Labels: map[string]string{"app": "web", "pod-template-hash": "7d4b9c6f8", "tier": fmt.Sprint("tier-", i%10)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: setName, UID: owner, Controller: &yes, BlockOwnerDeletion: &yes}}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example/web:1.8.2", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Env: []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")},
					Limits: corev1.ResourceList{"memory": resource.MustParse("256Mi")}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}}, PeriodSeconds: 10},
				VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/web"}},
			}},
			Volumes:     []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}}},
			Tolerations: []corev1.Toleration{toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")},
		},
	}
}

// running returns the patch by which a kubelet says that a pod runs.
func running(i int) []byte {
	now := metav1.Now()
	condition := func(kind corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now}
	}
	return patch(map[string]any{
		"phase": corev1.PodRunning, "hostIP": address(i), "podIP": address(i), "podIPs": []corev1.PodIP{{IP: address(i)}}, "startTime": now,
		"conditions": []corev1.PodCondition{condition(corev1.PodInitialized), condition(corev1.PodReady), condition(corev1.ContainersReady)},
		"containerStatuses": []corev1.ContainerStatus{{Name: "web", Ready: true, Image: "registry.example/web:1.8.2", ContainerID: fmt.Sprintf("containerd://%064d", i),
			ImageID: "registry.example/web@sha256:9834876dcfb05cb167a5c24953eba58c4ac89b1adf57f28f2f9d09af107ee8f0", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}},
	})
}

// ended returns the patch by which a kubelet says that a pod has ended.
func ended() []byte {
	return patch(map[string]any{"phase": corev1.PodSucceeded})
}

// binding returns what a scheduler sends.
func binding(pod int, uid types.UID, node string) *corev1.Binding {
	return &corev1.Binding{TypeMeta: typeMeta("v1", "Binding"), ObjectMeta: metav1.ObjectMeta{Name: podName(pod), UID: uid}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255) }
