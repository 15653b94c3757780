package metrics

import (
	"cmp"
	"context"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core/connect"
	"kube2014/pkg/util"
)

const (
	interval   = time.Second     // between the answers of a kubelet
	timeout    = 5 * time.Second // of each answer
	most       = 16              // how many kubelets are asked at once
	mostAnswer = 8 << 20         // bytes; a hundred pods have some 100 KiB
)

// measure returns two answers of the kubelets of nodes, by the names of the nodes. Those that do not answer are left out. The error is a
// timeout if the context ends.
func (c Config) measure(ctx context.Context, nodes []*corev1.Node) (map[string]measurement, error) {
	measured := make([]measurement, len(nodes))
	util.InParallel(len(nodes), most, func(i int) { measured[i].first = c.ask(ctx, nodes[i]) })
	if slices.ContainsFunc(measured, func(m measurement) bool { return m.first != nil }) {
		util.Sleep(ctx, interval)
	}
	util.InParallel(len(nodes), most, func(i int) {
		if measured[i].first != nil {
			measured[i].last = c.ask(ctx, nodes[i])
		}
	})
	byName := map[string]measurement{}
	for i, node := range nodes {
		byName[node.Name] = measured[i]
	}
	return byName, rest.CheckTime(ctx)
}

// ask returns the answer of a node's kubelet, nil for none.
func (c Config) ask(ctx context.Context, node *corev1.Node) answer {
	host, port := connect.KubeletOf(node)
	if port == 0 || c.Kubelets == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address, transport := c.Kubelets.At(host, port)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath("metrics/resource").String(), nil)
	if err != nil {
		return nil
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil
	}
	return parse(http.MaxBytesReader(nil, response.Body, mostAnswer), time.Now())
}

// series are those of an answer that are of interest, with where their value goes.
var series = map[string]func(*sample) *float64{
	"node_cpu_usage_seconds_total":       func(s *sample) *float64 { return &s.cpu },
	"node_memory_working_set_bytes":      func(s *sample) *float64 { return &s.memory },
	"container_cpu_usage_seconds_total":  func(s *sample) *float64 { return &s.cpu },
	"container_memory_working_set_bytes": func(s *sample) *float64 { return &s.memory },
	"container_start_time_seconds":       func(s *sample) *float64 { return &s.start },
}

// parse reads an answer in Prometheus' format that came at a time, nil if it is malformed. What tells no time was measured then.
func parse(text io.Reader, came time.Time) answer {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil
	}
	read := answer{}
	for name, field := range series {
		for _, metric := range families[name].GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			of := subject{labels["namespace"], labels["pod"], labels["container"]}
			s := read[of]
			value := field(&s)
			*value = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetUntyped().GetValue() // it has one of them
			if value == &s.cpu {
				if s.at = came; metric.TimestampMs != nil {
					s.at = time.UnixMilli(metric.GetTimestampMs())
				}
			}
			read[of] = s
		}
	}
	return read
}

// subject is what a kubelet measures: a container of a pod, or if it is empty the node.
type subject struct{ namespace, pod, container string }

// sample is what a kubelet tells of a subject. What it does not tell is 0.
type sample struct {
	at     time.Time // when the processor time was measured
	cpu    float64   // all processor time until then, in seconds
	memory float64   // the working set, in bytes
	start  float64   // of the container, in seconds since 1970
}

// answer is one answer of a kubelet. It is nil if there is none.
type answer map[subject]sample

// containers returns those of a pod, by name.
func (a answer) containers(namespace, pod string) (all []subject) {
	for of := range a {
		if of.namespace == namespace && of.pod == pod {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b subject) int { return cmp.Compare(a.container, b.container) })
	return all
}

// measurement is two answers of a kubelet.
type measurement struct{ first, last answer }

// usage is what a subject has used in the window that ended at a time.
type usage struct {
	at        time.Time
	window    time.Duration
	resources corev1.ResourceList
}

// usage returns what a subject has used, and whether that is known: a container that began between the answers may have used more
// than its counter tells.
func (m measurement) usage(of subject) (usage, bool) {
	first, last := m.first[of], m.last[of]
	window := last.at.Sub(first.at)
	cores := (last.cpu - first.cpu) / window.Seconds()
	complete := first.cpu > 0 && first.memory > 0 && last.cpu > 0 && last.memory > 0 // as in metrics-server
	isNumber := cores >= 0 && cores < math.MaxInt64/1e9 && last.memory < math.MaxInt64
	if !complete || !isNumber || window <= 0 || last.start != first.start {
		return usage{}, false
	}
	cpu, memory := resource.NewScaledQuantity(int64(math.Round(cores*1e9)), resource.Nano), resource.NewQuantity(int64(last.memory), resource.BinarySI)
	return usage{last.at, window, corev1.ResourceList{corev1.ResourceCPU: *cpu, corev1.ResourceMemory: *memory}}, true
}
