package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/limits"
	"kube2014/pkg/api/v1/warnings"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/printers"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

var configMaps = generic.Resource[*corev1.ConfigMap]{
	Row:      coreRow("ConfigMap", "configmaps", "configmaps", printers.ConfigMaps, "cm"),
	Default:  defaults.ConfigMap,
	Validate: validation.ConfigMap,
}

var secrets = generic.Resource[*corev1.Secret]{
	Row:      coreRow("Secret", "secrets", "secrets", printers.Secrets),
	Default:  defaults.Secret,
	Validate: validation.Secret,
	Warnings: warnings.Secret,
	Fields:   func(secret *corev1.Secret) fields.Set { return fields.Set{"type": string(secret.Type)} },
}

var serviceAccounts = generic.Resource[*corev1.ServiceAccount]{
	Row:            coreRow("ServiceAccount", "serviceaccounts", accountsKind, printers.Named, "sa"),
	Name:           apivalidation.ValidateServiceAccountName,
	Prepare:        func(account, _ *corev1.ServiceAccount) { onlyNames(account) },
	AnswersDeleted: true,
}

// serviceAccountRows returns the rows of service accounts, without tokens if there is no issuer.
func serviceAccountRows(b rest.Base, issuer *serviceaccount.Issuer, pods, secrets, nodes rest.Getter) []rest.Resource {
	accounts, rows := serviceAccounts.Build(b)
	if issuer == nil {
		return rows
	}
	token := rows[0].Subresource("token", tokens{issuer, accounts, pods, secrets, nodes})
	token.Kind = tokenKind
	return append(rows, token)
}

// onlyNames removes all but the names of an account's secrets, which are in its namespace.
func onlyNames(account *corev1.ServiceAccount) {
	for i, secret := range account.Secrets {
		account.Secrets[i] = corev1.ObjectReference{Name: secret.Name}
	}
}

var podTemplates = generic.Resource[*corev1.PodTemplate]{
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
	Validate: func(c *check.Errors, now, _ *corev1.PodTemplate) {
		validation.PodTemplate(c, &now.Template, field.NewPath("template"))
	},
	AnswersDeleted: true,
}

var controllers = generic.Resource[*corev1.ReplicationController]{
	Row:           coreRow("ReplicationController", "replicationcontrollers", api.ControllerKind, printers.ReplicationControllers, "rc").In(inAll...),
	HasGeneration: true,
	Warnings:      warnings.ReplicationController,
	Scale: func(rc *corev1.ReplicationController) (**int32, int32, string) {
		return &rc.Spec.Replicas, rc.Status.Replicas, labels.SelectorFromSet(rc.Spec.Selector).String()
	},
	Default:        defaults.ReplicationController,
	Validate:       validation.ReplicationController,
	ValidateStatus: validation.ReplicationControllerStatus,
	Fields: func(rc *corev1.ReplicationController) fields.Set {
		return fields.Set{"status.replicas": strconv.Itoa(int(rc.Status.Replicas))}
	},
	Dependents: genericregistry.Orphaned,
}

var limitRanges = generic.Resource[*corev1.LimitRange]{
	Row:                 coreRow("LimitRange", "limitranges", quota.LimitsKind, printers.Printer{}, "limits"),
	Default:             defaults.LimitRange,
	Validate:            limits.LimitRange,
	AllowCreateOnUpdate: true,
}

var resourceQuotas = generic.Resource[*corev1.ResourceQuota]{
	Row:            coreRow("ResourceQuota", "resourcequotas", quota.Kind, printers.ResourceQuotas, "quota"),
	Validate:       limits.ResourceQuota,
	ValidateStatus: limits.ResourceQuotaStatus,
	AnswersDeleted: true,
	Remove: func(key api.Key, version uint64) []storage.Change {
		return []storage.Change{storage.Delete(key, version), storage.Delete(quota.Reservations(key), storage.Any)}
	},
}

// quotaRows returns the rows of what bounds the objects of a namespace.
func quotaRows(b rest.Base) []rest.Resource {
	b.Objects = genericregistry.FreshCache{Interface: b.Objects}
	return append(limitRanges.Rows(b), resourceQuotas.Rows(b)...)
}
