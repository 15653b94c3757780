// Package webhook lets other servers change or refuse what is to be stored, by an AdmissionReview
// of admission.k8s.io/v1, as the plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook
// of today's server do.
//
// Which servers are asked stands in the configuration of a plugin: an object of
// admissionregistration.k8s.io/v1, of the kind MutatingWebhookConfiguration or
// ValidatingWebhookConfiguration, or a list of such objects. Their webhooks are asked in the order
// in which they stand there.
package webhook

import (
	"encoding/json"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kube2014/pkg/admission"
)

// The names of the plugins.
const (
	NameMutating   = "MutatingAdmissionWebhook"
	NameValidating = "ValidatingAdmissionWebhook"
)

// Call is one call of a webhook, as metrics tell it.
type Call struct {
	Name      string // of the webhook
	Type      string // admit or validating
	Operation admission.Operation
	Took      time.Duration
	Rejected  bool   // the request was refused
	ErrorType string // no_error if the webhook refused it, else calling_webhook_error or apiserver_internal_error
	Code      int    // with which the request was refused, or the call failed; 200 for neither
	FailOpen  bool   // the webhook failed, and the request was admitted
}

// Observe lets a function be called after each call of a webhook, if a plugin is one of this
// package. It is for the time before the first request. The function is called concurrently.
func Observe(plugin admission.Interface, observe func(Call)) {
	if p, ok := plugin.(interface{ set(func(Call)) }); ok {
		p.set(observe)
	}
}

// NewMutating makes the plugin that may change what is to be stored. It is an admission.Factory.
func NewMutating(configuration json.RawMessage) (admission.Interface, error) {
	configured, err := admission.ObjectsIn[admissionregistrationv1.MutatingWebhookConfiguration](configuration,
		admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"))
	if err != nil {
		return nil, err
	}
	p := &mutating{}
	for _, c := range configured {
		if p.hooks, err = addHooks(p.hooks, c.Path, c.Object.Name, c.Object.Webhooks); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// NewValidating makes the plugin that checks what is to be stored. It is an admission.Factory.
func NewValidating(configuration json.RawMessage) (admission.Interface, error) {
	configured, err := admission.ObjectsIn[admissionregistrationv1.ValidatingWebhookConfiguration](configuration,
		admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	if err != nil {
		return nil, err
	}
	p := &validating{}
	for _, c := range configured {
		hooks := make([]admissionregistrationv1.MutatingWebhook, len(c.Object.Webhooks))
		for i, w := range c.Object.Webhooks {
			hooks[i] = admissionregistrationv1.MutatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, SideEffects: w.SideEffects,
				TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
			}
		}
		if p.hooks, err = addHooks(p.hooks, c.Path, c.Object.Name, hooks); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// plugin is what both plugins are.
type plugin struct {
	hooks   []*hook
	observe func(Call) // may be nil
}

func (p *plugin) set(observe func(Call)) { p.observe = observe }

// Handles implements admission.Interface.
func (p *plugin) Handles(operation admission.Operation) bool {
	return slices.ContainsFunc(p.hooks, func(h *hook) bool { return h.handles(operation) })
}
