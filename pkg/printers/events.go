package printers

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

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
