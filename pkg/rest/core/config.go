package core

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var configMaps = generic.Kind[*corev1.ConfigMap]{
	Row:     coreRow("ConfigMap", "configmaps", "configmaps", printers.ConfigMaps, "cm"),
	Default: defaults.ConfigMap,
	Rules:   validation.ConfigMap,
}

var secrets = generic.Kind[*corev1.Secret]{
	Row:      coreRow("Secret", "secrets", "secrets", printers.Secrets),
	Default:  defaults.Secret,
	Rules:    validation.Secret,
	Warnings: warnings.Secret,
	Fields:   func(secret *corev1.Secret) fields.Set { return fields.Set{"type": string(secret.Type)} },
}

var serviceAccounts = generic.Kind[*corev1.ServiceAccount]{
	Row:            coreRow("ServiceAccount", "serviceaccounts", accountsKind, printers.Named, "sa"),
	Name:           apivalidation.ValidateServiceAccountName,
	Prepare:        func(account, _ *corev1.ServiceAccount) { onlyNames(account) },
	AnswersDeleted: true,
}

// serviceAccountRows returns the rows of service accounts, without tokens if there is no issuer.
func serviceAccountRows(b generic.Base, issuer *serviceaccount.Issuer, pods, secrets, nodes rest.Getter) []rest.Resource {
	accounts, rows := serviceAccounts.Build(b)
	if issuer == nil {
		return rows
	}
	token := rows[0].Subresource("token", tokens{issuer, accounts, pods, secrets, nodes})
	token.Kind, token.Printer = tokenKind, printers.Printer{}
	return append(rows, token)
}

// onlyNames removes all but the names of an account's secrets, which are in its namespace.
func onlyNames(account *corev1.ServiceAccount) {
	for i, secret := range account.Secrets {
		account.Secrets[i] = corev1.ObjectReference{Name: secret.Name}
	}
}

var podTemplates = generic.Kind[*corev1.PodTemplate]{
	Row: coreRow("PodTemplate", "podtemplates", "podtemplates", printers.PodTemplates),
	Prepare: func(template, old *corev1.PodTemplate) {
		if old == nil {
			template.Generation = 1
		} else {
			countGeneration(template, template.Template, old.Template)
		}
	},
	Default:  defaults.PodTemplate,
	Warnings: warnings.PodTemplate,
	Rules: func(c *check.Errors, now, _ *corev1.PodTemplate) {
		validation.PodTemplate(c, &now.Template, field.NewPath("template"))
	},
	AnswersDeleted: true,
}
