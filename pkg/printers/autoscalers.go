package printers

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HorizontalPodAutoscalers prints *autoscalingv2.HorizontalPodAutoscaler.
var HorizontalPodAutoscalers = table[autoscalingv2.HorizontalPodAutoscaler](name,
	with(text("Reference", "spec.scaleTargetRef"), func(to autoscalingv2.CrossVersionObjectReference) string { return to.Kind + "/" + to.Name }),
	with(text("Targets", "spec.metrics"), func(o *autoscalingv2.HorizontalPodAutoscaler) string {
		return metricCells(o.Spec.Metrics, o.Status.CurrentMetrics)
	}),
	with(text("MinPods", "spec.minReplicas"), func(least *int32) string {
		if least == nil {
			return "<unset>"
		}
		return strconv.Itoa(int(*least))
	}),
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
