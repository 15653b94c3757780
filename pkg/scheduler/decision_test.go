package scheduler

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func tainted(taints ...corev1.Taint) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Spec.Taints = taints }
}

func tolerating(tolerations ...corev1.Toleration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Tolerations = tolerations }
}

func nodeLabels(labels map[string]string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels = labels }
}

func wanting(terms ...corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
	}
}

func expression(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func nameIs(operator corev1.NodeSelectorOperator, names ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: operator, Values: names}}}
}

func on(node string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeName = node }
}

func ended(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }

func version(pod *corev1.Pod) { pod.Labels["version"] = "2" }

func podsAtMost(count string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(count)}
	}
}

// K75.
func TestAFilterSaysWhyANodeIsNotOneForAPod(t *testing.T) {
	t.Parallel()
	const (
		taintReason    = "node(s) had untolerated taint(s)"
		selectorReason = "node(s) didn't match Pod's node affinity/selector"
		portReason     = "node(s) didn't have free ports for the requested pod ports"
	)
	dedicated := corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}
	newcomer := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
	zone := nodeLabels(map[string]string{"zone": "a", "size": "7"})
	for _, test := range []struct {
		name    string
		node    []func(*corev1.Node)
		pod     []func(*corev1.Pod)
		there   []*corev1.Pod
		reasons []string
	}{
		{name: "a node that tells nothing", pod: with(requesting("1000", "1Ti"), withHostPort(80))},
		{name: "cordoned", node: of(cordoned(true)), reasons: []string{"node(s) were unschedulable"}},
		{name: "cordoned and tolerated", node: of(cordoned(true)),
			pod: with(tolerating(corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists}))},
		{name: "ready", node: of(ready(corev1.ConditionTrue))},
		{name: "not ready", node: of(ready(corev1.ConditionFalse)), reasons: []string{"node(s) were not ready"}},
		{name: "perhaps ready", node: of(ready(corev1.ConditionUnknown)), reasons: []string{"node(s) were not ready"}},
		{name: "the first filter speaks alone", node: of(ready(corev1.ConditionFalse), cordoned(true)), reasons: []string{"node(s) were unschedulable"}},

		{name: "a taint", node: of(tainted(dedicated)), reasons: []string{taintReason}},
		{name: "a taint that is only a wish", node: of(tainted(corev1.Taint{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}))},
		{name: "a taint that also drives away", node: of(tainted(corev1.Taint{Key: "a", Effect: corev1.TaintEffectNoExecute})), reasons: []string{taintReason}},
		{name: "tolerated by value", node: of(tainted(dedicated)), pod: with(tolerating(corev1.Toleration{Key: "dedicated", Value: "db"}))},
		{name: "tolerated by name", node: of(tainted(dedicated)), pod: with(tolerating(corev1.Toleration{Key: "dedicated", Operator: "Exists"}))},
		{name: "all tolerated", node: of(tainted(dedicated)), pod: with(tolerating(corev1.Toleration{Operator: "Exists"}))},
		{name: "another value", node: of(tainted(dedicated)), pod: with(tolerating(corev1.Toleration{Key: "dedicated", Value: "web"})),
			reasons: []string{taintReason}},
		{name: "another effect", node: of(tainted(dedicated)), reasons: []string{taintReason},
			pod: with(tolerating(corev1.Toleration{Key: "dedicated", Operator: "Exists", Effect: corev1.TaintEffectNoExecute}))},
		{name: "an unknown operator", node: of(tainted(dedicated)), pod: with(tolerating(corev1.Toleration{Key: "dedicated", Operator: "Gt", Value: "db"})),
			reasons: []string{taintReason}},
		{name: "one of two tolerated", node: of(tainted(dedicated, corev1.Taint{Key: "b", Effect: corev1.TaintEffectNoSchedule})),
			pod: with(tolerating(corev1.Toleration{Key: "dedicated", Value: "db"})), reasons: []string{taintReason}},
		{name: "new", node: of(tainted(newcomer)), reasons: []string{taintReason}},
		{name: "new, but ready", node: of(tainted(newcomer), ready(corev1.ConditionTrue))},
		{name: "ready again", node: of(tainted(corev1.Taint{Key: "node.kubernetes.io/unreachable", Effect: corev1.TaintEffectNoSchedule}), ready(corev1.ConditionTrue))},
		{name: "ready, but it drives away", node: of(tainted(corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute}), ready(corev1.ConditionTrue)),
			reasons: []string{taintReason}},
		{name: "uncordoned", node: of(tainted(cordon))},

		{name: "selected", node: of(zone), pod: with(selecting("zone", "a"))},
		{name: "not selected", node: of(zone), pod: with(selecting("zone", "b")), reasons: []string{selectorReason}},
		{name: "without labels", pod: with(selecting("zone", "a")), reasons: []string{selectorReason}},
		{name: "wanted", node: of(zone), pod: with(wanting(expression("zone", "In", "b", "a")))},
		{name: "not wanted", node: of(zone), pod: with(wanting(expression("zone", "NotIn", "a"))), reasons: []string{selectorReason}},
		{name: "more than", node: of(zone), pod: with(wanting(expression("size", "Gt", "6")))},
		{name: "not less than", node: of(zone), pod: with(wanting(expression("size", "Lt", "7"))), reasons: []string{selectorReason}},
		{name: "there", node: of(zone), pod: with(wanting(expression("size", "Exists")))},
		{name: "not missing", node: of(zone), pod: with(wanting(expression("size", "DoesNotExist"))), reasons: []string{selectorReason}},
		{name: "one of two terms", node: of(zone), pod: with(wanting(expression("zone", "In", "b"), expression("size", "Exists")))},
		{name: "wanted but not selected", node: of(zone), pod: with(wanting(expression("size", "Exists")), selecting("zone", "b")),
			reasons: []string{selectorReason}},
		{name: "an empty term", node: of(zone), pod: with(wanting(corev1.NodeSelectorTerm{})), reasons: []string{selectorReason}},
		{name: "a mistake", node: of(zone), pod: with(wanting(expression("size", "Gt", "x"))), reasons: []string{selectorReason}},
		{name: "an unknown operator of an affinity", node: of(zone), pod: with(wanting(expression("size", "Like", "7"))), reasons: []string{selectorReason}},
		{name: "by name", pod: with(wanting(nameIs("In", "n")))},
		{name: "not by name", pod: with(wanting(nameIs("NotIn", "n"))), reasons: []string{selectorReason}},
		{name: "by an unknown field", reasons: []string{selectorReason}, pod: with(wanting(corev1.NodeSelectorTerm{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.uid", Operator: "In", Values: []string{"n"}}}}))},

		{name: "a taken port", pod: with(withHostPort(80)), there: some(makePod("p", on("n"), withHostPort(80))), reasons: []string{portReason}},
		{name: "a taken port of a pod that ended", pod: with(withHostPort(80)), there: some(makePod("p", on("n"), withHostPort(80), ended)),
			reasons: []string{portReason}},
		{name: "another port", pod: with(withHostPort(81)), there: some(makePod("p", on("n"), withHostPort(80)))},
		{name: "a port of another node", pod: with(withHostPort(80)), there: some(makePod("p", on("m"), withHostPort(80)))},

		{name: "just enough", node: of(having("1", "1Gi")), pod: with(requesting("600m", "512Mi")),
			there: some(makePod("p", on("n"), requesting("400m", "512Mi")))},
		{name: "too little", node: of(having("1", "1Gi")), pod: with(requesting("601m", "513Mi")),
			there: some(makePod("p", on("n"), requesting("400m", "512Mi"))), reasons: []string{"Insufficient cpu", "Insufficient memory"}},
		{name: "what an ended pod had", node: of(having("1", "")), pod: with(requesting("1", "")), there: some(makePod("p", on("n"), requesting("1", ""), ended))},
		{name: "nothing is requested of a full node", node: of(having("1", "")), there: some(makePod("p", on("n"), requesting("2", "")))},
		{name: "nothing is there", node: of(having("0", "")), pod: with(requesting("1m", "")), reasons: []string{"Insufficient cpu"}},
		{name: "far too much", node: of(having("1E", "1E")), pod: with(requesting("1e30", "8Ei")), reasons: []string{"Insufficient cpu", "Insufficient memory"}},
		{name: "a device", node: of(withDevices("2")), pod: with(wantingOf("a.b/gpu", "1")), there: some(makePod("p", on("n"), wantingOf("a.b/gpu", "1")))},
		{name: "one device too few", node: of(withDevices("2")), pod: with(wantingOf("a.b/gpu", "2")), there: some(makePod("p", on("n"), wantingOf("a.b/gpu", "1"))),
			reasons: []string{"Insufficient a.b/gpu"}},
		{name: "a device that an ended pod had", node: of(withDevices("1")), pod: with(wantingOf("a.b/gpu", "1")), there: some(makePod("p", on("n"), wantingOf("a.b/gpu", "1"), ended))},
		{name: "a device that no node has", pod: with(wantingOf("a.b/gpu", "1")), reasons: []string{"Insufficient a.b/gpu"}},
		{name: "two kinds of devices", node: of(withDevices("0")), pod: with(wantingOf("c.d/fpga", "1"), wantingOf("a.b/gpu", "1")),
			reasons: []string{"Insufficient a.b/gpu", "Insufficient c.d/fpga"}},
		{name: "local storage that a node does not tell of", pod: with(wantingOf("ephemeral-storage", "1Gi"))},
		{name: "room for a pod", node: of(podsAtMost("2")), there: some(makePod("p", on("n")), makePod("q", on("n"), ended))},
		{name: "too many pods", node: of(podsAtMost("1")), there: some(makePod("p", on("n"))), reasons: []string{"Too many pods"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newSchedulerCache()
			c.setNode(makeNode("n", test.node...))
			for _, pod := range test.there {
				c.setPod(pod)
			}
			assert.Equal(t, test.reasons, misfits(wantedBy(&makePod("web", test.pod...).Spec), c.nodes["n"]))
		})
	}
}

func with(edits ...func(*corev1.Pod)) []func(*corev1.Pod) { return edits }
func of(edits ...func(*corev1.Node)) []func(*corev1.Node) { return edits }
func some(pods ...*corev1.Pod) []*corev1.Pod              { return pods }

func selecting(label, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{label: value} }
}

func TestWhyAPodIsNotPlacedIsToldInTodaysWords(t *testing.T) {
	t.Parallel()
	c := newSchedulerCache()
	pod := makePod("web", requesting("2", "2Gi"))
	_, err := c.assume(pod, nil)
	require.EqualError(t, err, "no nodes available to schedule pods")
	for name, edit := range map[string][]func(*corev1.Node){
		"a": of(cordoned(true)), "b": of(having("1", "1Gi")), "c": of(having("1", "")), "d": of(podsAtMost("0"))} {
		c.setNode(makeNode(name, edit...))
	}
	_, err = c.assume(pod, nil)
	require.EqualError(t, err, "0/4 nodes are available: 1 Insufficient memory, 1 Too many pods, 1 node(s) were unschedulable, 2 Insufficient cpu.")
}

func TestTheNodeWithTheHighestScoreIsChosen(t *testing.T) {
	t.Parallel()
	web := []map[string]string{{"app": "web"}}
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		there []*corev1.Pod
		want  string
	}{
		{"the larger one", []*corev1.Node{makeNode("a", having("2", "2Gi")), makeNode("b", having("4", "4Gi"))}, nil, "b"},
		{"the emptier one", []*corev1.Node{makeNode("a", having("4", "")), makeNode("b", having("4", ""))}, some(makePod("p", on("a"), requesting("1", ""))), "b"},
		{"the one with fewer pods that request nothing", []*corev1.Node{makeNode("a", having("4", "4Gi")), makeNode("b", having("4", "4Gi"))},
			some(makePod("p", on("a"))), "b"},
		{"the one that tells what it has", []*corev1.Node{makeNode("a"), makeNode("b", having("4", "4Gi"))}, nil, "b"},
		{"the one without pods alike", []*corev1.Node{makeNode("a"), makeNode("b"), makeNode("c")},
			some(makePod("p", on("a"), labelled("web")), makePod("q", on("b"), labelled("web")), makePod("r", on("c"), labelled("db"))), "c"},
		{"the one with the fewest pods alike", []*corev1.Node{makeNode("a"), makeNode("b")},
			some(makePod("p", on("a"), labelled("web")), makePod("q", on("a"), labelled("web")), makePod("r", on("b"), labelled("web"))), "b"},
		{"the one with the fewest pods alike, which have other labels too", []*corev1.Node{makeNode("a"), makeNode("b")},
			some(makePod("p", on("a"), labelled("web")), makePod("q", on("a"), labelled("web"), version), makePod("r", on("b"), labelled("web"))), "b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newSchedulerCache()
			for _, node := range test.nodes {
				c.setNode(node)
			}
			for _, pod := range test.there {
				c.setPod(pod)
			}
			node, err := c.assume(makePod("next", labelled("web"), requesting("100m", "")), web)
			require.NoError(t, err)
			assert.Equal(t, test.want, node)
		})
	}
}

func TestManyHugeRequestsAreTooMuch(t *testing.T) {
	t.Parallel()
	huge := corev1.Container{Resources: corev1.ResourceRequirements{Requests: list("9E", "9E")}}
	containers := slices.Repeat([]corev1.Container{huge}, 5000)
	for _, spec := range []corev1.PodSpec{{Containers: containers}, {InitContainers: containers}, {Containers: containers, Overhead: list("9E", "9E")}} {
		assert.Equal(t, amounts{tooMuch, tooMuch}, requestsOf(&spec))
	}
}

func TestAPodRequestsWhatRunsAtOneTime(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	container := func(cpu string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(cpu, "")}}
	}
	sidecar := func(cpu string) corev1.Container {
		sidecar := container(cpu)
		sidecar.RestartPolicy = &always
		return sidecar
	}
	for _, test := range []struct {
		name string
		spec corev1.PodSpec
		want int64
	}{
		{"nothing", corev1.PodSpec{}, 0},
		{"containers", corev1.PodSpec{Containers: []corev1.Container{container("1"), container("2")}}, 3000},
		{"a small init container", corev1.PodSpec{InitContainers: []corev1.Container{container("1")}, Containers: []corev1.Container{container("2")}}, 2000},
		{"a large init container", corev1.PodSpec{InitContainers: []corev1.Container{container("5")}, Containers: []corev1.Container{container("2")}}, 5000},
		{"a sidecar", corev1.PodSpec{InitContainers: []corev1.Container{sidecar("1")}, Containers: []corev1.Container{container("2")}}, 3000},
		{"an init container after a sidecar", corev1.PodSpec{InitContainers: []corev1.Container{sidecar("1"), container("5")},
			Containers: []corev1.Container{container("2")}}, 6000},
		{"an init container before a sidecar", corev1.PodSpec{InitContainers: []corev1.Container{container("5"), sidecar("1")},
			Containers: []corev1.Container{container("2")}}, 5000},
		{"what starting it costs", corev1.PodSpec{Overhead: list("1", ""), Containers: []corev1.Container{container("2")}}, 3000},
		{"the pod as a whole", corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: list("4", "")},
			Containers: []corev1.Container{container("2")}}, 4000},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, amounts{cpu: test.want}, requestsOf(&test.spec))
		})
	}
}

// wantingOf adds a container that requests another resource.
func wantingOf(name corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{name: resource.MustParse(amount)}}})
	}
}

func withDevices(amount string) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Allocatable = corev1.ResourceList{"a.b/gpu": resource.MustParse(amount)}
	}
}
