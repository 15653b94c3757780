package printers

import (
	"cmp"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// These print the kinds of *admissionregistrationv1 of their names.
var (
	MutatingWebhooks   = table[admissionregistrationv1.MutatingWebhookConfiguration](name, webhooks, age)
	ValidatingWebhooks = table[admissionregistrationv1.ValidatingWebhookConfiguration](name, webhooks, age)

	ValidatingPolicies = table[admissionregistrationv1.ValidatingAdmissionPolicy](name,
		count(number("Validations", "spec.validations", "Validations indicates the number of validation rules defined in this configuration")), paramKind, age)
	MutatingPolicies = table[admissionregistrationv1.MutatingAdmissionPolicy](name,
		count(number("Mutations", "spec.mutations", "Mutation indicates the number of mutations rules defined in this configuration")), paramKind, age)

	ValidatingPolicyBindings = table[admissionregistrationv1.ValidatingAdmissionPolicyBinding](name, policyName, paramRef, age)
	MutatingPolicyBindings   = table[admissionregistrationv1.MutatingAdmissionPolicyBinding](name, policyName, paramRef, age)
)

var (
	webhooks = count(number("Webhooks", "webhooks", "Webhooks indicates the number of webhooks registered in this configuration"))

	paramKind = with(text("ParamKind", "spec.paramKind", "ParamKind specifies the kind of resources used to parameterize this policy"),
		func(kind *admissionregistrationv1.ParamKind) string {
			if kind == nil {
				return "<unset>"
			}
			return kind.APIVersion + "/" + kind.Kind
		})

	policyName = text("PolicyName", "spec.policyName", "PolicyName indicates the policy definition which the policy binding binded to")
	paramRef   = with(text("ParamRef", "spec.paramRef", "ParamRef indicates the param resource which sets the configuration param"),
		func(ref *admissionregistrationv1.ParamRef) string {
			switch {
			case ref == nil || ref.Name == "" && ref.Selector == nil:
				return "<unset>"
			case ref.Name == "":
				return ref.Selector.String()
			}
			return cmp.Or(ref.Namespace, "*") + "/" + ref.Name // of a cluster-scoped kind too
		})
)
