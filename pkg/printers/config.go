package printers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// ConfigMaps prints *corev1.ConfigMap.
var ConfigMaps = table[corev1.ConfigMap](name, with(text("Data", "data"), func(o *corev1.ConfigMap) int { return len(o.Data) + len(o.BinaryData) }), age)

// Secrets prints *corev1.Secret, without its data.
var Secrets = table[corev1.Secret](name, text("Type", "type"), count(text("Data", "data")), age)

// ResourceQuotas prints *corev1.ResourceQuota: how much of it is used.
var ResourceQuotas = table[corev1.ResourceQuota](name,
	with(text("Request", "status", "Request represents a minimum amount of cpu/memory that a container may consume."), used(false)),
	with(text("Limit", "status", "Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node."), used(true)), age)

// used returns a function that tells how much of the limits, or else of all other resources, is used.
func used(limits bool) func(*corev1.ResourceQuotaStatus) string {
	return func(status *corev1.ResourceQuotaStatus) string {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(status.Hard)) {
			if strings.HasPrefix(string(name), "limits.") == limits {
				used, hard := status.Used[name], status.Hard[name]
				all = append(all, string(name)+": "+used.String()+"/"+hard.String())
			}
		}
		return strings.Join(all, ", ")
	}
}

// PodTemplates prints *corev1.PodTemplate.
var PodTemplates = table[corev1.PodTemplate](name, namesOf("template"), imagesOf("template"),
	with(text("Pod Labels", "template.metadata.labels", "The labels for the pod template."), labels.FormatLabels))

// Events prints *corev1.Event.
var Events = Printer{Columns: table[corev1.Event](text("Last Seen", "lastTimestamp"), text("Type", "type"), text("Reason", "reason"), text("Object", "involvedObject"),
	wide(text("Subobject", "involvedObject.fieldPath")), wide(text("Source", "source")), text("Message", "message"), wide(text("First Seen", "firstTimestamp")),
	wide(text("Count", "count")), wide(name)).Columns, Cells: of(eventCells)}

// eventCells reads both forms of events: the old one has a count and two times, the new one has a
// time and may have a series.
func eventCells(event *corev1.Event) []any {
	first := event.FirstTimestamp.Time
	if first.IsZero() {
		first = event.EventTime.Time
	}
	last, count := event.LastTimestamp.Time, event.Count
	if last.IsZero() {
		last = first
	}
	if event.Series != nil {
		last, count = event.Series.LastObservedTime.Time, event.Series.Count
	} else if count == 0 {
		count = 1
	}
	object := strings.ToLower(event.InvolvedObject.Kind)
	if event.InvolvedObject.Name != "" {
		object += "/" + event.InvolvedObject.Name
	}
	source := cmp.Or(event.Source.Component, event.ReportingController)
	if host := cmp.Or(event.Source.Host, event.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		since(last),
		event.Type,
		event.Reason,
		object,
		event.InvolvedObject.FieldPath,
		source,
		strings.TrimSpace(event.Message),
		since(first),
		int64(count),
		event.Name,
	}
}
