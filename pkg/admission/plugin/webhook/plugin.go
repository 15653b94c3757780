// Package webhook has the plugins MutatingAdmissionWebhook and ValidatingAdmissionWebhook of today's
// server. They let other servers change or refuse objects, by an AdmissionReview of
// admission.k8s.io/v1.
//
// The configuration of a plugin is an object of admissionregistration.k8s.io/v1, of the kind
// MutatingWebhookConfiguration or ValidatingWebhookConfiguration, or a list of such objects. The
// webhooks are called in the order of the configuration.
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

// Call describes a call of a webhook for metrics.
type Call struct {
	Name      string // of the webhook
	Type      string // admit or validating
	Operation admission.Operation
	Took      time.Duration
	Rejected  bool   // the request was refused
	ErrorType string // no_error if the webhook refused it, else calling_webhook_error or apiserver_internal_error
	Code      int    // of the refusal or of the failed call; otherwise 200
	FailOpen  bool   // the webhook failed, and the request was admitted
}

// Observe sets the function that is called after each call of a webhook, if the plugin is one of this
// package. It must be called before the first request. The function is called concurrently.
func Observe(plugin admission.Interface, observe func(Call)) {
	if p, ok := plugin.(interface{ set(func(Call)) }); ok {
		p.set(observe)
	}
}

// NewMutating creates the plugin that may change objects. It is an admission.Factory.
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

// NewValidating creates the plugin that checks objects. It is an admission.Factory.
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

// plugin is the common part of both plugins.
type plugin struct {
	hooks   []*hook
	observe func(Call) // may be nil
}

func (p *plugin) set(observe func(Call)) { p.observe = observe }

// Handles implements admission.Interface.
func (p *plugin) Handles(operation admission.Operation) bool {
	return slices.ContainsFunc(p.hooks, func(h *hook) bool { return h.handles(operation) })
}
