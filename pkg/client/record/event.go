// Package record writes events: what the parts of a cluster report to people about objects.
package record

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "kube2014/pkg/api/v1"
	clientv1 "kube2014/pkg/client/v1"
)

// EventRecorder takes events about objects. It does not wait for the server, and is safe for
// concurrent use.
type EventRecorder interface {
	// Eventf records an event. Its type is corev1.EventTypeNormal or corev1.EventTypeWarning; the
	// reason is a word in CamelCase, the message is for people.
	Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{})
}

// At returns a recorder whose events have an earlier time than now: others may report already what follows from them.
func At(at time.Time, recorder EventRecorder) EventRecorder {
	if r, ok := recorder.(*Recorder); ok {
		return earlier{r, at}
	}
	return recorder
}

type earlier struct {
	*Recorder
	at time.Time
}

// Eventf implements EventRecorder.
func (r earlier) Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{}) {
	r.add(r.at, about, eventType, reason, message, args)
}

// The server limits how long the message and the instance of an event are, in bytes.
const (
	maxMessage  = 1024
	maxInstance = 128
)

// makeEvent returns an event. Those about nodes are in the namespace default.
//
// It has an eventTime, in microseconds, and not the older lastTimestamp, in seconds: kubectl events sorts by the
// one that there is, and its sort is not stable. For the same reason the name begins with the time: that is the
// order of a list, which is what kubectl get and describe show.
func (r *Recorder) makeEvent(at time.Time, about clientv1.Object, eventType, reason, message string) *corev1.Event {
	namespace := cmp.Or(about.GetNamespace(), metav1.NamespaceDefault)
	instance := cmp.Or(r.Host, r.Component)
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: r.number(at) + "." + about.GetName()},
		InvolvedObject:      referenceTo(about),
		Type:                eventType,
		Reason:              reason,
		Message:             shorten(message),
		Source:              corev1.EventSource{Component: r.Component, Host: r.Host},
		ReportingController: r.Component,
		ReportingInstance:   instance[:min(len(instance), maxInstance)],
		EventTime:           metav1.NewMicroTime(at),
		Action:              reason,
	}
}

// number returns the beginning of the name of an event of a time. Later events of this recorder have greater ones. Those
// of other recorders are almost certainly different.
func (r *Recorder) number(at time.Time) string {
	for {
		last := r.last.Load()
		next := max(at.UnixNano(), last+1)
		if r.last.CompareAndSwap(last, next) {
			return fmt.Sprintf("%016x%08x", next, rand.Uint32())
		}
	}
}

// referenceTo returns a reference to an object. Those from lists and informers do not say their kind.
func referenceTo(object clientv1.Object) corev1.ObjectReference {
	kind := object.GetObjectKind().GroupVersionKind()
	if known, _, err := apiv1.Scheme.ObjectKinds(object); err == nil && kind.Empty() {
		kind = known[0]
	}
	apiVersion, kindName := kind.ToAPIVersionAndKind()
	reference := corev1.ObjectReference{APIVersion: apiVersion, Kind: kindName, Namespace: object.GetNamespace(),
		Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion()}
	if _, isNode := object.(*corev1.Node); isNode {
		reference.UID = types.UID(object.GetName()) // as today's kubelets say it: kubectl describe looks for that
	}
	return reference
}

// shorten returns the beginning of a message that is too long.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const more = "..."
	return strings.ToValidUTF8(message[:maxMessage-len(more)], "") + more
}
