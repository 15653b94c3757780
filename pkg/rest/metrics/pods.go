package metrics

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// podMetrics is the storage of what the containers of pods use. As in metrics-server, a pod is left out unless both answers of its
// kubelet have all its containers that run.
type podMetrics struct{ Config }

// Get implements rest.Getter.
func (m podMetrics) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	pod, err := generic.ObjectIn[*corev1.Pod](m.Pods.Get(ctx, key))
	if err != nil {
		return nil, err
	}
	metrics, err := m.of(ctx, pod)
	if err != nil {
		return nil, err
	}
	if len(metrics) == 0 {
		return nil, apierrors.NewNotFound(metricsv1beta1.Resource("podmetrics"), key.Namespace+"/"+key.Name)
	}
	return rest.MakeAnswer(metrics[0]), nil
}

// List implements rest.Lister.
func (m podMetrics) List(ctx context.Context, namespace string, options rest.ListOptions) (*rest.List, error) {
	pods, err := selected[*corev1.Pod](ctx, m.Pods, namespace, options)
	if err != nil {
		return nil, err
	}
	metrics, err := m.of(ctx, pods...)
	return rest.MakeList(group.WithKind("PodMetrics"), 0, metrics), err
}

func (m podMetrics) of(ctx context.Context, pods ...*corev1.Pod) (all []runtime.Object, err error) {
	nodes, err := m.nodesOf(ctx, pods)
	if err != nil {
		return nil, err
	}
	measured, err := m.measure(ctx, nodes)
	for _, pod := range pods {
		if metrics := measured[pod.Spec.NodeName].pod(pod); metrics != nil {
			all = append(all, metrics)
		}
	}
	return all, err
}

// nodesOf returns the nodes that pods are on.
func (m podMetrics) nodesOf(ctx context.Context, pods []*corev1.Pod) (nodes []*corev1.Node, err error) {
	names := sets.New[string]()
	for _, pod := range pods {
		names.Insert(pod.Spec.NodeName)
	}
	all, err := selected[*corev1.Node](ctx, m.Nodes, "", rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()})
	for _, node := range all {
		if names.Has(node.Name) {
			nodes = append(nodes, node)
		}
	}
	return nodes, err
}

// pod returns what a pod has used, nil if that is not known of all its containers that run.
func (m measurement) pod(pod *corev1.Pod) *metricsv1beta1.PodMetrics {
	metrics := &metricsv1beta1.PodMetrics{TypeMeta: metav1.TypeMeta{Kind: "PodMetrics", APIVersion: group.String()}, ObjectMeta: metaOf(pod)}
	for _, container := range m.last.containers(pod.Namespace, pod.Name) {
		used, ok := m.usage(container)
		if !ok {
			return nil
		}
		if at := metav1.NewTime(used.at); len(metrics.Containers) == 0 || at.Before(&metrics.Timestamp) {
			metrics.Timestamp, metrics.Window = at, metav1.Duration{Duration: used.window}
		}
		metrics.Containers = append(metrics.Containers, metricsv1beta1.ContainerMetrics{Name: container.container, Usage: used.resources})
	}
	if len(metrics.Containers) == 0 {
		return nil
	}
	return metrics
}
