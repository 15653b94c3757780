package validation

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateEventCreate checks a new event. An event without an event
// time is of the old kind, which has few rules.
var ValidateEventCreate = creates(func(c checks, event *corev1.Event) {
	c.event(event, "reportingComponent")
})

// ValidateEvent checks an update of an event.
var ValidateEvent = updates(func(c checks, now, _ *corev1.Event) { c.event(now, "reportingComponent") })

// event checks what all versions require. The controller is the name of the field of the reporting controller.
func (c checks) event(event *corev1.Event, controller string) {
	about := event.InvolvedObject.Namespace
	timed := !event.EventTime.IsZero()
	ok := about == event.Namespace
	if about == "" {
		ok = event.Namespace == metav1.NamespaceDefault || timed && event.Namespace == metav1.NamespaceSystem || !timed && event.Namespace == ""
	} else if timed {
		ok = true
	}
	c.InvalidIf(!ok, field.NewPath("involvedObject", "namespace"), about, "does not match event.namespace")
	if timed {
		at := func(name string) *field.Path { return field.NewPath(name) }
		short := func(name, text string, most int) {
			c.InvalidIf(len(text) > most, at(name), "", fmt.Sprintf("can have at most %d characters", most))
		}
		c.Require(at(controller), event.ReportingController)
		c.Qualified(at(controller), event.ReportingController)
		c.Require(at("reportingInstance"), event.ReportingInstance)
		short("reportingInstance", event.ReportingInstance, 128)
		c.Require(at("action"), event.Action)
		short("action", event.Action, 128)
		c.Require(at("reason"), event.Reason)
		short("reason", event.Reason, 128)
		short("message", event.Message, 1024)
	}
	c.Each(field.NewPath("namespace"), event.Namespace, utilvalidation.IsDNS1123Subdomain(event.Namespace))
}

// ValidateEventV1Create checks a new event of events.k8s.io/v1, as the core group has it: it must be of the new kind.
var ValidateEventV1Create = creates(func(c checks, event *corev1.Event) {
	c.event(event, "reportingController")
	c.Metadata(&event.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	c.series(event)
	c.RequiredIf(event.EventTime.IsZero(), field.NewPath("eventTime"), "")
	c.InvalidIf(event.Type != corev1.EventTypeNormal && event.Type != corev1.EventTypeWarning, field.NewPath("type"), "", "has invalid value: "+event.Type)
	unset := func(name string, isSet bool) { c.InvalidIf(isSet, field.NewPath(name), "", "needs to be unset") }
	unset("firstTimestamp", !event.FirstTimestamp.IsZero())
	unset("lastTimestamp", !event.LastTimestamp.IsZero())
	unset("count", event.Count != 0)
	unset("source", event.Source != corev1.EventSource{})
})

// ValidateEventV1 checks an update of an event of events.k8s.io/v1, as the core group has it: only its series may change.
var ValidateEventV1 = updates(func(c checks, now, old *corev1.Event) {
	c.event(now, "reportingController")
	c.MetadataUpdate(&now.ObjectMeta, &old.ObjectMeta)
	if !reflect.DeepEqual(now.Series, old.Series) {
		c.series(now)
	}
	same := func(name string, now, old any) {
		c.Add(apivalidation.ValidateImmutableField(now, old, field.NewPath(name))...)
	}
	same("involvedObject", now.InvolvedObject, old.InvolvedObject)
	same("reason", now.Reason, old.Reason)
	same("message", now.Message, old.Message)
	same("source", now.Source, old.Source)
	same("firstTimestamp", now.FirstTimestamp, old.FirstTimestamp)
	same("lastTimestamp", now.LastTimestamp, old.LastTimestamp)
	same("count", now.Count, old.Count)
	same("type", now.Type, old.Type)
	if !now.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		same("eventTime", now.EventTime, old.EventTime)
	}
	same("action", now.Action, old.Action)
	same("related", now.Related, old.Related)
	same("reportingController", now.ReportingController, old.ReportingController)
	same("reportingInstance", now.ReportingInstance, old.ReportingInstance)
})

func (c checks) series(event *corev1.Event) {
	if series := event.Series; series != nil {
		c.InvalidIf(series.Count < 2, field.NewPath("series.count"), "", "should be at least 2")
		c.RequiredIf(series.LastObservedTime.IsZero(), field.NewPath("series.lastObservedTime"), "")
	}
}
