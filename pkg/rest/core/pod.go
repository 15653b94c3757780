package core

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/util/pods"
)

func podRows(b rest.Base, network connect.Network, c Config) []rest.Resource {
	row := coreRow("Pod", "pods", api.TaskKind, printers.Pods, "po")
	row.Categories = inAll
	pods := genericregistry.NewStore(b, row, podStrategy(b.Now))
	pods.AnswersDeleted = true
	pods.Insert = func(_ context.Context, object api.Object) (*storage.Object, error) {
		task := object.(*api.Task)
		task.IsPod = true
		return c.Placer.Create(task)
	}
	pods.Grace = func(pod *corev1.Pod, options metav1.DeleteOptions) int64 {
		return podGrace(nodes{network.Nodes}, pod, options)
	}

	binding := row.Subresource("binding", podBinding{pods})
	binding.Kind = coreGroup.WithKind("Binding")
	eviction := row.Subresource("eviction", newPodEviction(pods, c.Budgets))
	eviction.Kind = policyv1.SchemeGroupVersion.WithKind("Eviction")
	status := row.Subresource("status", generic.SubresourceOf(pods, "status", podStatusStrategy()))
	bindings := coreRow("Binding", "bindings", "", printers.Printer{}).With(bindings{pods})
	return slices.Concat(podParts(row, pods), []rest.Resource{row.With(pods), bindings, binding, eviction, status}, network.PodRows(row, pods))
}

func podStrategy(now func() time.Time) genericregistry.Strategy[*corev1.Pod] {
	return genericregistry.Strategy[*corev1.Pod]{
		PrepareForCreate: func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
			if len(pod.Spec.SchedulingGates) > 0 {
				setCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
					Message: "Scheduling is blocked due to non-empty scheduling gates", LastTransitionTime: metav1.Time{Time: now().UTC()}.Rfc3339Copy()})
			}
			pod.Generation = 1
		},
		Default:      defaults.Pod,
		Validate:     validation.ValidatePodCreate,
		Canonicalize: func(pod *corev1.Pod) { pod.Status.QOSClass = defaults.QOSClass(pod) },
		PrepareForUpdate: func(pod, old *corev1.Pod) {
			pod.Status = old.Status
			if len(pod.Spec.SchedulingGates) == 0 { // K79
				pod.Status.Conditions = slices.DeleteFunc(slices.Clone(old.Status.Conditions), func(c corev1.PodCondition) bool {
					return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated
				})
			}
			countGeneration(pod, pod.Spec, old.Spec)
		},
		ValidateUpdate: validation.ValidatePodUpdate,
		Warnings:       warnings.Pod,
		Resets:         fieldmanager.Fields{"status"},
		Fields:         podFields,
		MachineField:   "spec.nodeName",
	}
}

func podStatusStrategy() genericregistry.Strategy[*corev1.Pod] {
	return genericregistry.Strategy[*corev1.Pod]{
		PrepareForUpdate: func(pod, old *corev1.Pod) {
			pod.Spec = old.Spec
			pod.OwnerReferences = old.OwnerReferences
			if pod.Status.QOSClass == "" {
				pod.Status.QOSClass = old.Status.QOSClass
			}
			agreeOnIPs(&pod.Status, old.Status)
		},
		Default:        defaults.Pod,
		ValidateUpdate: validation.ValidatePodStatusUpdate,
		Resets:         fieldmanager.Fields{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"},
	}
}

// agreeOnIPs makes the list of a pod's addresses begin with its address. Clients may set only one of the
// two fields.
func agreeOnIPs(status *corev1.PodStatus, old corev1.PodStatus) {
	first := func(ips []corev1.PodIP) string {
		if len(ips) == 0 {
			return ""
		}
		return ips[0].IP
	}
	switch {
	case status.PodIP == first(status.PodIPs):
	case status.PodIP == "" || status.PodIP == old.PodIP:
		status.PodIP = first(status.PodIPs)
	default:
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}

func podFields(pod *corev1.Pod) fields.Set {
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             pod.Status.PodIP,
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}

// podGrace returns the grace period of a pod in seconds. It is 0 without a live kubelet, because nothing
// would report the end of the pod.
func podGrace(nodes nodes, pod *corev1.Pod, options metav1.DeleteOptions) int64 {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if options.GracePeriodSeconds != nil {
		grace = *options.GracePeriodSeconds
	}
	if grace < 0 { // as for today's server
		grace = 1
	}
	ended := pods.HasEnded(pod)
	if grace == 0 || ended || !nodes.isAlive(pod.Spec.NodeName) {
		return 0
	}
	return grace
}
