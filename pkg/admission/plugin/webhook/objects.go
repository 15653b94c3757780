package webhook

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kube2014/pkg/api/v1/validation/webhooks"
)

// storedHooks returns the webhooks of a stored configuration.
func (p *common) storedHooks(configuration runtime.Object) []*hook {
	switch of := configuration.(type) {
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return p.newHooks(of.Name, of.Webhooks)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return p.newHooks(of.Name, webhooks.OfValidating(of.Webhooks))
	}
	return nil
}
