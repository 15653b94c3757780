// Package record writes events: what the parts of a cluster report to people about objects.
package record

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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

// makeEvent returns an event with the count 1. Those about nodes are in the namespace default.
func (r *Recorder) makeEvent(about clientv1.Object, eventType, reason, message string) *corev1.Event {
	now := metav1.Now()
	namespace := cmp.Or(about.GetNamespace(), metav1.NamespaceDefault)
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: about.GetName() + "." + r.suffix(now.Time)},
		InvolvedObject:      referenceTo(about),
		Type:                eventType,
		Reason:              reason,
		Message:             message,
		Source:              corev1.EventSource{Component: r.Component, Host: r.Host},
		ReportingController: r.Component,
		ReportingInstance:   r.Host,
		FirstTimestamp:      now,
		LastTimestamp:       now,
		Count:               1,
	}
}

// suffix returns the end of an event's name. Later events of this recorder have greater ones. Those
// of other recorders are almost certainly different.
func (r *Recorder) suffix(now time.Time) string {
	for {
		last := r.last.Load()
		next := max(now.UnixNano(), last+1)
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
