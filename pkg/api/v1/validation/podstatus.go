package validation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
)

// ValidatePodStatusUpdate checks an update of a pod's status.
var ValidatePodStatusUpdate = updates(checks.podStatusUpdate)

func (c checks) podStatusUpdate(now, old *corev1.Pod) {
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	c.mirror(now.Annotations, old.Annotations)
	at, status, before := field.NewPath("status"), &now.Status, &old.Status
	for i, condition := range status.Conditions {
		at := at.Child("conditions").Index(i)
		c.notNegative(at.Child("observedGeneration"), condition.ObservedGeneration)
		if !slices.Contains([]corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized}, condition.Type) {
			c.Qualified(at.Child("Type"), string(condition.Type))
		}
	}
	c.Forbid(now.Spec.NodeName != old.Spec.NodeName, at.Child("nodeName"), "may not be changed directly")
	if name := status.NominatedNodeName; name != "" && name != before.NominatedNodeName {
		c.Name(at.Child("nominatedNodeName"), name)
		c.Forbid(old.Spec.NodeName != "", at.Child("nominatedNodeName"), "may not be set on pods that are already bound to a node")
	}
	c.notNegative(at.Child("observedGeneration"), status.ObservedGeneration)
	c.Add(apivalidation.ValidateImmutableField(status.QOSClass, before.QOSClass, at.Child("qosClass"))...)
	c.terminated(status.ContainerStatuses, before.ContainerStatuses, at.Child("containerStatuses"), restarts(&old.Spec, old.Spec.Containers))
	c.terminated(status.InitContainerStatuses, before.InitContainerStatuses, at.Child("initContainerStatuses"), restarts(&old.Spec, old.Spec.InitContainers))
	c.terminated(status.EphemeralContainerStatuses, before.EphemeralContainerStatuses, at.Child("ephemeralContainerStatuses"),
		func(string, int32) bool { return false })
	ips(c, status.PodIPs, before.PodIPs, func(ip corev1.PodIP) string { return ip.IP }, at.Child("podIPs"))
	if len(status.HostIPs) > 0 {
		first := status.HostIPs[0].IP
		c.InvalidIf(status.HostIP != first, at.Child("hostIPs").Index(0).Child("ip"), first, "must be equal to `hostIP`")
	}
	ips(c, status.HostIPs, before.HostIPs, func(ip corev1.HostIP) string { return ip.IP }, at.Child("hostIPs"))
}

func (c checks) notNegative(at *field.Path, generation int64) {
	c.InvalidIf(generation < 0, at, generation, "must be a non-negative integer")
}

// ips requires addresses, at most one of each family. Old addresses may have a legacy form.
func ips[T any](c checks, now, old []T, ip func(T) string, at *field.Path) {
	var all, known []string
	for _, address := range old {
		known = append(known, ip(address))
	}
	for i, address := range now {
		all = append(all, ip(address))
		c.IP(at.Index(i), all[i], known...)
	}
	c.InvalidIf(len(all) > 1 && !check.DualStack(all), at, now, "may specify no more than one IP for each IP family")
}

// restarts returns a function that reports whether a container restarts after an exit code. One
// with restart rules may.
func restarts(spec *corev1.PodSpec, containers []corev1.Container) func(name string, code int32) bool {
	return func(name string, code int32) bool {
		policy := string(spec.RestartPolicy)
		for _, ctr := range containers {
			if ctr.Name == name && len(ctr.RestartPolicyRules) > 0 {
				return true
			}
			if ctr.Name == name && ctr.RestartPolicy != nil {
				policy = string(*ctr.RestartPolicy)
			}
		}
		return policy == string(corev1.RestartPolicyAlways) || policy == string(corev1.RestartPolicyOnFailure) && code != 0
	}
}

// terminated checks that a terminated container stays so unless it restarts.
func (c checks) terminated(now, old []corev1.ContainerStatus, at *field.Path, restarted func(name string, code int32) bool) {
	for i, before := range old {
		if before.State.Terminated == nil {
			continue
		}
		for _, status := range now {
			if status.Name == before.Name && status.State.Terminated == nil {
				c.Forbid(!restarted(before.Name, before.State.Terminated.ExitCode), at.Index(i).Child("state"), "may not be transitioned to non-terminated state")
				break
			}
		}
	}
}

// ValidateBinding checks the binding of a pod to a node.
var ValidateBinding = creates(func(c checks, binding *corev1.Binding) {
	if binding.Target.Kind != "" && binding.Target.Kind != "Node" {
		c.Add(field.NotSupported(field.NewPath("target", "kind"), binding.Target.Kind, []string{"Node", "<empty>"}))
	}
	c.Require(field.NewPath("target", "name"), binding.Target.Name)
})
