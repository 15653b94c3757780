package core

import (
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/storage"
)

func limitRangeRows(b generic.Base) []rest.Resource {
	b.Objects = generic.AtOnce{Interface: b.Objects}
	row := coreRow("LimitRange", "limitranges", quota.LimitsKind, printers.Printer{}, "limits")
	return []rest.Resource{row.With(generic.NewStore(b, row, generic.Strategy[*corev1.LimitRange]{
		Default:             defaults.LimitRange,
		Validate:            validation.ValidateLimitRange,
		ValidateUpdate:      validation.ValidateLimitRangeUpdate,
		AllowCreateOnUpdate: true,
	}))}
}

func resourceQuotaRows(b generic.Base) []rest.Resource {
	b.Objects = generic.AtOnce{Interface: b.Objects}
	row := coreRow("ResourceQuota", "resourcequotas", quota.Kind, printers.ResourceQuotas, "quota")
	quotas := generic.NewStore(b, row, generic.Strategy[*corev1.ResourceQuota]{
		PrepareForCreate: func(quota *corev1.ResourceQuota) { quota.Status = corev1.ResourceQuotaStatus{} },
		Validate:         validation.ValidateResourceQuota,
		PrepareForUpdate: func(quota, old *corev1.ResourceQuota) { quota.Status = old.Status },
		ValidateUpdate:   validation.ValidateResourceQuotaUpdate,
	})
	quotas.AnswersDeleted = true
	quotas.Remove = func(key api.Key, version uint64) []storage.Change {
		return []storage.Change{storage.Delete(key, version), storage.Delete(quota.Reservations(key), storage.Any)}
	}
	return []rest.Resource{row.With(quotas), row.Subresource("status", generic.PartOf(quotas, generic.Strategy[*corev1.ResourceQuota]{
		PrepareForUpdate: func(quota, old *corev1.ResourceQuota) { quota.Spec = old.Spec },
		ValidateUpdate:   validation.ValidateResourceQuotaStatusUpdate,
	}))}
}
