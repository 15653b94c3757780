// Package admissionregistration has the webhooks and policies of admission as objects. Webhooks are called by package
// admission/plugin/webhook. Nothing obeys policies yet (K98), and each answer about them warns of that.
package admissionregistration

import (
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	b.Objects = readBack{b.Objects}
	return slices.Concat(
		policies[*admissionregistrationv1.MutatingAdmissionPolicy](b, "MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
		policies[*admissionregistrationv1.MutatingAdmissionPolicyBinding](b, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
		mutating.Rows(b),
		policies[*admissionregistrationv1.ValidatingAdmissionPolicy](b, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
		policies[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](b, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
		validating.Rows(b),
	)
}

func row(kind, name string, printer printers.Printer) rest.Resource {
	return rest.ClusterScoped(admissionregistrationv1.SchemeGroupVersion, kind, name, printer).In("api-extensions")
}

func policies[T rest.Object](b generic.Base, kind, name string) []rest.Resource {
	rows := generic.Kind[T]{Row: row(kind, name, printers.Printer{}), Counted: true}.Rows(b)
	for i := range rows {
		rows[i].Warning = kind + " has no effect: this server does not obey it yet"
	}
	return rows
}

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

// readBack is a store that reads after each change, so that the cache of this process has it, by which webhooks are called: the
// next request obeys the change.
type readBack struct{ storage.Interface }

var _ storage.Clock = readBack{}

// Commit implements storage.Interface.
func (r readBack) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	written, err := r.Interface.Commit(changes...)
	if err == nil {
		_, _ = r.Version() // if that fails, the change is obeyed when the cache has it
	}
	return written, err
}

// Now implements storage.Clock.
func (r readBack) Now() time.Time { return storage.ClockOf(r.Interface)() }
