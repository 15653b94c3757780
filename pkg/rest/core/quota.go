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

var limitRanges = generic.Kind[*corev1.LimitRange]{
	Row:                 coreRow("LimitRange", "limitranges", quota.LimitsKind, printers.Printer{}, "limits"),
	Default:             defaults.LimitRange,
	Rules:               validation.LimitRange,
	AllowCreateOnUpdate: true,
}

var resourceQuotas = generic.Kind[*corev1.ResourceQuota]{
	Row:            coreRow("ResourceQuota", "resourcequotas", quota.Kind, printers.ResourceQuotas, "quota"),
	Rules:          validation.ResourceQuota,
	StatusRules:    validation.ResourceQuotaStatus,
	AnswersDeleted: true,
	Remove: func(key api.Key, version uint64) []storage.Change {
		return []storage.Change{storage.Delete(key, version), storage.Delete(quota.Reservations(key), storage.Any)}
	},
}

// quotaRows returns the rows of what bounds the objects of a namespace.
func quotaRows(b generic.Base) []rest.Resource {
	b.Objects = generic.AtOnce{Interface: b.Objects}
	return append(limitRanges.Rows(b), resourceQuotas.Rows(b)...)
}
