package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// StripPod removes the constant defaults that only Pod sets, which need not be stored.
func StripPod(pod *corev1.Pod) {
	unpoint(&pod.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	unset(&pod.Status.Phase, corev1.PodPending)
}

// StripPodSpec removes the constant defaults of PodSpec, except those in slices.
func StripPodSpec(spec *corev1.PodSpec) {
	unset(&spec.DNSPolicy, corev1.DNSClusterFirst)
	unset(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	unset(&spec.SchedulerName, corev1.DefaultSchedulerName)
	unpoint(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if equality.Semantic.DeepEqual(spec.SecurityContext, &corev1.PodSecurityContext{}) {
		spec.SecurityContext = nil
	}
}

// StripContainer removes the constant defaults of a container.
func StripContainer(c *corev1.Container) {
	unset(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	unset(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
}

// unset is the opposite of set.
func unset[T comparable](field *T, value T) {
	if *field == value {
		*field = *new(T)
	}
}

// unpoint is the opposite of point.
func unpoint[T comparable](field **T, value T) {
	if *field != nil && **field == value {
		*field = nil
	}
}
