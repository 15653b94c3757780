package printers

import admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

// MutatingWebhooks prints *admissionregistrationv1.MutatingWebhookConfiguration, ValidatingWebhooks
// *admissionregistrationv1.ValidatingWebhookConfiguration.
var (
	MutatingWebhooks   = table[admissionregistrationv1.MutatingWebhookConfiguration](name, webhooks, age)
	ValidatingWebhooks = table[admissionregistrationv1.ValidatingWebhookConfiguration](name, webhooks, age)
)

var webhooks = count(number("Webhooks", "webhooks", "Webhooks indicates the number of webhooks registered in this configuration"))
