package metrics

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// nodeMetrics is the storage of what nodes use. A node whose kubelet does not answer is left out.
type nodeMetrics struct{ Config }

// Get implements rest.Getter.
func (m nodeMetrics) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	node, err := generic.ObjectIn[*corev1.Node](m.Nodes.Get(ctx, key))
	if apierrors.IsNotFound(err) {
		return nil, apierrors.NewNotFound(corev1.Resource("node"), key.Name) // as metrics-server words it
	}
	if err != nil {
		return nil, err
	}
	metrics, err := m.of(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(metrics) == 0 {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("nodemetrics"), key.Name)
	}
	return rest.MakeAnswer(metrics[0]), nil
}

// List implements rest.Lister.
func (m nodeMetrics) List(ctx context.Context, _ string, options rest.ListOptions) (*rest.List, error) {
	nodes, err := selected[*corev1.Node](ctx, m.Nodes, "", options)
	if err != nil {
		return nil, err
	}
	metrics, err := m.of(ctx, nodes...)
	return rest.MakeList(group.WithKind("NodeMetrics"), 0, metrics), err
}

func (m nodeMetrics) of(ctx context.Context, nodes ...*corev1.Node) (all []runtime.Object, err error) {
	measured, err := m.measure(ctx, nodes)
	for _, node := range nodes {
		used, ok := measured[node.Name].usage(subject{})
		if !ok {
			continue
		}
		all = append(all, &metricsv1beta1.NodeMetrics{TypeMeta: metav1.TypeMeta{Kind: "NodeMetrics", APIVersion: group.String()}, ObjectMeta: metaOf(node),
			Timestamp: metav1.NewTime(used.at), Window: metav1.Duration{Duration: used.window}, Usage: used.resources})
	}
	return all, err
}

// metaOf returns the metadata of what an object uses now.
func metaOf(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), Labels: object.GetLabels(), CreationTimestamp: metav1.NewTime(time.Now())}
}
