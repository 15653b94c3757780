package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

func configMapRows(b generic.Base) []rest.Resource {
	row := coreRow("ConfigMap", "configmaps", "configmaps", printers.ConfigMaps, "cm")
	return []rest.Resource{row.With(generic.NewStore(b, row, generic.Strategy[*corev1.ConfigMap]{
		Default:        defaults.ConfigMap,
		Validate:       validation.ValidateConfigMap,
		ValidateUpdate: validation.ValidateConfigMapUpdate,
	}))}
}

func secretRows(b generic.Base) []rest.Resource {
	row := coreRow("Secret", "secrets", "secrets", printers.Secrets)
	return []rest.Resource{row.With(generic.NewStore(b, row, generic.Strategy[*corev1.Secret]{
		Default:        defaults.Secret,
		Validate:       validation.ValidateSecret,
		ValidateUpdate: validation.ValidateSecretUpdate,
		Fields:         func(secret *corev1.Secret) fields.Set { return fields.Set{"type": string(secret.Type)} },
	}))}
}

// serviceAccountRows returns the rows of service accounts, without tokens if there is no issuer.
func serviceAccountRows(b generic.Base, issuer *serviceaccount.Issuer, pods, secrets, nodes rest.Getter) []rest.Resource {
	row := coreRow("ServiceAccount", "serviceaccounts", accountsKind, printers.Named, "sa")
	accounts := generic.NewStore(b, row, generic.Strategy[*corev1.ServiceAccount]{
		PrepareForCreate: onlyNames,
		Validate:         validation.ValidateServiceAccount,
		PrepareForUpdate: func(account, _ *corev1.ServiceAccount) { onlyNames(account) },
		ValidateUpdate:   validation.ValidateServiceAccountUpdate,
	})
	accounts.AnswersDeleted = true
	if issuer == nil {
		return []rest.Resource{row.With(accounts)}
	}
	token := row.Subresource("token", tokens{issuer, accounts, pods, secrets, nodes})
	token.Kind, token.Printer = tokenKind, printers.Printer{}
	return []rest.Resource{row.With(accounts), token}
}

// onlyNames removes all but the names of an account's secrets, which are in its namespace.
func onlyNames(account *corev1.ServiceAccount) {
	for i, secret := range account.Secrets {
		account.Secrets[i] = corev1.ObjectReference{Name: secret.Name}
	}
}

func podTemplateRows(b generic.Base) []rest.Resource {
	row := coreRow("PodTemplate", "podtemplates", "podtemplates", printers.PodTemplates)
	templates := generic.NewStore(b, row, generic.Strategy[*corev1.PodTemplate]{
		PrepareForCreate: func(template *corev1.PodTemplate) { template.Generation = 1 },
		Default:          defaults.PodTemplate,
		Validate:         validation.ValidatePodTemplate,
		PrepareForUpdate: func(template, old *corev1.PodTemplate) { countGeneration(template, template.Template, old.Template) },
		ValidateUpdate:   validation.ValidatePodTemplateUpdate,
	})
	templates.AnswersDeleted = true
	return []rest.Resource{row.With(templates)}
}
