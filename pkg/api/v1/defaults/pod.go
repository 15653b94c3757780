package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/util/pods"
)

// Pod sets the defaults of PodSpec, and those that templates do not have: requests, host ports,
// enableServiceLinks, the phase. A negative grace period becomes one second.
func Pod(pod *corev1.Pod) {
	spec := &pod.Spec
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			for j := range containers[i].Ports {
				if port := &containers[i].Ports[j]; spec.HostNetwork {
					set(&port.HostPort, port.ContainerPort)
				}
			}
		}
	}
	podResources(spec)
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		spec.TerminationGracePeriodSeconds = new(int64(1))
	}
	point(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	PodSpec(spec)
	status := &pod.Status
	set(&status.Phase, corev1.PodPending)
	// The two fields of addresses are synchronized.
	if ips := status.PodIPs; status.PodIP != "" && (len(ips) == 0 || ips[0].IP != status.PodIP) {
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	} else if len(ips) > 0 {
		status.PodIP = ips[0].IP
	}
}

// PodSpec sets the defaults of pods and of pod templates.
func PodSpec(spec *corev1.PodSpec) {
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	point(&spec.SecurityContext, corev1.PodSecurityContext{})
	point(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	for i := range spec.Volumes {
		volume(&spec.Volumes[i].VolumeSource)
	}
	for c := range pods.Containers(spec) {
		container(c)
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
	// The field is served under its old name too.
	set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
}

func container(c *corev1.Container) {
	set(&c.ImagePullPolicy, pullPolicy(c.Image))
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			fieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				point(&from.FileKeyRef.Optional, false)
			}
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil {
			continue
		}
		set(&probe.TimeoutSeconds, 1)
		set(&probe.PeriodSeconds, 10)
		set(&probe.SuccessThreshold, 1)
		set(&probe.FailureThreshold, 3)
		httpGet(probe.HTTPGet)
		if probe.GRPC != nil {
			point(&probe.GRPC.Service, "")
		}
	}
	if c.Lifecycle != nil {
		for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if hook != nil {
				httpGet(hook.HTTPGet)
			}
		}
	}
}

func httpGet(get *corev1.HTTPGetAction) {
	if get != nil {
		set(&get.Path, "/")
		set(&get.Scheme, corev1.URISchemeHTTP)
	}
}

func fieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		set(&ref.APIVersion, "v1")
	}
}

// roundUp rounds quantities up to thousandths.
func roundUp(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}
