package printers

import (
	"cmp"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

var requestDoc = certificatesv1beta1.CertificateSigningRequestSpec{}.SwaggerDoc()

// CertificateRequests prints *certificatesv1.CertificateSigningRequest. As on today's server, its columns are described by an
// older version.
var CertificateRequests = Printer{
	Columns: []metav1.TableColumnDefinition{
		nameColumn,
		ageColumn,
		text("SignerName", requestDoc["signerName"]),
		text("Requestor", requestDoc["request"]),
		text("RequestedDuration", requestDoc["expirationSeconds"]),
		text("Condition", certificatesv1beta1.CertificateSigningRequestStatus{}.SwaggerDoc()["conditions"]),
	},
	Cells: of(func(request *certificatesv1.CertificateSigningRequest, now time.Time) []any {
		lasts := "<none>"
		if seconds := request.Spec.ExpirationSeconds; seconds != nil {
			lasts = duration.HumanDuration(time.Duration(*seconds) * time.Second)
		}
		return []any{request.Name, since(request.CreationTimestamp.Time, now), cmp.Or(request.Spec.SignerName, "<none>"), request.Spec.Username, lasts,
			decision(&request.Status)}
	}),
}

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
