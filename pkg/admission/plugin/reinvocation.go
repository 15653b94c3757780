package plugin

import (
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/admission"
)

// Reinvocation is the state of a mutating plugin during the two rounds of a request: who must see the object again. It is for one goroutine.
type Reinvocation[Key comparable] struct {
	Called map[Key]bool // who is called again if the object changes
	Again  map[Key]bool // who is called in the second round

	last runtime.Object // the object after the last round, nil if nobody is called again
}

// Begin begins a round. The first round resets the state, as a request may be retried.
func (r *Reinvocation[Key]) Begin(a *admission.Attributes) {
	if !a.Reinvoked() {
		*r = Reinvocation[Key]{Called: map[Key]bool{}, Again: map[Key]bool{}}
	} else if r.last != nil && !apiequality.Semantic.DeepEqual(r.last, a.Object) {
		r.Changed() // by another plugin
	}
}

// Changed adds who was called to the second round.
func (r *Reinvocation[Key]) Changed() {
	maps.Copy(r.Again, r.Called)
	clear(r.Called)
}

// End ends a round.
func (r *Reinvocation[Key]) End(a *admission.Attributes) {
	if r.last = nil; len(r.Called) > 0 && a.Object != nil {
		r.last = a.Object.DeepCopyObject()
	}
}
