package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Deployments prints *appsv1.Deployment.
var Deployments = table[appsv1.Deployment](name,
	with(readyColumn, func(o *appsv1.Deployment) string { return readyOf(o.Status.ReadyReplicas, o.Spec.Replicas) }),
	text("Up-to-date", "status.updatedReplicas"), text("Available", "status.availableReplicas"), age, wide(namesOf("spec.template")), wide(imagesOf("spec.template")),
	wide(with(text("Selector", "spec.selector"), func(selector *metav1.LabelSelector) string {
		valid, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			return "<invalid>"
		}
		return valid.String()
	})))

// ReplicaSets prints *appsv1.ReplicaSet.
var ReplicaSets = table[appsv1.ReplicaSet](name,
	number("Desired", "spec.replicas"), number("Current", "status.replicas"), number("Ready", "status.readyReplicas"), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

// StatefulSets prints *appsv1.StatefulSet.
var StatefulSets = table[appsv1.StatefulSet](name,
	with(readyColumn, func(o *appsv1.StatefulSet) string { return readyOf(o.Status.ReadyReplicas, o.Spec.Replicas) }), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")))

var readyColumn = text("Ready", "", "Number of the pod with ready state")

// DaemonSets prints *appsv1.DaemonSet.
var DaemonSets = table[appsv1.DaemonSet](name,
	number("Desired", "status.desiredNumberScheduled"), number("Current", "status.currentNumberScheduled"), number("Ready", "status.numberReady"),
	number("Up-to-date", "status.updatedNumberScheduled"), number("Available", "status.numberAvailable"),
	with(text("Node Selector", "spec.template.spec.nodeSelector"), labels.FormatLabels), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

// ControllerRevisions prints *appsv1.ControllerRevision.
var ControllerRevisions = table[appsv1.ControllerRevision](name,
	with(text("Controller", "", "Controller of the object"), func(o *appsv1.ControllerRevision) string {
		owner := metav1.GetControllerOf(o)
		if owner == nil {
			return "<none>"
		}
		return strings.ToLower(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind().String()) + "/" + owner.Name
	}),
	text("Revision", "revision"), age)

// wantedOf returns a number of replicas that may be missing.
func wantedOf(replicas *int32) int64 {
	if replicas == nil {
		return 0
	}
	return int64(*replicas)
}

func readyOf(ready int32, wanted *int32) string { return fmt.Sprintf("%d/%d", ready, wantedOf(wanted)) }

// ReplicationControllers prints *corev1.ReplicationController.
var ReplicationControllers = table[corev1.ReplicationController](name,
	number("Desired", "spec.replicas"), number("Current", "status.replicas"), number("Ready", "status.readyReplicas"), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), labels.FormatLabels)))

// Scales prints *autoscalingv1.Scale. As on today's server, its names have no format.
var Scales = table[autoscalingv1.Scale](text("Name", "metadata.name"), number("Desired", "spec.replicas"), number("Available", "status.replicas"), age)

// Jobs prints *batchv1.Job.
var Jobs = table[batchv1.Job](name, with(text("Status", "", "Status of the job."), jobStatus), with(text("Completions", "status.succeeded"), completions),
	with(text("Duration", "status", "Time required to complete the job."), jobDuration), age,
	wide(namesOf("spec.template")), wide(imagesOf("spec.template")), wide(with(text("Selector", "spec.selector"), metav1.FormatLabelSelector)))

func jobStatus(o *batchv1.Job) string {
	is := func(kind batchv1.JobConditionType) bool {
		i := slices.IndexFunc(o.Status.Conditions, func(condition batchv1.JobCondition) bool { return condition.Type == kind })
		return i >= 0 && o.Status.Conditions[i].Status == corev1.ConditionTrue
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobComplete, batchv1.JobFailed} {
		if is(kind) {
			return string(kind)
		}
	}
	if o.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuspended, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet} {
		if is(kind) {
			return string(kind)
		}
	}
	return "Running"
}

func completions(o *batchv1.Job) string {
	switch parallelism := wantedOf(o.Spec.Parallelism); {
	case o.Spec.Completions != nil:
		return fmt.Sprintf("%d/%d", o.Status.Succeeded, *o.Spec.Completions)
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", o.Status.Succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", o.Status.Succeeded)
}

func jobDuration(status *batchv1.JobStatus) any {
	switch {
	case status.StartTime == nil:
		return ""
	case status.CompletionTime == nil:
		return Ago{Then: status.StartTime.Time}
	}
	return duration.HumanDuration(status.CompletionTime.Sub(status.StartTime.Time))
}

const jobTemplate = "spec.jobTemplate.spec."

// CronJobs prints *batchv1.CronJob.
var CronJobs = table[batchv1.CronJob](name, text("Schedule", "spec.schedule"), text("Timezone", "spec.timeZone").or("<none>"),
	with(truth("Suspend", "spec.suspend").or("<unset>"), func(suspend bool) string {
		return map[bool]string{true: "True", false: "False"}[suspend]
	}),
	count(number("Active", "status.active")),
	with(text("Last Schedule", "status.lastScheduleTime").or("<none>"), func(last *metav1.Time) any { return since(last.Time) }), age,
	wide(namesOf(jobTemplate+"template")), wide(imagesOf(jobTemplate+"template")), wide(with(text("Selector", jobTemplate+"selector"), metav1.FormatLabelSelector)))

// HorizontalPodAutoscalers prints *autoscalingv2.HorizontalPodAutoscaler.
var HorizontalPodAutoscalers = table[autoscalingv2.HorizontalPodAutoscaler](name,
	with(text("Reference", "spec.scaleTargetRef"), func(to autoscalingv2.CrossVersionObjectReference) string { return to.Kind + "/" + to.Name }),
	with(text("Targets", "spec.metrics"), func(o *autoscalingv2.HorizontalPodAutoscaler) string {
		return metricCells(o.Spec.Metrics, o.Status.CurrentMetrics)
	}),
	with(text("MinPods", "spec.minReplicas").or("<unset>"), func(least int32) string { return strconv.Itoa(int(least)) }),
	text("MaxPods", "spec.maxReplicas"), text("Replicas", "status.currentReplicas"), age)

// shownMetrics is how many metrics of an autoscaler a row shows.
const shownMetrics = 2

func metricCells(specs []autoscalingv2.MetricSpec, measured []autoscalingv2.MetricStatus) string {
	if len(specs) == 0 {
		return "<none>"
	}
	var cells []string
	for i, spec := range specs {
		var current autoscalingv2.MetricStatus
		if i < len(measured) {
			current = measured[i]
		}
		cells = append(cells, metricCell(spec, current))
	}
	if more := len(cells) - shownMetrics; more > 0 {
		return fmt.Sprintf("%s + %d more...", strings.Join(cells[:shownMetrics], ", "), more)
	}
	return strings.Join(cells, ", ")
}

// metricCell returns the measured value of a metric, and its target. What is measured may be missing.
func metricCell(spec autoscalingv2.MetricSpec, measured autoscalingv2.MetricStatus) string {
	switch {
	case spec.External != nil:
		return valueCell(spec.External.Target, cmp.Or(measured.External, &autoscalingv2.ExternalMetricStatus{}).Current, " (avg)")
	case spec.Object != nil:
		return valueCell(spec.Object.Target, cmp.Or(measured.Object, &autoscalingv2.ObjectMetricStatus{}).Current, " (avg)")
	case spec.Pods != nil:
		return valueCell(spec.Pods.Target, cmp.Or(measured.Pods, &autoscalingv2.PodsMetricStatus{}).Current, "")
	case spec.Resource != nil:
		return string(spec.Resource.Name) + ": " + useCell(spec.Resource.Target, cmp.Or(measured.Resource, &autoscalingv2.ResourceMetricStatus{}).Current)
	case spec.ContainerResource != nil:
		return string(spec.ContainerResource.Name) + ": " + useCell(spec.ContainerResource.Target, cmp.Or(measured.ContainerResource, &autoscalingv2.ContainerResourceMetricStatus{}).Current)
	}
	return "<unknown type>"
}

func valueCell(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus, average string) string {
	if target.AverageValue != nil {
		return orUnknown(current.AverageValue) + "/" + target.AverageValue.String() + average
	}
	return orUnknown(current.Value) + "/" + orUnknown(target.Value)
}

func useCell(target autoscalingv2.MetricTarget, current autoscalingv2.MetricValueStatus) string {
	if target.AverageValue != nil {
		return valueCell(target, current, "")
	}
	percent := func(value *int32, missing string) string {
		if value == nil {
			return missing
		}
		return fmt.Sprintf("%d%%", *value)
	}
	return percent(current.AverageUtilization, "<unknown>") + "/" + percent(target.AverageUtilization, "<auto>")
}

func orUnknown(quantity *resource.Quantity) string {
	if quantity == nil {
		return "<unknown>"
	}
	return quantity.String()
}

// PodDisruptionBudgets prints *policyv1.PodDisruptionBudget.
var PodDisruptionBudgets = table[policyv1.PodDisruptionBudget](name,
	with(text("Min Available", "spec.minAvailable", "The minimum number of pods that must be available.").or("N/A"), (*intstr.IntOrString).String),
	with(text("Max Unavailable", "spec.maxUnavailable", "The maximum number of pods that may be unavailable.").or("N/A"), (*intstr.IntOrString).String),
	number("Allowed Disruptions", "status.disruptionsAllowed", "Calculated number of pods that may be disrupted at this time."), age)
