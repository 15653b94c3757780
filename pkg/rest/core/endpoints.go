package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1/defaults"
	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

func endpointsRows(b rest.Base) []rest.Resource {
	row := coreRow("Endpoints", "endpoints", api.EndpointsKind, printers.Endpoints, "ep")
	row.Warning = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
	return []rest.Resource{row.With(genericregistry.NewStore(b, row, genericregistry.Strategy[*corev1.Endpoints]{
		Default: defaults.Endpoints,
		Validate: func(endpoints *corev1.Endpoints) field.ErrorList {
			return append(validation.ValidateEndpoints(endpoints), checkPairs(endpoints)...)
		},
		ValidateUpdate: func(endpoints, old *corev1.Endpoints) field.ErrorList {
			return append(validation.ValidateEndpointsUpdate(endpoints, old), checkPairs(endpoints)...)
		},
		AllowCreateOnUpdate: true,
	}))}
}

// maxPairs bounds the number of pairs of an address and a port in endpoints.
const maxPairs = 20_000

// checkPairs returns an error for endpoints with too many pairs. June 2014 stores each pair, and
// a body of ordinary size may have a thousand million.
func checkPairs(endpoints *corev1.Endpoints) field.ErrorList {
	pairs, entries := 0, 0
	for _, subset := range endpoints.Subsets {
		pairs += len(subset.Addresses) * len(subset.Ports)
		entries += len(subset.Addresses) + len(subset.Ports)
	}
	if pairs > max(maxPairs, entries) {
		return field.ErrorList{field.TooMany(field.NewPath("subsets"), pairs, maxPairs)}
	}
	return nil
}
