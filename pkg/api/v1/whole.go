package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
)

// June 2014 has neither nodes nor events: apart from their metadata they are remainder.

func inNode(node corev1.Node) (in api.Node, err error) {
	in = api.Node{JSONBase: api.JSONBase{ID: node.Name}}
	in.ObjectMeta, node.ObjectMeta = inMeta(node.ObjectMeta)
	in.Labels, node.Labels = node.Labels, nil
	node.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(node)
	return in, err
}

func outNode(in api.Node) (corev1.Node, error) {
	node, err := decodeRest[corev1.Node](&in)
	if err != nil {
		return corev1.Node{}, err
	}
	outMeta(&node.ObjectMeta, &in, "")
	node.Labels = in.Labels
	defaults.Node(&node)
	return node, nil
}

func inEvent(event corev1.Event) (in api.Event, err error) {
	in = api.Event{JSONBase: api.JSONBase{ID: event.Name}}
	in.ObjectMeta, event.ObjectMeta = inMeta(event.ObjectMeta)
	in.Labels, event.Labels = event.Labels, nil
	event.TypeMeta = metav1.TypeMeta{}
	in.Remainder, err = encodeRest(event)
	return in, err
}

func outEvent(in api.Event) (corev1.Event, error) {
	event, err := decodeRest[corev1.Event](&in)
	if err != nil {
		return corev1.Event{}, err
	}
	outMeta(&event.ObjectMeta, &in, Namespace)
	event.Labels = in.Labels
	return event, nil
}
