package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/admission"
)

// mutating is the plugin MutatingAdmissionWebhook.
type mutating struct{ plugin }

// Admit implements admission.MutationInterface. It asks one webhook after another.
func (p *mutating) Admit(ctx context.Context, a *admission.Attributes) error {
	seen := admission.Memory[rounds](a, p)
	seen.begin(a)
	defer seen.end(a)
	for i, h := range p.hooks {
		if !h.matches(a) || a.Reinvoked() && !seen.again[i] {
			continue
		}
		changed, err := p.ask(ctx, a, h, i)
		if changed {
			seen.changed()
			a.Reinvoke()
		}
		if h.ifNeeded {
			seen.asked[i] = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask lets a webhook change the object, and reports whether it has.
func (p *mutating) ask(ctx context.Context, a *admission.Attributes, h *hook, index int) (changed bool, err error) {
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
	response, err := h.ask(ctx, request, true)
	if err == nil {
		h.tell(a, response)
		if response.Allowed {
			changed, err = h.patch(a, request.Object.Raw, response)
		} else {
			err = h.denied(response.Result)
		}
	}
	call := Call{Type: string(admission.Admit), Took: time.Since(start)}
	a.Annotate(key, h.mutation(changed))
	return changed, p.conclude(ctx, a, h, call, err, "failed-open."+key)
}

// mutation is what the audit is told of a call.
func (h *hook) mutation(changed bool) string {
	text, _ := json.Marshal(struct { // which cannot fail
		Configuration string `json:"configuration"`
		Webhook       string `json:"webhook"`
		Mutated       bool   `json:"mutated"`
	}{h.configuration, h.name, changed})
	return string(text)
}

// rounds is what is known of a request between the two rounds. Webhooks are known by their index.
type rounds struct {
	asked map[int]bool   // those that are asked again if somebody changes the object
	again map[int]bool   // those that are asked in the second round
	last  runtime.Object // as the last round has left it, nil if nobody is to be asked again
}

// begin begins a round. The first round forgets what was before: the request may be tried again.
func (r *rounds) begin(a *admission.Attributes) {
	if !a.Reinvoked() {
		*r = rounds{asked: map[int]bool{}, again: map[int]bool{}}
	} else if r.last != nil && !apiequality.Semantic.DeepEqual(r.last, a.Object) {
		r.changed() // by another plugin
	}
}

// changed lets those who were asked be asked again.
func (r *rounds) changed() {
	for i := range r.asked {
		r.again[i] = true
	}
	clear(r.asked)
}

// end ends a round.
func (r *rounds) end(a *admission.Attributes) {
	if r.last = nil; len(r.asked) > 0 && a.Object != nil {
		r.last = a.Object.DeepCopyObject()
	}
}
