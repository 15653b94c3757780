// Package certificates has requests for certificates.
package certificates

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = certificatesv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(certificatesigningrequests.Rows(b))
}

var certificatesigningrequests = generic.Kind[*certificatesv1.CertificateSigningRequest]{
	Row:    rest.ClusterScoped(group, "CertificateSigningRequest", "certificatesigningrequests", printers.Printer{}, "csr"),
	Spec:   func(o *certificatesv1.CertificateSigningRequest) any { return &o.Spec },
	Status: func(o *certificatesv1.CertificateSigningRequest) any { return &o.Status },
}
