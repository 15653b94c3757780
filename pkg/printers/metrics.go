package printers

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// NodeMetrics prints *metricsv1beta1.NodeMetrics, and PodMetrics *metricsv1beta1.PodMetrics, as metrics-server does.
var (
	NodeMetrics = usageTable[metricsv1beta1.NodeMetrics](
		func(metrics *metricsv1beta1.NodeMetrics) corev1.ResourceList { return metrics.Usage },
		func(metrics *metricsv1beta1.NodeMetrics) metav1.Duration { return metrics.Window })
	PodMetrics = usageTable[metricsv1beta1.PodMetrics](
		func(metrics *metricsv1beta1.PodMetrics) corev1.ResourceList {
			sum := corev1.ResourceList{}
			for _, container := range metrics.Containers {
				for name, used := range container.Usage {
					used.Add(sum[name])
					sum[name] = used
				}
			}
			return sum
		},
		func(metrics *metricsv1beta1.PodMetrics) metav1.Duration { return metrics.Window })
)

func usageTable[T any](usage func(*T) corev1.ResourceList, window func(*T) metav1.Duration) Printer {
	used := func(name corev1.ResourceName) column {
		return with(text(string(name), "").as("quantity"), func(metrics *T) string {
			quantity := usage(metrics)[name]
			return quantity.String()
		})
	}
	return table[T](with(text("Name", "", "Name of the resource").as("name"), metav1.Object.GetName), used(corev1.ResourceCPU), used(corev1.ResourceMemory),
		with(text("Window", "").as("duration"), func(metrics *T) string { return window(metrics).Duration.String() }))
}
