package managers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheSameSeedMakesTheSameSteps(t *testing.T) {
	t.Parallel()
	steps := func(seed uint64) (all []string) {
		for i := range kinds {
			h := newHistory(i, seed)
			for _, s := range h.steps {
				all = append(all, tell(s.request(h.kind, "x", nil)))
			}
		}
		return all
	}
	assert.Equal(t, steps(1), steps(1))
	assert.NotEqual(t, steps(1), steps(2))
}

func TestAListIsMergedByItsKeys(t *testing.T) {
	t.Parallel()
	o := parsed(`{spec: {containers: [{name: a, image: x}], set: [1]}}`)
	merge(o, parsed(`{spec: {containers: [{name: b}, {name: a, image: "y"}], set: [2]}}`))
	assert.Equal(t, parsed(`{spec: {containers: [{name: a, image: "y"}, {name: b}], set: [2]}}`), o)
}

func TestOnlyLinesThatDifferAreTold(t *testing.T) {
	t.Parallel()
	assert.Empty(t, diff("a\nb", "a\nb"))
	assert.Equal(t, "  a\n- b\n+ c", diff("a\nb\nd", "a\nc\nd"))
}

func TestWhatEachServerChoosesIsMasked(t *testing.T) {
	t.Parallel()
	h := &history{}
	one := h.normal(h.normalAnswer([]byte(`{"metadata": {"name": "x1", "uid": "a", "managedFields": [{"manager": "b", "time": "t"}, {"manager": "a"}]}}`)), "x1")
	two := h.normal(h.normalAnswer([]byte(`{"metadata": {"name": "x2", "uid": "b", "managedFields": [{"manager": "a"}, {"manager": "b", "time": "u"}]}}`)), "x2")
	assert.Equal(t, one, two)
	other := h.normal(h.normalAnswer([]byte(`{"metadata": {"name": "x2", "uid": "b", "managedFields": [{"manager": "a"}, {"manager": "b"}]}}`)), "x2")
	assert.NotEqual(t, one, other, "a time is there, or not")
}
