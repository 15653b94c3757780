package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
)

// validating is the plugin ValidatingAdmissionWebhook.
type validating struct{ plugin }

// Validate implements admission.ValidationInterface. It asks all webhooks at once. The error is
// that of the first one in their order.
func (p *validating) Validate(ctx context.Context, a *admission.Attributes) error {
	var hooks []*hook
	for _, h := range p.hooks {
		if h.matches(a) {
			hooks = append(hooks, h)
		}
	}
	if len(hooks) == 0 {
		return nil
	}
	request, err := newRequest(a)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	answers := make([]answer, len(hooks))
	var all sync.WaitGroup
	for i, h := range hooks {
		all.Go(func() {
			start := time.Now()
			response, err := h.ask(ctx, request, false)
			answers[i] = answer{response, err, time.Since(start)}
		})
	}
	all.Wait()
	var first error
	for i, h := range hooks { // the attributes are for one goroutine at a time
		err := answers[i].err
		if err == nil {
			h.tell(a, answers[i].response)
			if !answers[i].response.Allowed {
				err = h.denied(answers[i].response.Result)
			}
		}
		call := Call{Type: "validating", Took: answers[i].took}
		err = p.conclude(ctx, a, h, call, err, fmt.Sprintf("failed-open.validating.webhook.admission.k8s.io/round_0_index_%d", i))
		if first == nil {
			first = err
		}
	}
	return first
}

// answer is how a call has ended.
type answer struct {
	response *admissionv1.AdmissionResponse
	err      error
	took     time.Duration
}
