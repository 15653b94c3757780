// Package admissionregistration has the webhooks and the policies of admission as objects. Packages admission/plugin/webhook and
// admission/plugin/policy obey them.
package admissionregistration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/policies"
	"kube2014/pkg/api/v1/validation/webhooks"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// Resources returns the table of the group. Only readers may make objects the parameters of policies; nil means everybody.
func Resources(b rest.Base, readers *Readers) []rest.Resource {
	b.Objects = genericregistry.FreshCache{Interface: b.Objects} // the plugins obey the cache
	var ofPolicy, ofMutating, ofValidating permission
	mutatingPolicies, validatingPolicies := build(b, mutatingPolicy), build(b, validatingPolicy)
	if readers != nil {
		ofPolicy = readers.ofPolicy
		ofMutating, ofValidating = readers.ofBinding(mutatingPolicies), readers.ofBinding(validatingPolicies)
	}
	return slices.Concat(mutatingPolicies.guarded(ofPolicy), build(b, mutatingBinding).guarded(ofMutating), build(b, mutating).rows,
		validatingPolicies.guarded(ofPolicy), build(b, validatingBinding).guarded(ofValidating), build(b, validating).rows)
}

func row(kind, name string, printer printers.Printer) rest.Resource {
	return rest.ClusterScoped(admissionregistrationv1.SchemeGroupVersion, kind, name, printer).In("api-extensions")
}

// static is the end of names that today's server keeps for objects in files.
const static = ".static.k8s.io"

// built is the storage of a kind with its rows.
type built[T rest.Object] struct {
	*genericregistry.Store[T]
	rows []rest.Resource
}

// build builds a kind that warns of the names of objects in files.
func build[T rest.Object](b rest.Base, kind generic.Resource[T]) built[T] {
	store, rows := kind.Build(b)
	store.Strategy.Warnings = func(object, _ T) []string {
		if !strings.HasSuffix(object.GetName(), static) {
			return nil
		}
		return []string{fmt.Sprintf("metadata.name: names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", static)}
	}
	return built[T]{store, rows}
}

// guarded returns the rows. Clients write the objects, but for their status, only with the permission, unless it is nil.
func (b built[T]) guarded(permission permission) []rest.Resource {
	if permission != nil {
		kind := b.rows[0].Kind.GroupKind()
		b.rows[0].Storage = genericregistry.Guarded[T]{Store: b.Store, Valid: func(ctx context.Context, _ rest.Key, object, old rest.Object) error {
			if err := permission(ctx, object, old); err != nil {
				return rest.Invalid(kind, object.GetName(), field.ErrorList{err})
			}
			return nil
		}}
	}
	return b.rows
}

var (
	validatingPolicy = generic.Resource[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		Row:                       row("ValidatingAdmissionPolicy", "validatingadmissionpolicies", printers.ValidatingPolicies),
		HasGeneration:             true,
		ForbidUnconditionalUpdate: true,
		Default:                   policies.DefaultValidating,
		Validate:                  policies.CheckValidating,
		StatusOnly:                true,
		ValidateStatus:            policies.CheckStatus,
	}

	mutatingPolicy = generic.Resource[*admissionregistrationv1.MutatingAdmissionPolicy]{
		Row:                       row("MutatingAdmissionPolicy", "mutatingadmissionpolicies", printers.MutatingPolicies),
		HasGeneration:             true,
		ForbidUnconditionalUpdate: true,
		Default:                   policies.DefaultMutating,
		Validate:                  policies.CheckMutating,
	}

	validatingBinding = generic.Resource[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
		Row:                       row("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", printers.ValidatingPolicyBindings),
		HasGeneration:             true,
		ForbidUnconditionalUpdate: true,
		Default: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			policies.DefaultMatch(b.Spec.MatchResources)
		},
		Validate: policies.CheckValidatingBinding,
	}

	mutatingBinding = generic.Resource[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
		Row:                       row("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", printers.MutatingPolicyBindings),
		HasGeneration:             true,
		ForbidUnconditionalUpdate: true,
		Default: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
			policies.DefaultMatch(b.Spec.MatchResources)
		},
		Validate: policies.CheckMutatingBinding,
	}
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
func configurations[T rest.Object](kind, name string, printer printers.Printer, of func(T) []admissionregistrationv1.MutatingWebhook, defaults func(T)) generic.Resource[T] {
	var none T
	return generic.Resource[T]{
		Row:                       row(kind, name, printer),
		ForbidUnconditionalUpdate: true,
		Prepare: func(now, old T) {
			if rest.Object(old) == rest.Object(none) {
				now.SetGeneration(1)
			} else if !check.Same(of(now), of(old)) {
				now.SetGeneration(old.GetGeneration() + 1)
			}
		},
		Default:  defaults,
		Validate: func(c *check.Errors, now, _ T) { webhooks.Check(c, field.NewPath("webhooks"), of(now)) },
	}
}
