package printers

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
