package printers

import (
	"cmp"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Nodes prints *corev1.Node.
var Nodes = table[corev1.Node](name,
	with(text("Status", "", "The status of the node"), nodeStatus),
	with(text("Roles", "metadata.labels", "The roles of the node"), func(labels map[string]string) string { return cmp.Or(strings.Join(roles(labels), ","), "<none>") }), age,
	text("Version", "status.nodeInfo.kubeletVersion"),
	wide(with(text("Internal-IP", "status.addresses"), address(corev1.NodeInternalIP))), wide(with(text("External-IP", "status.addresses"), address(corev1.NodeExternalIP))),
	wide(text("OS-Image", "status.nodeInfo.osImage").or("<unknown>")),
	wide(with(text("Kernel-Version", "status.nodeInfo.kernelVersion"), func(node *corev1.Node) string {
		kernel := cmp.Or(node.Status.NodeInfo.KernelVersion, "<unknown>")
		if architecture := node.Status.NodeInfo.Architecture; architecture != "" {
			kernel += " (" + architecture + ")"
		}
		return kernel
	})),
	wide(text("Container-Runtime", "status.nodeInfo.containerRuntimeVersion").or("<unknown>")))

func nodeStatus(node *corev1.Node) string {
	status := "Unknown"
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			status = "NotReady"
			if condition.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if node.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// roles returns the roles in the keys of labels, and in the value of an older label.
func roles(labels map[string]string) []string {
	var roles []string
	for key, value := range labels {
		role, isRole := strings.CutPrefix(key, "node-role.kubernetes.io/")
		if key == "kubernetes.io/role" {
			role, isRole = value, true
		}
		if isRole && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// address returns a function that returns the first address of a kind.
func address(kind corev1.NodeAddressType) func([]corev1.NodeAddress) string {
	return func(all []corev1.NodeAddress) string {
		if i := slices.IndexFunc(all, func(address corev1.NodeAddress) bool { return address.Type == kind }); i >= 0 {
			return all[i].Address
		}
		return "<none>"
	}
}

// Namespaces prints *corev1.Namespace.
var Namespaces = table[corev1.Namespace](name, text("Status", "status.phase", "The status of the namespace"), age)

// Components prints *corev1.ComponentStatus.
var Components = table[corev1.ComponentStatus](name,
	with(text("Status", "conditions", "Status of the component conditions"), func(all []corev1.ComponentCondition) string {
		health := healthOf(all)
		if health.Status == corev1.ConditionTrue {
			return "Healthy"
		}
		return map[bool]string{true: "Unhealthy", false: "Unknown"}[health.Type != ""]
	}),
	with(text("Message", "conditions", "Message of the component conditions"), func(all []corev1.ComponentCondition) string { return healthOf(all).Message }),
	with(text("Error", "conditions", "Error of the component conditions"), func(all []corev1.ComponentCondition) string { return healthOf(all).Error }))

func healthOf(all []corev1.ComponentCondition) (health corev1.ComponentCondition) {
	if i := slices.IndexFunc(all, func(condition corev1.ComponentCondition) bool { return condition.Type == corev1.ComponentHealthy }); i >= 0 {
		health = all[i]
	}
	return health
}

// NodeMetrics prints *metricsv1beta1.NodeMetrics, and PodMetrics *metricsv1beta1.PodMetrics, as metrics-server does.
var (
	NodeMetrics = usageTable[metricsv1beta1.NodeMetrics](
		func(metrics *metricsv1beta1.NodeMetrics) corev1.ResourceList { return metrics.Usage },
		func(metrics *metricsv1beta1.NodeMetrics) metav1.Duration { return metrics.Window })
	PodMetrics = usageTable[metricsv1beta1.PodMetrics](
		func(metrics *metricsv1beta1.PodMetrics) corev1.ResourceList {
			sum := corev1.ResourceList{}
			for _, container := range metrics.Containers {
				for name, used := range container.Usage {
					used.Add(sum[name])
					sum[name] = used
				}
			}
			return sum
		},
		func(metrics *metricsv1beta1.PodMetrics) metav1.Duration { return metrics.Window })
)

func usageTable[T any](usage func(*T) corev1.ResourceList, window func(*T) metav1.Duration) Printer {
	used := func(name corev1.ResourceName) column {
		return with(text(string(name), "").as("quantity"), func(metrics *T) string {
			quantity := usage(metrics)[name]
			return quantity.String()
		})
	}
	return table[T](with(text("Name", "", "Name of the resource").as("name"), metav1.Object.GetName), used(corev1.ResourceCPU), used(corev1.ResourceMemory),
		with(text("Window", "").as("duration"), func(metrics *T) string { return window(metrics).Duration.String() }))
}

// PriorityClasses prints *schedulingv1.PriorityClass.
var PriorityClasses = table[schedulingv1.PriorityClass](name, number("Value", "value"), truth("Global-Default", "globalDefault"), age, text("PreemptionPolicy", "preemptionPolicy"))

// RuntimeClasses prints *nodev1.RuntimeClass. As on today's server, a column has no description.
var RuntimeClasses = table[nodev1.RuntimeClass](name, with(text("Handler", ""), func(class *nodev1.RuntimeClass) string { return class.Handler }), age)

// Leases prints *coordinationv1.Lease.
var Leases = table[coordinationv1.Lease](name, text("Holder", "spec.holderIdentity"), age)
