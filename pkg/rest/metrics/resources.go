// Package metrics is the group of today's metrics-server: what machines and pods use. The server asks the kubelets itself,
// twice, when a client wants to know, and keeps nothing.
package metrics

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/generic"
)

// Config has the dependencies of the resources.
type Config struct {
	Nodes, Pods Objects       // what is measured: nodes and pods of core/v1
	Kubelets    core.Kubelets // nil for none
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
	nodes := rest.ClusterScoped(group, "NodeMetrics", "nodes", printers.NodeMetrics).With(nodeMetrics{c})
	pods := rest.InNamespaces(group, "PodMetrics", "pods", printers.PodMetrics).With(podMetrics{c})
	for _, row := range []*rest.Resource{&nodes, &pods} {
		row.Scheme, row.Stored, row.Singular = scheme, "", "" // as metrics-server has it
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
		objects[i], err = generic.ObjectIn[T](item, nil)
		return err
	})
}
