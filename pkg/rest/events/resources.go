// Package events serves the events of the core group in the newer form of events.k8s.io.
package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/versions"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

var row = rest.InNamespaces(eventsv1.SchemeGroupVersion, "Event", "events", printers.Printer{
	Columns: printers.Events.Columns,
	Cells:   func(object runtime.Object) []any { return printers.Events.Cells(inCore(object)) },
}, "ev")

// Resources returns the table. Events expire a TTL after their last change.
func Resources(b rest.Base, ttl time.Duration) []rest.Resource {
	b.Objects = storage.WithTTL(b.Objects, ttl)
	return []rest.Resource{row.With(genericregistry.NewStore(b, row, genericregistry.Strategy[*eventsv1.Event]{
		Validate: func(event *eventsv1.Event) field.ErrorList { return validation.ValidateEventV1Create(inCore(event)) },
		ValidateUpdate: func(now, old *eventsv1.Event) field.ErrorList {
			return validation.ValidateEventV1(inCore(now), inCore(old))
		},
		AllowCreateOnUpdate: true,
		Dependents:          genericregistry.None,
		Fields:              eventFields,
	}))}
}

// inCore returns the event as the core group has it. The two share memory.
func inCore(event runtime.Object) *corev1.Event {
	stored, err := versions.ToStored(event)
	utilruntime.Must(err) // the conversion copies fields: it cannot fail
	return stored.(*corev1.Event)
}

func eventFields(event *eventsv1.Event) fields.Set {
	object := event.Regarding
	return fields.Set{
		"regarding.kind":            object.Kind,
		"regarding.namespace":       object.Namespace,
		"regarding.name":            object.Name,
		"regarding.uid":             string(object.UID),
		"regarding.apiVersion":      object.APIVersion,
		"regarding.resourceVersion": object.ResourceVersion,
		"regarding.fieldPath":       object.FieldPath,
		"reason":                    event.Reason,
		"reportingController":       event.ReportingController,
		"type":                      event.Type,
	}
}
