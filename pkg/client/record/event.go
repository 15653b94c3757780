// Package record writes events: what the parts of a cluster tell people about objects.
package record

import (
	clientv1 "kube2014/pkg/client/v1"
)

// EventRecorder takes events about objects. It does not wait for the server, and is safe for
// concurrent use.
type EventRecorder interface {
	// Eventf records an event. Its type is corev1.EventTypeNormal or corev1.EventTypeWarning; the
	// reason is a word in CamelCase, the message is for people.
	Eventf(about clientv1.Object, eventType, reason, message string, args ...interface{})
}
