package versions

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// inEvent returns an event of events.k8s.io as one of the core group.
func inEvent(event eventsv1.Event) (corev1.Event, error) {
	return corev1.Event{
		ObjectMeta: event.ObjectMeta, InvolvedObject: event.Regarding, Reason: event.Reason, Message: event.Note, Type: event.Type,
		EventTime: event.EventTime, Series: (*corev1.EventSeries)(event.Series), Action: event.Action, Related: event.Related,
		ReportingController: event.ReportingController, ReportingInstance: event.ReportingInstance,
		Source: event.DeprecatedSource, FirstTimestamp: event.DeprecatedFirstTimestamp, LastTimestamp: event.DeprecatedLastTimestamp, Count: event.DeprecatedCount,
	}, nil
}

func outEvent(event corev1.Event) (eventsv1.Event, error) {
	return eventsv1.Event{
		ObjectMeta: event.ObjectMeta, Regarding: event.InvolvedObject, Reason: event.Reason, Note: event.Message, Type: event.Type,
		EventTime: event.EventTime, Series: (*eventsv1.EventSeries)(event.Series), Action: event.Action, Related: event.Related,
		ReportingController: event.ReportingController, ReportingInstance: event.ReportingInstance,
		DeprecatedSource: event.Source, DeprecatedFirstTimestamp: event.FirstTimestamp, DeprecatedLastTimestamp: event.LastTimestamp, DeprecatedCount: event.Count,
	}, nil
}
