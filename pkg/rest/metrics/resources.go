// Package metrics is the group of today's metrics-server: what machines and pods use. The server asks the kubelets itself,
// twice, when a client wants to know, and keeps nothing.
package metrics

import (
	"context"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/connect"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Config has the dependencies of the resources.
type Config struct {
	Nodes, Pods Objects          // what is measured: nodes and pods of core/v1
	Kubelets    connect.Kubelets // nil for none
}

// Objects is the storage of a kind.
type Objects interface {
	rest.Getter
	rest.Lister
}

var (
	group  = metricsv1beta1.SchemeGroupVersion
	scheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		utilruntime.Must(metricsv1beta1.AddToScheme(scheme))
		return scheme
	}()
)

// Resources returns the table of the group.
func Resources(c Config) []rest.Resource {
	nodes := rest.ClusterScoped(group, "NodeMetrics", "nodes", printers.NodeMetrics).With(usages[*corev1.Node]{"NodeMetrics", c.Nodes, c.ofNodes})
	pods := rest.InNamespaces(group, "PodMetrics", "pods", printers.PodMetrics).With(usages[*corev1.Pod]{"PodMetrics", c.Pods, c.ofPods})
	for _, row := range []*rest.Resource{&nodes, &pods} {
		row.Scheme, row.StoredKind, row.Singular = scheme, "", "" // as metrics-server has it
	}
	return []rest.Resource{nodes, pods}
}

// selected returns the objects that the options of a list select by their labels, names and namespaces. As in metrics-server, all
// are on one page.
func selected[T rest.Object](ctx context.Context, of Objects, namespace string, options rest.ListOptions) ([]T, error) {
	if err := options.OnlyName(); err != nil {
		return nil, err
	}
	list, err := of.List(ctx, namespace, rest.ListOptions{Labels: options.Labels, Fields: options.Fields})
	if err != nil {
		return nil, err
	}
	objects := make([]T, list.Len())
	return objects, list.Each(ctx, func(i int, item rest.Answer) (err error) {
		objects[i], err = genericregistry.ObjectIn[T](item, nil)
		return err
	})
}

// usages is the storage of what the objects of a kind use. What is not known of an object is left out.
type usages[T rest.Object] struct {
	kind    string
	objects Objects
	of      func(ctx context.Context, objects ...T) ([]runtime.Object, error)
}

// Get implements rest.Getter. Its errors are worded as by metrics-server.
func (u usages[T]) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	object, err := genericregistry.ObjectIn[T](u.objects.Get(ctx, key))
	if key.Namespace == "" && apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(corev1.Resource("node"), key.Name)
	}
	if err != nil {
		return nil, err
	}
	metrics, err := u.of(ctx, object)
	if err == nil && len(metrics) == 0 {
		err = apierrors.NewNotFound(metricsv1beta1.Resource(strings.ToLower(u.kind)), path.Join(key.Namespace, key.Name))
	}
	if err != nil {
		return nil, err
	}
	return rest.MakeAnswer(metrics[0]), nil
}

// List implements rest.Lister.
func (u usages[T]) List(ctx context.Context, namespace string, options rest.ListOptions) (*rest.List, error) {
	objects, err := selected[T](ctx, u.objects, namespace, options)
	if err != nil {
		return nil, err
	}
	metrics, err := u.of(ctx, objects...)
	return rest.MakeList(group.WithKind(u.kind), 0, metrics), err
}

// ofNodes returns what nodes use whose kubelets answer.
func (c Config) ofNodes(ctx context.Context, nodes ...*corev1.Node) (all []runtime.Object, err error) {
	measured, err := c.measure(ctx, nodes)
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

// ofPods returns what the containers of pods use. As in metrics-server, a pod is left out unless both answers of its kubelet have
// all its containers that run.
func (c Config) ofPods(ctx context.Context, pods ...*corev1.Pod) (all []runtime.Object, err error) {
	nodes, err := c.nodesOf(ctx, pods)
	if err != nil {
		return nil, err
	}
	measured, err := c.measure(ctx, nodes)
	for _, pod := range pods {
		if metrics := measured[pod.Spec.NodeName].pod(pod); metrics != nil {
			all = append(all, metrics)
		}
	}
	return all, err
}

// nodesOf returns the nodes that pods are on.
func (c Config) nodesOf(ctx context.Context, pods []*corev1.Pod) (nodes []*corev1.Node, err error) {
	names := sets.New[string]()
	for _, pod := range pods {
		names.Insert(pod.Spec.NodeName)
	}
	all, err := selected[*corev1.Node](ctx, c.Nodes, "", rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()})
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
