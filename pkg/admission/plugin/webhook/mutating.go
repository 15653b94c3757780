package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/matching"
)

// mutating is the plugin MutatingAdmissionWebhook.
type mutating struct{ *common }

// Admit implements admission.MutationInterface. It calls one webhook after another.
func (p *mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	state := admission.Memory[rounds](a, p)
	if !a.Reinvoked() {
		hooks, err := p.hooks()
		if err != nil {
			return err
		}
		state.hooks = hooks
	}
	state.Begin(a)
	defer state.End(a)
	for i, h := range state.hooks {
		if a.Reinvoked() && !state.Again[i] {
			continue
		}
		view, matched, err := p.matches(ctx, h, a)
		if err != nil {
			return err
		} else if !matched {
			continue
		}
		changed, err := p.call(ctx, a, view, h, i)
		if changed {
			state.Changed()
			a.Reinvoke()
		}
		if h.ifNeeded {
			state.Called[i] = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// call lets a webhook change the object, and reports whether it has.
func (p *mutating) call(ctx context.Context, a *admission.Attributes, view matching.View, h *hook, index int) (changed bool, err error) {
	request, err := newRequest(view, a)
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
			changed, err = p.patch(a, view, h, request.Object.Raw, response)
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
	plugin.Reinvocation[int]
	hooks []*hook // of both rounds
}
