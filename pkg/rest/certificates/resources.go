// Package certificates has requests for certificates, which users approve and controllers sign.
package certificates

import (
	"context"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server/request"
)

var group = certificatesv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	kind := requests(b.Now)
	store, rows := kind.Build(b)
	rows[0] = kind.Row.With(ofCaller{store})
	return append(rows, kind.Row.Subresource("approval", generic.PartOf(store, "approval", approval(b.Now))))
}

// ofCaller is the storage of requests. Its new objects say who made them.
type ofCaller struct {
	*generic.Store[*certificatesv1.CertificateSigningRequest]
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

func requests(now func() time.Time) generic.Kind[*certificatesv1.CertificateSigningRequest] {
	return generic.Kind[*certificatesv1.CertificateSigningRequest]{
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
		Rules:        func(c *check.Errors, r, old *certificatesv1.CertificateSigningRequest) { rules(c, r, old, nothing) },
		Resets:       fieldmanager.Fields{"spec"},
		StatusResets: fieldmanager.Fields{"status.conditions"},
		PrepareStatus: func(r, old *certificatesv1.CertificateSigningRequest) {
			keepDecision(&r.Status, &old.Status)
			setTimes(&r.Status, &old.Status, now())
		},
		StatusRules: func(c *check.Errors, r, old *certificatesv1.CertificateSigningRequest) {
			rules(c, r, old, theCertificate)
		},
	}
}

// approval is the strategy of the subresource by which a request is approved or denied.
func approval(now func() time.Time) generic.Strategy[*certificatesv1.CertificateSigningRequest] {
	return generic.Strategy[*certificatesv1.CertificateSigningRequest]{
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
