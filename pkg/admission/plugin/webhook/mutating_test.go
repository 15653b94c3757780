package webhook

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

// As kube-apiserver 1.36 asks, and tells the audit: most of these rows were recorded of it.
func TestAWebhookIsAskedAgainIfOthersChangeTheObjectAfterIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		hooks   string // of which + is asked again if needed; those with a capital letter add a label of their name
		asked   string
		mutated string // of each call, by round and index
	}{
		{"one changes", "+A", "A", "0.0 true"},
		{"one changes, before those who do not", "A +n m", "A n m", "0.0 true, 0.1 false, 0.2 false"},
		{"two change, and none wants to be asked", "A B", "A B", "0.0 true, 0.1 true"},
		{"two change, and the first wants to be asked", "+A B", "A B A", "0.0 true, 0.1 true, 1.0 false"},
		{"two change, and the second wants to be asked", "A +B", "A B", "0.0 true, 0.1 true"},
		{"two change, and both want to be asked", "+A +B", "A B A", "0.0 true, 0.1 true, 1.0 false"},
		{"nobody changes", "+n +m", "n m", "0.0 false, 0.1 false"},
		{"the second changes", "+n B", "n B n", "0.0 false, 0.1 true, 1.0 false"},
		{"the second of three changes", "+n +B +m", "n B m n", "0.0 false, 0.1 true, 0.2 false, 1.0 false"},
		{"the last of three changes", "+n m +C", "n m C n", "0.0 false, 0.1 false, 0.2 true, 1.0 false"},
		{"who is asked again changes again", "+Z B", "Z B Z", "0.0 true, 0.1 true, 1.0 true"},
		{"who is asked again changes again, and another wants to know", "+Z +B", "Z B Z B", "0.0 true, 0.1 true, 1.0 true, 1.1 false"},
	} {
		s := serve(t)
		times := 0
		s.answers["z"] = func(*admissionv1.AdmissionRequest) string { times++; return addLabel("z", fmt.Sprint(times)) }
		var hooks []fields
		for _, name := range strings.Fields(row.hooks) {
			plain := strings.ToLower(strings.Trim(name, "+"))
			if strings.ToUpper(plain) == strings.Trim(name, "+") && plain != "z" {
				s.answer(plain, addLabel(plain, "y"))
			}
			changes := fields{}
			if strings.HasPrefix(name, "+") {
				changes["reinvocationPolicy"] = "IfNeeded"
			}
			hooks = append(hooks, s.hook(plain, changes))
		}
		w := chainOf(t, "Mutating", nil, hooks...)
		pod, err := w.decide(t.Context(), newPod())
		require.NoError(t, err, row.name)
		assert.Equal(t, strings.Fields(strings.ToLower(row.asked)), s.paths, row.name)
		for _, name := range strings.Fields(row.hooks) {
			if name = strings.Trim(name, "+"); name != strings.ToLower(name) {
				assert.Contains(t, pod.Labels, strings.ToLower(name), row.name)
			}
		}
		want := map[string]string{}
		for one := range strings.SplitSeq(row.mutated, ", ") {
			var round, index int
			var mutated bool
			_, err := fmt.Sscanf(one, "%d.%d %t", &round, &index, &mutated)
			require.NoError(t, err)
			name := strings.Trim(strings.Fields(row.hooks)[index], "+")
			want[fmt.Sprintf("mutation.webhook.admission.k8s.io/round_%d_index_%d", round, index)] =
				fmt.Sprintf(`{"configuration":"config","webhook":"%s.example.com","mutated":%t}`, strings.ToLower(name), mutated)
		}
		assert.Equal(t, want, w.annotations, row.name)
	}
}

// changer is another plugin that changes the object, in the rounds in which it is to.
type changer struct{ first, second bool }

func (changer) Handles(admission.Operation) bool { return true }

func (c changer) Admit(_ context.Context, a *admission.Attributes) error {
	pod := a.Object.(*corev1.Pod)
	if c.first && !a.Reinvoked() {
		pod.Labels["first"] = "y"
	}
	if c.second && a.Reinvoked() {
		pod.Labels["second"] = "y"
	}
	return nil
}

func TestAWebhookIsAskedAgainIfAnotherPluginChangesTheObject(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string // of the other plugin: before MutatingAdmissionWebhook, or after it
		plugin changer
		policy string
		asked  []string
	}{
		{"Before", changer{}, "IfNeeded", []string{"a"}},
		{"Before", changer{first: true}, "IfNeeded", []string{"a"}},
		{"Before", changer{second: true}, "IfNeeded", []string{"a", "a"}},
		{"Before", changer{second: true}, "Never", []string{"a"}},
		{"Zafter", changer{}, "IfNeeded", []string{"a"}},
		{"Zafter", changer{first: true}, "IfNeeded", []string{"a", "a"}},
		{"Zafter", changer{first: true}, "Never", []string{"a"}},
		{"Zafter", changer{second: true}, "IfNeeded", []string{"a"}},
	} {
		s := serve(t)
		s.answer("a", addLabel("x", "y")) // without a change there is no second round
		w := chainOf(t, "Mutating", map[string]admission.Interface{row.name: row.plugin}, s.hook("a", fields{"reinvocationPolicy": row.policy}))
		_, err := w.decide(t.Context(), newPod())
		require.NoError(t, err)
		assert.Equal(t, row.asked, s.paths, "%s %+v %s", row.name, row.plugin, row.policy)
	}
}

func TestAWebhookThatWasNotAskedFirstIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	has := fields{"matchLabels": fields{"b": "y"}}
	hasNot := fields{"matchExpressions": []fields{{"key": "b", "operator": "DoesNotExist"}}}
	for _, row := range []struct {
		name     string
		selector fields
		first    bool // it stands before the one that changes
		asked    []string
	}{
		{"it is selected only afterwards", has, true, []string{"b"}},
		{"it is selected by what the one before has changed", has, false, []string{"b", "n"}},
		{"it is selected no more", hasNot, true, []string{"n", "b"}},
		{"it is not selected by what the one before has changed", hasNot, false, []string{"b"}},
	} {
		s := serve(t)
		s.answer("b", addLabel("b", "y"))
		hooks := []fields{s.hook("b", nil), s.hook("n", fields{"objectSelector": row.selector, "reinvocationPolicy": "IfNeeded"})}
		if row.first {
			hooks[0], hooks[1] = hooks[1], hooks[0]
		}
		_, err := chainOf(t, "Mutating", nil, hooks...).decide(t.Context(), newPod())
		require.NoError(t, err)
		assert.Equal(t, row.asked, s.paths, row.name)
	}
}

func TestARequestThatIsTriedAgainBeginsAnew(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("b", addLabel("b", "y"))
	w := chainOf(t, "Mutating", nil, s.hook("n", fields{"reinvocationPolicy": "IfNeeded"}), s.hook("b", nil))
	r := w.begin(t.Context(), creation())
	for range 2 {
		s.paths = nil
		_, err := r.Mutate(newPod(), nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"n", "b", "n"}, s.paths)
	}
}

func TestEachWebhookSeesWhatThoseBeforeHaveChanged(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("a", addLabel("c", "1"))
	s.answers["b"] = func(r *admissionv1.AdmissionRequest) string {
		assert.Contains(t, string(r.Object.Raw), `"c":"1"`)
		return patched(`[{"op":"test","path":"/metadata/labels/c","value":"1"},{"op":"replace","path":"/metadata/labels/c","value":"2"}]`)
	}
	before := newPod()
	pod, err := chainOf(t, "Mutating", nil, s.hook("a", nil), s.hook("b", nil)).decide(t.Context(), before)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "b", "c": "2"}, pod.Labels)
	assert.Equal(t, newPod(), before, "it may be somebody else's")
}

func TestAfterARefusalNobodyIsAsked(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("b", response(`"allowed":false,"status":{"message":"not so"}`))
	w := chainOf(t, "Mutating", nil, s.hook("a", nil), s.hook("b", fields{"failurePolicy": "Ignore"}), s.hook("c", nil))
	_, err := w.decide(t.Context(), newPod())
	assert.EqualError(t, err, `admission webhook "b.example.com" denied the request: not so`)
	assert.Equal(t, []string{"a", "b"}, s.paths)
	assert.Contains(t, w.annotations["mutation.webhook.admission.k8s.io/round_0_index_1"], `"mutated":false`)
}

func TestAfterAWebhookThatFailsOpenTheNextIsAsked(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.answer("a", "rubbish")
	w := chainOf(t, "Mutating", nil, s.hook("a", fields{"failurePolicy": "Ignore"}), s.hook("b", nil))
	_, err := w.decide(t.Context(), newPod())
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, s.paths)
	assert.Equal(t, map[string]string{
		"failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "a.example.com",
		"mutation.webhook.admission.k8s.io/round_0_index_0":             `{"configuration":"config","webhook":"a.example.com","mutated":false}`,
		"mutation.webhook.admission.k8s.io/round_0_index_1":             `{"configuration":"config","webhook":"b.example.com","mutated":false}`,
	}, w.annotations)
}
