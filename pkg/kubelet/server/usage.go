package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"kube2014/pkg/kubelet/cri"
)

// Usage is what a machine uses.
type Usage struct {
	Node cri.Usage  // all of it
	Pods []PodUsage // those with a container that runs, in any order
}

// PodUsage is what a pod uses.
type PodUsage struct {
	Namespace, Name string
	cri.Usage
	Containers []ContainerUsage // those that run
}

// ContainerUsage is what a container uses.
type ContainerUsage struct {
	Name      string // unique in the pod
	StartedAt time.Time
	cri.Usage
}

var (
	podLabels       = []string{"pod", "namespace"}
	containerLabels = []string{"container", "pod", "namespace"}

	nodeCPU         = stable("node_cpu_usage_seconds_total", "Cumulative cpu time consumed by the node in core-seconds")
	nodeMemory      = stable("node_memory_working_set_bytes", "Current working set of the node in bytes")
	podCPU          = stable("pod_cpu_usage_seconds_total", "Cumulative cpu time consumed by the pod in core-seconds", podLabels...)
	podMemory       = stable("pod_memory_working_set_bytes", "Current working set of the pod in bytes", podLabels...)
	containerCPU    = stable("container_cpu_usage_seconds_total", "Cumulative cpu time consumed by the container in core-seconds", containerLabels...)
	containerMemory = stable("container_memory_working_set_bytes", "Current working set of the container in bytes", containerLabels...)
	containerStart  = stable("container_start_time_seconds", "Start time of the container since unix epoch in seconds", containerLabels...)
	scrapeError     = stable("resource_scrape_error", "1 if there was an error while getting container metrics, 0 otherwise")
)

// stable describes a metric that today's kubelet has, with its stability as there.
func stable(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, "[STABLE] "+help, labels, nil)
}

// resourceMetrics serves the usage of a host as metrics.
func resourceMetrics(host Host) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(usageCollector{host})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// usageCollector collects what a host uses, anew for each request.
type usageCollector struct{ host Host }

// Describe implements prometheus.Collector: without descriptions, what is collected is not compared with them.
func (usageCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c usageCollector) Collect(to chan<- prometheus.Metric) {
	at := time.Now().Truncate(time.Millisecond) // as exact as a timestamp is, or a rate would not be exact
	send := func(cpu, memory *prometheus.Desc, used cri.Usage, labels ...string) {
		to <- prometheus.NewMetricWithTimestamp(at, prometheus.MustNewConstMetric(cpu, prometheus.CounterValue, used.CPU, labels...))
		to <- prometheus.NewMetricWithTimestamp(at, prometheus.MustNewConstMetric(memory, prometheus.GaugeValue, used.Memory, labels...))
	}
	usage := c.host.Usage(at)
	send(nodeCPU, nodeMemory, usage.Node)
	for _, pod := range usage.Pods {
		send(podCPU, podMemory, pod.Usage, pod.Name, pod.Namespace)
		for _, container := range pod.Containers {
			send(containerCPU, containerMemory, container.Usage, container.Name, pod.Name, pod.Namespace)
			began := float64(container.StartedAt.UnixNano()) / float64(time.Second)
			to <- prometheus.MustNewConstMetric(containerStart, prometheus.GaugeValue, began, container.Name, pod.Name, pod.Namespace)
		}
	}
	to <- prometheus.MustNewConstMetric(scrapeError, prometheus.GaugeValue, 0)
}
