package deployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// state is the state of a replica set: how many pods it wants, has, and has available.
type state struct {
	wants, has, available int32
	terminating           int32
	isBehind, isDeleted   bool
	told, most            string // in its annotations; empty: 10 and 13
}

func (s state) set(name, image string, age int) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 2, Annotations: map[string]string{},
		CreationTimestamp: metav1.NewTime(time.Unix(1000-int64(age), 0))}}
	set.Annotations[desiredAnnotation], set.Annotations[maxAnnotation] = "10", "13"
	if s.told != "" {
		set.Annotations[desiredAnnotation], set.Annotations[maxAnnotation] = s.told, s.most
	}
	set.Spec.Replicas, set.Spec.Template = &s.wants, templateOf(image)
	set.Status = appsv1.ReplicaSetStatus{Replicas: s.has, ReadyReplicas: s.available, AvailableReplicas: s.available,
		TerminatingReplicas: &s.terminating, ObservedGeneration: 2}
	if s.isBehind {
		set.Status.ObservedGeneration = 1
	}
	if s.isDeleted {
		set.DeletionTimestamp = new(metav1.Now())
	}
	return set
}

func templateOf(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
}

// steady is the state of a replica set that has what it wants.
func steady(pods int32) state { return state{wants: pods, has: pods, available: pods} }

// newRow returns a rollout of a deployment that wants 10 pods, with up to 3 more, of which up to 2 may be unavailable. The old
// replica sets are from the oldest to the youngest.
func newRow(current *state, old ...state) *rollout {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "d"}}
	d.Spec.Replicas, d.Spec.Template, d.Spec.Selector = new(int32(10)), templateOf("new"), &metav1.LabelSelector{}
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: new(intstr.FromInt32(3)), MaxUnavailable: new(intstr.FromInt32(2))}}
	var sets []*appsv1.ReplicaSet
	for i, s := range old {
		sets = append(sets, s.set(string(rune('a'+i)), "old", 10-i))
	}
	if current != nil {
		sets = append(sets, current.set("new", "new", 0))
	}
	return newRollout(d, sets)
}

// planned returns the sizes of all replica sets after the plan.
func planned(r *rollout) map[string]int {
	sizes := map[string]int{}
	for _, set := range r.all() {
		sizes[set.Name] = replicas(set)
	}
	for _, change := range r.plan() {
		name := change.to.Name
		if change.from.UID == "" {
			name = "new"
		}
		sizes[name] = replicas(change.to)
	}
	return sizes
}

// K109.
func TestTheNextStepOfARollingUpdate(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		current *state
		old     []state
		want    map[string]int
	}{
		"it begins":                    {nil, []state{steady(10)}, map[string]int{"new": 3, "a": 8}},
		"there is nothing to replace":  {nil, nil, map[string]int{"new": 10}},
		"nothing new is available":     {&state{wants: 5, has: 5}, []state{steady(8)}, map[string]int{"new": 5, "a": 8}},
		"some of the new is available": {&state{wants: 5, has: 5, available: 2}, []state{steady(8)}, map[string]int{"new": 5, "a": 6}},
		"deleted pods make room":       {&state{wants: 5, has: 5, available: 2}, []state{steady(6)}, map[string]int{"new": 7, "a": 6}},
		"pods that are still to be deleted do not": {&state{wants: 5, has: 5, available: 2}, []state{{wants: 6, has: 8, available: 8}},
			map[string]int{"new": 5, "a": 6}},
		"they are not counted as available": {&state{wants: 5, has: 5, available: 2}, []state{{wants: 5, has: 8, available: 8}},
			map[string]int{"new": 5, "a": 5}},
		"an old one may still make pods": {&state{wants: 5, has: 5, available: 2}, []state{{wants: 6, has: 6, available: 6, isBehind: true}},
			map[string]int{"new": 5, "a": 6}},
		"one that is deleted makes none": {&state{wants: 5, has: 5, available: 2}, []state{{wants: 2, has: 2, available: 2, isBehind: true, isDeleted: true}, steady(6)},
			map[string]int{"new": 5, "a": 2, "b": 6}},
		"one that is deleted leaves no available pods": {&state{wants: 5, has: 5, available: 5}, []state{{wants: 3, has: 3, available: 3, isDeleted: true}, steady(5)},
			map[string]int{"new": 5, "a": 3, "b": 3}},
		"the new one may be behind itself": {&state{wants: 2, isBehind: true}, []state{steady(8)}, map[string]int{"new": 5, "a": 8}},
		"the new one deletes pods itself":  {&state{wants: 2, has: 4, available: 4}, []state{steady(6)}, map[string]int{"new": 2, "a": 6}},
		"what is not available goes first": {&state{wants: 1, has: 1}, []state{{wants: 6, has: 6, available: 6}, {wants: 4, has: 4, available: 1}},
			map[string]int{"new": 3, "a": 6, "b": 2}},
		"of what is not available, no more goes than may": {&state{wants: 4, has: 4}, []state{{wants: 5, has: 5, available: 0}, {wants: 5, has: 5, available: 2}},
			map[string]int{"new": 4, "a": 3, "b": 5}},
		"the oldest goes first":            {&state{wants: 5, has: 5, available: 3}, []state{steady(2), steady(6)}, map[string]int{"new": 5, "a": 0, "b": 5}},
		"the new one has more than wanted": {&state{wants: 12, has: 12, available: 12}, []state{steady(0)}, map[string]int{"new": 10, "a": 0}},
		"the rest goes":                    {&state{wants: 10, has: 10, available: 10}, []state{steady(3)}, map[string]int{"new": 10, "a": 0}},
		"the new one is being deleted":     {&state{wants: 2, has: 2, available: 2, isDeleted: true}, []state{steady(8)}, map[string]int{"new": 2, "a": 8}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, planned(newRow(row.current, row.old...)))
		})
	}
}

func TestTheNextStepOfAScaledRollout(t *testing.T) {
	t.Parallel()
	old := func(s state) []state { return []state{s} }
	for name, row := range map[string]struct {
		replicas int32
		current  *state
		old      []state
		want     map[string]int
	}{
		"up":                        {30, &state{wants: 5, has: 5}, old(steady(8)), map[string]int{"new": 13, "a": 20}},
		"down":                      {5, &state{wants: 5, has: 5}, old(steady(8)), map[string]int{"new": 3, "a": 5}},
		"to nothing":                {0, &state{wants: 5, has: 5}, old(steady(8)), map[string]int{"new": 0, "a": 0}},
		"as many as there are":      {9, &state{wants: 4, has: 4}, old(steady(8)), map[string]int{"new": 4, "a": 8}},
		"up, but others are behind": {30, &state{wants: 5, has: 5}, old(state{wants: 8, has: 8, isBehind: true}), map[string]int{"new": 5, "a": 8}},
		"up, but some delete pods":  {30, &state{wants: 5, has: 5}, old(state{wants: 8, has: 9}), map[string]int{"new": 5, "a": 8}},
		"of equal ones the younger grows first, by what is over": {11, &state{wants: 6, has: 6}, old(steady(6)), map[string]int{"new": 8, "a": 6}},
		"shares that are rounded up are no more than there is":   {12, &state{wants: 5, has: 5}, []state{steady(4), steady(4)}, map[string]int{"new": 6, "a": 4, "b": 5}},
		"only one is active":                         {20, &state{}, old(steady(10)), map[string]int{"new": 0, "a": 20}},
		"only one is active, others still have pods": {20, &state{wants: 10, has: 10, available: 10}, old(state{has: 5}), map[string]int{"new": 18, "a": 0}},
		"without what it was told, the pods that there are count": {20, &state{wants: 5, has: 5}, old(state{wants: 8, has: 8, told: "x", most: "x"}),
			map[string]int{"new": 9, "a": 14}},
		"all wanted pods are there": {10, &state{wants: 10, has: 10, available: 10}, old(state{wants: 3, has: 3, told: "3", most: "4"}), map[string]int{"new": 10, "a": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRow(row.current, row.old...)
			r.d.Spec.Replicas, r.d.Status.Replicas = new(row.replicas), 13
			assert.Equal(t, row.want, planned(r))
		})
	}
}

func TestRecreateWaitsForAReplicaSetThatMayStillMakePods(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		old  state
		want map[string]int
	}{
		"it has seen its size":     {state{}, map[string]int{"new": 10, "a": 0}},
		"it has not":               {state{isBehind: true}, map[string]int{"a": 0}},
		"it has pods":              {state{has: 1}, map[string]int{"a": 0}},
		"some are being deleted":   {state{terminating: 1}, map[string]int{"a": 0}},
		"it is to get no pods yet": {state{wants: 1}, map[string]int{"a": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRow(nil)
			r.d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
			old := row.old.set("a", "old", 1)
			assert.Equal(t, row.want, planned(newRollout(r.d, []*appsv1.ReplicaSet{old})))
		})
	}
}

// Otherwise what it was told would hold up the next rollout for ever.
func TestAReplicaSetThatAnotherHasScaledIsToldWhatIsWanted(t *testing.T) {
	t.Parallel()
	changes := newRow(nil, state{wants: 10, has: 10, available: 10, told: "5", most: "7"}).plan()
	assert.Len(t, changes, 1)
	assert.Equal(t, "10", changes[0].to.Annotations[desiredAnnotation])
	assert.Equal(t, "13", changes[0].to.Annotations[maxAnnotation])
}

func TestNamesOfReplicaSetsAreStable(t *testing.T) {
	t.Parallel()
	template := templateOf("one")
	hash := hashOf(&template, nil)
	assert.Equal(t, "68c8ffccdf", hash, "an older program may have asked for this name")
	assert.Equal(t, hash, hashOf(with(template, "pod-template-hash", "x"), nil), "its own label is no part of it")
	assert.NotEqual(t, hash, hashOf(with(template, "a", "b"), nil))
	assert.NotEqual(t, hash, hashOf(&template, new(int32(0))))
	assert.NotEqual(t, hashOf(&template, new(int32(1))), hashOf(&template, new(int32(2))))
}

func with(template corev1.PodTemplateSpec, label, value string) *corev1.PodTemplateSpec {
	template.Labels = map[string]string{label: value}
	return &template
}
