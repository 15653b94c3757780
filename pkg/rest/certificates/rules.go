package certificates

import (
	"bytes"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/util/pems"
)

// may is what an update may change besides the metadata.
type may int

const (
	nothing may = iota
	theCertificate
	theDecision
)

var decisions = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied}

// leastLifetime is the shortest lifetime of a certificate that can be asked for, in seconds.
const leastLifetime = 600

// rules checks a request. Old is nil for a new one.
func rules(c *check.Errors, now, old *certificatesv1.CertificateSigningRequest, allowed may) {
	spec, at := &now.Spec, field.NewPath("spec")
	request, err := pems.Request(spec.Request)
	if err == nil {
		err = request.CheckSignature() // by its own key
	}
	if err != nil {
		c.Add(field.Invalid(at.Child("request"), spec.Request, err.Error()))
	}
	c.Some(at.Child("usages"), len(spec.Usages), "")
	usages := check.Unique{}
	for i, usage := range spec.Usages {
		usages.Check(c, at.Child("usages").Index(i), string(usage))
	}
	if spec.SignerName == "kubernetes.io/legacy-unknown" {
		c.Add(field.Invalid(at.Child("signerName"), spec.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		signerName(c, at.Child("signerName"), spec.SignerName)
	}
	if seconds := spec.ExpirationSeconds; seconds != nil {
		c.InvalidIf(*seconds < leastLifetime, at.Child("expirationSeconds"), *seconds, "may not specify a duration less than 600 seconds (10 minutes)")
	}
	conditionRules(c, now.Status.Conditions, field.NewPath("status", "conditions"))
	atCertificate := field.NewPath("status", "certificate")
	if _, err := pems.Certificates("the text", now.Status.Certificate); err != nil && len(now.Status.Certificate) > 0 {
		c.Add(field.Invalid(atCertificate, "<certificate data>", err.Error()))
	}
	if old == nil {
		return
	}
	decisionRules(c, &now.Status, &old.Status, allowed)
	if !bytes.Equal(now.Status.Certificate, old.Status.Certificate) {
		c.Forbid(allowed != theCertificate, atCertificate, "updates may not set certificate content")
		c.Forbid(allowed == theCertificate && len(old.Status.Certificate) > 0, atCertificate, "updates may not modify existing certificate content")
	}
}

// decisionRules lets decisions stay. Only the subresource for it may add one.
func decisionRules(c *check.Errors, now, old *certificatesv1.CertificateSigningRequestStatus, allowed may) {
	at := field.NewPath("status", "conditions")
	for _, of := range append(decisions, certificatesv1.CertificateFailed) {
		c.Forbid(len(conditions(now, of)) < len(conditions(old, of)), at, fmt.Sprintf("updates may not remove a condition of type %q", of))
	}
	for _, of := range decisions {
		after, before := conditions(now, of), conditions(old, of)
		switch {
		case allowed == theDecision:
		case len(after) > len(before):
			c.Add(field.Forbidden(at, fmt.Sprintf("updates may not add a condition of type %q", of)))
		case len(after) == len(before) && !check.Same(after, before):
			c.Add(field.Forbidden(at, fmt.Sprintf("updates may not modify a condition of type %q\n%v", of, diff.Diff(before, after))))
		}
	}
}

func conditionRules(c *check.Errors, all []certificatesv1.CertificateSigningRequestCondition, path *field.Path) {
	seen := check.Unique{}
	for i, condition := range all {
		at, values := path.Index(i), []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		c.Needs(at, "type", string(condition.Type))
		switch condition.Type {
		case certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			values = values[1:2]
		}
		check.RequireSupported(c, at.Child("status"), condition.Status, values...)
		both := seen[string(certificatesv1.CertificateApproved)] && condition.Type == certificatesv1.CertificateDenied ||
			seen[string(certificatesv1.CertificateDenied)] && condition.Type == certificatesv1.CertificateApproved
		c.InvalidIf(both, path, condition.Type, "Approved and Denied conditions are mutually exclusive")
		seen.Check(c, at.Child("type"), string(condition.Type))
	}
}

// signerName requires a domain and a path.
func signerName(c *check.Errors, at *field.Path, name string) {
	domain, path, _ := strings.Cut(name, "/")
	isWhole := strings.Contains(domain, ".") && len(utilvalidation.IsDNS1123Subdomain(domain))+len(utilvalidation.IsDNS1123Subdomain(path)) == 0
	c.InvalidIf(c.Require(at, name) && !isWhole, at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
}
