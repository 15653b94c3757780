package envvars

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/util/pods"
)

// Field returns a field of the pod, for the environment and the files of its containers.
func (s Source) Field(ref *corev1.ObjectFieldSelector) (string, error) {
	pod := s.Pod
	if path, key, isKey := strings.Cut(strings.TrimSuffix(ref.FieldPath, "']"), "['"); isKey {
		switch path {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch ref.FieldPath {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return listOf(pod.Labels), nil
	case "metadata.annotations":
		return listOf(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return s.NodeIP, nil
	case "status.podIP", "status.podIPs":
		return s.PodIP, nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %s", ref.FieldPath)
}

// listOf returns a line for each key: key="value".
func listOf(values map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, key+"="+strconv.Quote(values[key]))
	}
	return strings.Join(lines, "\n")
}

// Resource returns a request or a limit of a container of the pod, by default of its own, as a number of
// divisors, rounded up. What has no limit is limited by the machine.
func (s Source) Resource(ref *corev1.ResourceFieldSelector, own *corev1.Container) (string, error) {
	c := own
	if ref.ContainerName != "" {
		if c = s.container(ref.ContainerName); c == nil {
			return "", fmt.Errorf("container %s not found", ref.ContainerName)
		}
	}
	kind, text, _ := strings.Cut(ref.Resource, ".")
	name := corev1.ResourceName(text)
	isCommon := name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage
	if c == nil || kind != "limits" && kind != "requests" || !isCommon && !strings.HasPrefix(text, corev1.ResourceHugePagesPrefix) {
		return "", fmt.Errorf("unsupported container resource : %s", ref.Resource)
	}
	quantity := c.Resources.Requests[name]
	if kind == "limits" {
		if quantity = c.Resources.Limits[name]; quantity.IsZero() && isCommon {
			quantity = s.Capacity[name]
		}
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	number, unit := quantity.Value(), divisor.Value()
	if name == corev1.ResourceCPU {
		number, unit = quantity.MilliValue(), divisor.MilliValue()
	}
	count := number / unit
	if number%unit > 0 {
		count++
	}
	return strconv.FormatInt(count, 10), nil
}

// container returns the container of a name, nil if the pod has none.
func (s Source) container(name string) *corev1.Container {
	for c := range pods.Containers(&s.Pod.Spec) {
		if c.Name == name {
			return c
		}
	}
	return nil
}
