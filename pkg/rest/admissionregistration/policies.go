package admissionregistration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api/v1/validation/policies"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
)

var (
	validatingPolicy = generic.Kind[*admissionregistrationv1.ValidatingAdmissionPolicy]{
		Row:            row("ValidatingAdmissionPolicy", "validatingadmissionpolicies", printers.ValidatingPolicies),
		Counted:        true,
		RequireVersion: true,
		Default:        policies.DefaultValidating,
		Rules:          policies.CheckValidating,
		PrepareStatus: func(now, old *admissionregistrationv1.ValidatingAdmissionPolicy) {
			metav1.ResetObjectMetaForStatus(now, old)
		},
		StatusResets: fieldmanager.Fields{"metadata"},
		StatusRules:  policies.CheckStatus,
	}

	mutatingPolicy = generic.Kind[*admissionregistrationv1.MutatingAdmissionPolicy]{
		Row:            row("MutatingAdmissionPolicy", "mutatingadmissionpolicies", printers.MutatingPolicies),
		Counted:        true,
		RequireVersion: true,
		Default:        policies.DefaultMutating,
		Rules:          policies.CheckMutating,
	}

	validatingBinding = generic.Kind[*admissionregistrationv1.ValidatingAdmissionPolicyBinding]{
		Row:            row("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", printers.ValidatingPolicyBindings),
		Counted:        true,
		RequireVersion: true,
		Default: func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
			policies.DefaultMatch(b.Spec.MatchResources)
		},
		Rules: policies.CheckValidatingBinding,
	}

	mutatingBinding = generic.Kind[*admissionregistrationv1.MutatingAdmissionPolicyBinding]{
		Row:            row("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", printers.MutatingPolicyBindings),
		Counted:        true,
		RequireVersion: true,
		Default: func(b *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
			policies.DefaultMatch(b.Spec.MatchResources)
		},
		Rules: policies.CheckMutatingBinding,
	}
)
