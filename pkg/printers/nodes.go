package printers

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var nodeInfoDoc = corev1.NodeSystemInfo{}.SwaggerDoc()

// Nodes prints *corev1.Node.
var Nodes = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		text("Status", "The status of the node"),
		text("Roles", "The roles of the node"),
		ageColumn,
		text("Version", nodeInfoDoc["kubeletVersion"]),
		wide(text("Internal-IP", corev1.NodeStatus{}.SwaggerDoc()["addresses"])),
		wide(text("External-IP", corev1.NodeStatus{}.SwaggerDoc()["addresses"])),
		wide(text("OS-Image", nodeInfoDoc["osImage"])),
		wide(text("Kernel-Version", nodeInfoDoc["kernelVersion"])),
		wide(text("Container-Runtime", nodeInfoDoc["containerRuntimeVersion"])),
	},
	Cells: of(nodeCells),
}

func nodeCells(node *corev1.Node, now time.Time) []any {
	info := node.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, "<unknown>")
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		node.Name,
		nodeStatus(node),
		cmp.Or(strings.Join(roles(node.Labels), ","), "<none>"),
		since(node.CreationTimestamp.Time, now),
		info.KubeletVersion,
		address(node, corev1.NodeInternalIP),
		address(node, corev1.NodeExternalIP),
		cmp.Or(info.OSImage, "<unknown>"),
		kernel,
		cmp.Or(info.ContainerRuntimeVersion, "<unknown>"),
	}
}

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

func address(node *corev1.Node, kind corev1.NodeAddressType) string {
	i := slices.IndexFunc(node.Status.Addresses, func(address corev1.NodeAddress) bool { return address.Type == kind })
	if i < 0 {
		return "<none>"
	}
	return node.Status.Addresses[i].Address
}

// Namespaces prints *corev1.Namespace.
var Namespaces = Printer{
	Columns: []metav1.TableColumnDefinition{nameColumn, text("Status", "The status of the namespace"), ageColumn},
	Cells: of(func(namespace *corev1.Namespace, now time.Time) []any {
		return []any{namespace.Name, string(namespace.Status.Phase), since(namespace.CreationTimestamp.Time, now)}
	}),
}
