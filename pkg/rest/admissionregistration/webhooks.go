package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var (
	mutating = configurations("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", printers.MutatingWebhooks,
		func(o *admissionregistrationv1.MutatingWebhookConfiguration) []admissionregistrationv1.MutatingWebhook {
			return o.Webhooks
		},
		func(o *admissionregistrationv1.MutatingWebhookConfiguration) {
			for i := range o.Webhooks {
				webhooks.Default(&o.Webhooks[i])
			}
		})

	validating = configurations("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", printers.ValidatingWebhooks,
		func(o *admissionregistrationv1.ValidatingWebhookConfiguration) []admissionregistrationv1.MutatingWebhook {
			return webhooks.OfValidating(o.Webhooks)
		},
		func(o *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for i, of := range webhooks.OfValidating(o.Webhooks) {
				webhooks.Default(&of)
				w := &o.Webhooks[i]
				w.FailurePolicy, w.MatchPolicy, w.NamespaceSelector, w.ObjectSelector, w.TimeoutSeconds =
					of.FailurePolicy, of.MatchPolicy, of.NamespaceSelector, of.ObjectSelector, of.TimeoutSeconds
			}
		})
)

// configurations returns the kind of the configurations of webhooks, whose generation counts the changes of these.
func configurations[T rest.Object](kind, name string, printer printers.Printer, of func(T) []admissionregistrationv1.MutatingWebhook, defaults func(T)) generic.Kind[T] {
	var none T
	return generic.Kind[T]{
		Row:            row(kind, name, printer),
		RequireVersion: true,
		Prepare: func(now, old T) {
			if rest.Object(old) == rest.Object(none) {
				now.SetGeneration(1)
			} else if !check.Same(of(now), of(old)) {
				now.SetGeneration(old.GetGeneration() + 1)
			}
		},
		Default: defaults,
		Rules:   func(c *check.Errors, now, _ T) { webhooks.Check(c, field.NewPath("webhooks"), of(now)) },
	}
}
