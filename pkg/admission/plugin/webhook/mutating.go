package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/admission"
)

// mutating is the plugin MutatingAdmissionWebhook.
type mutating struct{ *common }

// Admit implements admission.MutationInterface. It calls one webhook after another.
func (p *mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	state := admission.Memory[rounds](a, p)
	if err := state.begin(a, p.hooks); err != nil {
		return err
	}
	defer state.end(a)
	for i, h := range state.hooks {
		if a.Reinvoked() && !state.again[i] {
			continue
		}
		if matched, err := p.matches(ctx, h, a); err != nil {
			return err
		} else if !matched {
			continue
		}
		changed, err := p.call(ctx, a, h, i)
		if changed {
			state.changed()
			a.Reinvoke()
		}
		if h.ifNeeded {
			state.called[i] = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call lets a webhook change the object, and reports whether it has.
func (p *mutating) call(ctx context.Context, a *admission.Attributes, h *hook, index int) (changed bool, err error) {
	request, err := newRequest(a)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	round := 0
	if a.Reinvoked() {
		round = 1
	}
	key := fmt.Sprintf("mutation.webhook.admission.k8s.io/round_%d_index_%d", round, index)
	start := time.Now()
	response, err := h.call(ctx, request, true)
	if err == nil {
		h.report(a, response)
		if response.Allowed {
			changed, err = h.patch(a, request.Object.Raw, response)
		} else {
			err = h.denied(response.Result)
		}
	}
	call := Call{Type: p.callType, Took: time.Since(start)}
	a.Annotate(key, h.mutation(changed))
	return changed, p.conclude(ctx, a, h, call, err, "failed-open."+key)
}

// mutation returns the annotation of a call.
func (h *hook) mutation(changed bool) string {
	text, _ := json.Marshal(struct { // never fails
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.configuration, h.name, changed})
	return string(text)
}

// rounds is the state of a request during its two rounds. The keys are indices of webhooks.
type rounds struct {
	hooks  []*hook        // of both rounds
	called map[int]bool   // webhooks that are called again if the object changes
	again  map[int]bool   // webhooks of the second round
	last   runtime.Object // the object after the last round, nil if no webhook is called again
}

// begin begins a round. The first round resets the state, as a request may be retried.
func (r *rounds) begin(a *admission.Attributes, hooks func() ([]*hook, error)) (err error) {
	if !a.Reinvoked() {
		*r = rounds{called: map[int]bool{}, again: map[int]bool{}}
		r.hooks, err = hooks()
	} else if r.last != nil && !apiequality.Semantic.DeepEqual(r.last, a.Object) {
		r.changed() // by another plugin
	}
	return err
}

// changed adds the called webhooks to the second round.
func (r *rounds) changed() {
	maps.Copy(r.again, r.called)
	clear(r.called)
}

// end ends a round.
func (r *rounds) end(a *admission.Attributes) {
	if r.last = nil; len(r.called) > 0 && a.Object != nil {
		r.last = a.Object.DeepCopyObject()
	}
}
