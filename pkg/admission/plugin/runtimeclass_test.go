package plugin

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAPodGetsWhatItsRuntimeClassAdds(t *testing.T) {
	t.Parallel()
	const another, none = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead", "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
	cpu := func(text string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(text)} }
	gpu, all := corev1.Toleration{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}, corev1.Toleration{Operator: "Exists"}
	heavy := &nodev1.RuntimeClass{ObjectMeta: named("heavy"), Handler: "h", Overhead: &nodev1.Overhead{PodFixed: cpu("1")}}
	placed := &nodev1.RuntimeClass{ObjectMeta: named("placed"), Handler: "h", Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"a": "b"}, Tolerations: []corev1.Toleration{gpu}}}
	for name, row := range map[string]struct {
		class     string
		has, want corev1.PodSpec
		wrong     string
	}{
		"no class":                  {"", corev1.PodSpec{}, corev1.PodSpec{}, ""},
		"no class, but an overhead": {"", corev1.PodSpec{Overhead: cpu("1")}, corev1.PodSpec{}, none},
		"a class that is not":       {"nope", corev1.PodSpec{}, corev1.PodSpec{}, `pod rejected: RuntimeClass "nope" not found`},
		"an overhead":               {"heavy", corev1.PodSpec{}, corev1.PodSpec{Overhead: cpu("1")}, ""},
		"the same overhead":         {"heavy", corev1.PodSpec{Overhead: cpu("1000m")}, corev1.PodSpec{Overhead: cpu("1")}, ""},
		"another overhead":          {"heavy", corev1.PodSpec{Overhead: cpu("2")}, corev1.PodSpec{}, another},
		"an overhead beside":        {"placed", corev1.PodSpec{Overhead: cpu("2")}, corev1.PodSpec{}, none},
		"a place":                   {"placed", corev1.PodSpec{}, corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}, Tolerations: []corev1.Toleration{gpu}}, ""},
		"the same place": {"placed", corev1.PodSpec{NodeSelector: map[string]string{"a": "b", "c": "d"}, Tolerations: []corev1.Toleration{all}},
			corev1.PodSpec{NodeSelector: map[string]string{"a": "b", "c": "d"}, Tolerations: []corev1.Toleration{all}}, ""},
		"another place": {"placed", corev1.PodSpec{NodeSelector: map[string]string{"a": "c"}}, corev1.PodSpec{}, "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c"},
	} {
		pod := &corev1.Pod{Spec: row.has}
		if row.class != "" {
			pod.Spec.RuntimeClassName, row.want.RuntimeClassName = &row.class, &row.class
		}
		err := open(t, NewRuntimeClass).has("runtimeclasses", heavy, placed).decide(pods, "", pod, nil)
		if row.wrong != "" {
			isDecided(t, `pods "x" is forbidden: `+row.wrong, err, name)
			continue
		}
		isDecided(t, "", err, name)
		assert.Equal(t, row.want.NodeSelector, pod.Spec.NodeSelector, name)
		assert.Equal(t, row.want.Tolerations, pod.Spec.Tolerations, name)
		assert.True(t, row.want.Overhead.Cpu().Equal(*pod.Spec.Overhead.Cpu()), name)
	}
}

func TestOfTwoTolerationsTheWiderOneStays(t *testing.T) {
	t.Parallel()
	toleration := func(key, operator, value, effect string, seconds ...int64) corev1.Toleration {
		made := corev1.Toleration{Key: key, Operator: corev1.TolerationOperator(operator), Value: value, Effect: corev1.TaintEffect(effect)}
		for _, one := range seconds {
			made.TolerationSeconds = &one
		}
		return made
	}
	all, key, equal, other := toleration("", "Exists", "", ""), toleration("a", "Exists", "", ""), toleration("a", "Equal", "b", "NoSchedule"), toleration("a", "Equal", "c", "NoSchedule")
	short, long, ever := toleration("a", "Exists", "", "NoExecute", 5), toleration("a", "Exists", "", "NoExecute", 300), toleration("a", "Exists", "", "NoExecute")
	strange := toleration("a", "Perhaps", "", "")
	for name, row := range map[string]struct{ first, second, want []corev1.Toleration }{
		"none":           {nil, nil, nil},
		"equal":          {[]corev1.Toleration{key}, []corev1.Toleration{key}, []corev1.Toleration{key}},
		"all":            {[]corev1.Toleration{equal, short}, []corev1.Toleration{all}, []corev1.Toleration{all}},
		"a key":          {[]corev1.Toleration{key}, []corev1.Toleration{equal}, []corev1.Toleration{key}},
		"another value":  {[]corev1.Toleration{equal}, []corev1.Toleration{other}, []corev1.Toleration{equal, other}},
		"another effect": {[]corev1.Toleration{equal}, []corev1.Toleration{ever}, []corev1.Toleration{equal, ever}},
		"longer":         {[]corev1.Toleration{short}, []corev1.Toleration{long}, []corev1.Toleration{long}},
		"shorter":        {[]corev1.Toleration{long}, []corev1.Toleration{short}, []corev1.Toleration{long}},
		"for ever":       {[]corev1.Toleration{long}, []corev1.Toleration{ever}, []corev1.Toleration{ever}},
		"unknown":        {[]corev1.Toleration{strange}, []corev1.Toleration{equal}, []corev1.Toleration{strange, equal}},
	} {
		assert.Equal(t, row.want, mergeTolerations(row.first, row.second), name)
	}
}
