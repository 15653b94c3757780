// Package certificates has requests for certificates, which users approve and controllers sign.
package certificates

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/diff"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/pems"
)

var group = certificatesv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	kind := requests(b.Now)
	store, rows := kind.Build(b)
	rows[0] = kind.Row.With(ofCaller{store})
	return append(rows, kind.Row.Subresource("approval", generic.SubresourceOf(store, "approval", approval(b.Now))))
}

// ofCaller is the storage of requests. Its new objects say who made them.
type ofCaller struct {
	*genericregistry.Store[*certificatesv1.CertificateSigningRequest]
}

// Create implements rest.Creater.
func (o ofCaller) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	strategy, who := o.Strategy, request.UserFrom(ctx)
	strategy.PrepareForCreate = func(r *certificatesv1.CertificateSigningRequest) {
		o.Strategy.PrepareForCreate(r)
		spec := &r.Spec
		spec.Username, spec.UID, spec.Groups, spec.Extra = who.Name, who.UID, slices.Clone(who.Groups), user.ConvertExtra[certificatesv1.ExtraValue](who.Extra)
	}
	return o.With(strategy).Create(ctx, key, object, options)
}

func requests(now func() time.Time) generic.Resource[*certificatesv1.CertificateSigningRequest] {
	return generic.Resource[*certificatesv1.CertificateSigningRequest]{
		Row:  rest.ClusterScoped(group, "CertificateSigningRequest", "certificatesigningrequests", printers.CertificateRequests, "csr"),
		Name: func(string, bool) []string { return nil },
		Fields: func(o *certificatesv1.CertificateSigningRequest) fields.Set {
			return fields.Set{"spec.signerName": o.Spec.SignerName}
		},
		Prepare: func(r, old *certificatesv1.CertificateSigningRequest) {
			if old != nil {
				r.Spec = old.Spec
			}
		},
		Validate:     func(c *check.Errors, r, old *certificatesv1.CertificateSigningRequest) { rules(c, r, old, nothing) },
		Resets:       fieldmanager.Fields{"spec"},
		StatusResets: fieldmanager.Fields{"status.conditions"},
		PrepareStatus: func(r, old *certificatesv1.CertificateSigningRequest) {
			keepDecision(&r.Status, &old.Status)
			setTimes(&r.Status, &old.Status, now())
		},
		ValidateStatus: func(c *check.Errors, r, old *certificatesv1.CertificateSigningRequest) {
			rules(c, r, old, theCertificate)
		},
	}
}

// approval is the strategy of the subresource by which a request is approved or denied.
func approval(now func() time.Time) genericregistry.Strategy[*certificatesv1.CertificateSigningRequest] {
	return genericregistry.Strategy[*certificatesv1.CertificateSigningRequest]{
		Resets: fieldmanager.Fields{"spec", "status.certificate"},
		PrepareForUpdate: func(r, old *certificatesv1.CertificateSigningRequest) {
			setTimes(&r.Status, &old.Status, now())
			conditions := r.Status.Conditions
			r.Spec, r.Status = old.Spec, old.Status
			r.Status.Conditions = conditions
		},
		ValidateUpdate: func(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
			return validation.Update(r, old, func(c *check.Errors, r, old *certificatesv1.CertificateSigningRequest) { rules(c, r, old, theDecision) })
		},
	}
}

// keepDecision keeps the conditions by which a request was approved or denied. Those that are added or removed are errors.
func keepDecision(now, old *certificatesv1.CertificateSigningRequestStatus) {
	for _, decision := range decisions {
		before, after := conditions(old, decision), conditions(now, decision)
		for i := range after {
			if len(before) == len(after) {
				*after[i] = *before[i]
			}
		}
	}
}

// setTimes sets the missing times of conditions. One that was there before, with the same status, keeps the time of its
// transition.
func setTimes(status, old *certificatesv1.CertificateSigningRequestStatus, at time.Time) {
	now := metav1.Time{Time: at.UTC()}.Rfc3339Copy()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.LastUpdateTime.IsZero() {
			c.LastUpdateTime = now
		}
		if !c.LastTransitionTime.IsZero() {
			continue
		}
		c.LastTransitionTime = now
		for _, before := range conditions(old, c.Type) {
			if before.Status == c.Status && !before.LastTransitionTime.IsZero() {
				c.LastTransitionTime = before.LastTransitionTime
				break
			}
		}
	}
}

// conditions returns those of a type.
func conditions(status *certificatesv1.CertificateSigningRequestStatus, of certificatesv1.RequestConditionType) (all []*certificatesv1.CertificateSigningRequestCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == of {
			all = append(all, &status.Conditions[i])
		}
	}
	return all
}

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
