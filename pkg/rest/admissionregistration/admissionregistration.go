// Package admissionregistration has the webhooks and policies of admission as objects. Nothing obeys them yet (K98), and
// each answer warns of that.
package admissionregistration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(
		rows[*admissionregistrationv1.MutatingAdmissionPolicy](b, true, "MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
		rows[*admissionregistrationv1.MutatingAdmissionPolicyBinding](b, true, "MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
		rows[*admissionregistrationv1.MutatingWebhookConfiguration](b, false, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
		rows[*admissionregistrationv1.ValidatingAdmissionPolicy](b, true, "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
		rows[*admissionregistrationv1.ValidatingAdmissionPolicyBinding](b, true, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
		rows[*admissionregistrationv1.ValidatingWebhookConfiguration](b, false, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
	)
}

func rows[T rest.Object](b generic.Base, counted bool, kind, name string) []rest.Resource {
	row := rest.ClusterScoped(admissionregistrationv1.SchemeGroupVersion, kind, name, printers.Printer{}).In("api-extensions")
	rows := generic.Kind[T]{Row: row, Counted: counted}.Rows(b)
	for i := range rows {
		rows[i].Warning = kind + " has no effect: this server does not obey it yet"
	}
	return rows
}
