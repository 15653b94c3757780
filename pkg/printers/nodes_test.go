package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestANodeIsReadyOrNotOrUnknown(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		`{}`: "Unknown",
		`{"status":{"conditions":[{"type":"DiskPressure","status":"True"}]}}`:                        "Unknown",
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`:                               "Ready",
		`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`:                              "NotReady",
		`{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`:                            "NotReady",
		`{"spec":{"unschedulable":true}}`:                                                            "Unknown,SchedulingDisabled",
		`{"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`: "Ready,SchedulingDisabled",
	} {
		assert.Equal(t, expected, cells(t, Nodes, object(t, &corev1.Node{}, text))["Status"], text)
	}
}

func TestTheRolesOfANodeAreInItsLabels(t *testing.T) {
	t.Parallel()
	for text, expected := range map[string]string{
		`{}`:                              "<none>",
		`{"a":"b"}`:                       "<none>",
		`{"node-role.kubernetes.io/":""}`: "<none>",
		`{"kubernetes.io/role":""}`:       "<none>",
		`{"node-role.kubernetes.io/worker":"","node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"worker"}`: "control-plane,worker",
	} {
		node := object(t, &corev1.Node{}, `{"metadata":{"labels":`+text+`}}`)
		assert.Equal(t, expected, cells(t, Nodes, node)["Roles"], text)
	}
}

func TestWideColumnsOfANodeSayWhatItRuns(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string]any{
		"Name": "n", "Status": "Unknown", "Roles": "<none>", "Age": "<unknown>", "Version": "",
		"Internal-IP": "<none>", "External-IP": "<none>",
		"OS-Image": "<unknown>", "Kernel-Version": "<unknown>", "Container-Runtime": "<unknown>",
	}, cells(t, Nodes, object(t, &corev1.Node{}, `{"metadata":{"name":"n"}}`)))
	contains(t, map[string]any{
		"Version": "v1.36.3", "Internal-IP": "10.0.0.1", "External-IP": "1.1.1.1",
		"OS-Image": "Debian", "Kernel-Version": "6.1 (amd64)", "Container-Runtime": "containerd://2",
	}, cells(t, Nodes, object(t, &corev1.Node{}, `{"status":{
		"addresses":[{"type":"Hostname","address":"n"},{"type":"InternalIP","address":"10.0.0.1"},{"type":"InternalIP","address":"::1"},{"type":"ExternalIP","address":"1.1.1.1"}],
		"nodeInfo":{"kubeletVersion":"v1.36.3","osImage":"Debian","kernelVersion":"6.1","architecture":"amd64","containerRuntimeVersion":"containerd://2"}}}`)))
}
