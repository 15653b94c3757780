package printers

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	"k8s.io/apimachinery/pkg/util/duration"
)

var requestDoc = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()

// CertificateRequests prints *certificatesv1.CertificateSigningRequest. As on today's server, its columns are described by an
// older version.
var CertificateRequests = table[certificatesv1.CertificateSigningRequest](name, age,
	text("SignerName", "spec.signerName", requestDoc["signerName"]).or("<none>"),
	text("Requestor", "spec.username", requestDoc["request"]),
	with(text("RequestedDuration", "spec.expirationSeconds", requestDoc["expirationSeconds"]), func(seconds *int32) string {
		if seconds == nil {
			return "<none>"
		}
		return duration.HumanDuration(time.Duration(*seconds) * time.Second)
	}),
	with(text("Condition", "status", certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"]), decision))

// decision returns what became of a request. Denied prevails.
func decision(status *certificatesv1.CertificateSigningRequestStatus) string {
	is := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range status.Conditions {
		is[condition.Type] = true
	}
	text := "Pending"
	switch {
	case is[certificatesv1.CertificateDenied]:
		text = "Denied"
	case is[certificatesv1.CertificateApproved]:
		text = "Approved"
	}
	if is[certificatesv1.CertificateFailed] {
		text += ",Failed"
	}
	if len(status.Certificate) > 0 {
		text += ",Issued"
	}
	return text
}
