package webhook

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
)

// validating is the plugin ValidatingAdmissionWebhook.
type validating struct{ *common }

// Validate implements admission.ValidationInterface. It calls all webhooks concurrently, and returns
// the error of the first one in their order.
func (p *validating) Validate(ctx context.Context, a *admission.Attributes) error {
	known, err := p.hooks()
	if err != nil {
		return err
	}
	var hooks []*hook
	var requests []*admissionv1.AdmissionRequest
	in := map[matching.Version]*admissionv1.AdmissionRequest{}
	for _, h := range known {
		view, matched, err := p.matches(ctx, h, a)
		if err != nil {
			return err
		} else if !matched {
			continue
		}
		if in[view.Version] == nil {
			if in[view.Version], err = newRequest(view, a); err != nil {
				return apierrors.NewInternalError(err)
			}
		}
		hooks, requests = append(hooks, h), append(requests, in[view.Version])
	}
	type answer struct {
		response *admissionv1.AdmissionResponse
		err      error
		took     time.Duration
	}
	answers := make([]answer, len(hooks))
	var all sync.WaitGroup
	for i, h := range hooks {
		all.Go(func() {
			start := time.Now()
			response, err := h.call(ctx, requests[i], false)
			answers[i] = answer{response, err, time.Since(start)}
		})
	}
	all.Wait()
	var first error
	for i, h := range hooks { // the attributes are for one goroutine at a time
		response, err := answers[i].response, answers[i].err
		if err == nil {
			h.report(a, response)
			if !response.Allowed {
				err = h.denied(response.Result)
			}
		}
		call := Call{Type: p.callType, Took: answers[i].took}
		err = p.conclude(ctx, a, h, call, err, fmt.Sprintf("failed-open.validating.webhook.admission.k8s.io/round_0_index_%d", i))
		first = cmp.Or(first, err)
	}
	return first
}
