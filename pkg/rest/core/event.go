package core

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

// eventRows returns the row of events. They expire a TTL after their last change.
func eventRows(b rest.Base, ttl time.Duration) []rest.Resource {
	row := coreRow("Event", "events", "events", printers.Events, "ev")
	b.Objects = storage.WithTTL(b.Objects, ttl)
	return []rest.Resource{row.With(genericregistry.NewStore(b, row, genericregistry.Strategy[*corev1.Event]{
		Validate:            validation.ValidateEventCreate,
		ValidateUpdate:      validation.ValidateEvent,
		AllowCreateOnUpdate: true,
		Dependents:          genericregistry.None,
		Fields:              eventFields,
	}))}
}

func eventFields(event *corev1.Event) fields.Set {
	object := event.InvolvedObject
	return fields.Set{
		"involvedObject.kind":            object.Kind,
		"involvedObject.namespace":       object.Namespace,
		"involvedObject.name":            object.Name,
		"involvedObject.uid":             string(object.UID),
		"involvedObject.apiVersion":      object.APIVersion,
		"involvedObject.resourceVersion": object.ResourceVersion,
		"involvedObject.fieldPath":       object.FieldPath,
		"reason":                         event.Reason,
		"reportingComponent":             event.ReportingController,
		"source":                         cmp.Or(event.Source.Component, event.ReportingController),
		"type":                           event.Type,
	}
}
