package plugin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/util/pems"
)

// WantsAuthorizer is a plugin that needs the server's authorizer before the first request.
type WantsAuthorizer interface{ SetAuthorizer(authorizer.Authorizer) }

var certificateRequests = []schema.GroupResource{certificatesv1.Resource("certificatesigningrequests")}

// signerRights asks whether the user may do what a subresource of a request for a certificate does to requests of its
// signer.
type signerRights struct {
	scope
	verb        string
	isConcerned func(now, old *certificatesv1.CertificateSigningRequest) bool
	authorizer  authorizer.Authorizer
}

var _ WantsAuthorizer = (*signerRights)(nil)

// NewCertificateApproval creates a plugin that lets only those approve or deny a request for a certificate who may
// approve those of its signer.
var NewCertificateApproval = WithoutConfiguration(func() admission.Interface {
	always := func(_, _ *certificatesv1.CertificateSigningRequest) bool { return true }
	return &signerRights{scope: scope{onUpdate, "approval", certificateRequests}, verb: "approve", isConcerned: always}
})

// NewCertificateSigning creates a plugin that lets only those set a certificate, or the conditions of a request for one,
// who may sign those of its signer.
var NewCertificateSigning = WithoutConfiguration(func() admission.Interface {
	signs := func(now, old *certificatesv1.CertificateSigningRequest) bool {
		return !bytes.Equal(now.Status.Certificate, old.Status.Certificate) || !equality.Semantic.DeepEqual(now.Status.Conditions, old.Status.Conditions)
	}
	return &signerRights{scope: scope{onUpdate, "status", certificateRequests}, verb: "sign", isConcerned: signs}
})

// SetAuthorizer implements WantsAuthorizer.
func (s *signerRights) SetAuthorizer(of authorizer.Authorizer) { s.authorizer = of }

// Validate implements admission.ValidationInterface. The old request decides: a user may try to change the signer.
func (s *signerRights) Validate(ctx context.Context, a *admission.Attributes) error {
	now, isRequest := a.Object.(*certificatesv1.CertificateSigningRequest)
	old, wasRequest := a.OldObject.(*certificatesv1.CertificateSigningRequest)
	if !isRequest || !wasRequest || !s.isConcerned(now, old) {
		return nil
	}
	signer := old.Spec.SignerName
	domain, _, _ := strings.Cut(signer, "/")
	if s.may(ctx, a.User, signer) || s.may(ctx, a.User, domain+"/*") {
		return nil
	}
	return admission.Forbidden(a, fmt.Errorf("user not permitted to %s requests with signerName %q", s.verb, signer))
}

// may returns the decision of the authorizer about a signer. An error allows nothing.
func (s *signerRights) may(ctx context.Context, who *user.Info, signer string) bool {
	decision, _, err := s.authorizer.Authorize(ctx, authorizer.Attributes{
		User: who, Verb: s.verb, IsResource: true, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", Name: signer,
	})
	return err == nil && decision == authorizer.Allow
}

type subjectRestriction struct{ scope }

// NewCertificateSubjectRestriction creates a plugin that refuses requests for certificates of clients that may do
// everything.
var NewCertificateSubjectRestriction = WithoutConfiguration(func() admission.Interface {
	return subjectRestriction{on(onCreate, certificateRequests...)}
})

// Validate implements admission.ValidationInterface.
func (subjectRestriction) Validate(_ context.Context, a *admission.Attributes) error {
	request, isRequest := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !isRequest || request.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
		return nil
	}
	parsed, err := pems.Request(request.Spec.Request)
	if err != nil {
		return admission.Forbidden(a, fmt.Errorf("failed to parse CSR: %w", err))
	}
	if slices.Contains(parsed.Subject.Organization, user.Masters) {
		return admission.Forbidden(a, fmt.Errorf("use of %s signer with system:masters group is not allowed", certificatesv1.KubeAPIServerClientSignerName))
	}
	return nil
}
