package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"runtime/debug"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/webhook"
)

// failed is the error of a call that fails, or has an invalid answer. The failure policy of the
// webhook applies.
type failed struct {
	why  error // contains no secrets
	code int   // the HTTP status, for metrics
}

// Error implements error.
func (f *failed) Error() string { return f.why.Error() }

// call calls a webhook once. The error is failed, also after a panic, or that of a dry run.
func (h *hook) call(ctx context.Context, request *admissionv1.AdmissionRequest, mayPatch bool) (response *admissionv1.AdmissionResponse, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Printf("the call of the admission webhook %s: panic: %v\n%s", h.name, reason, debug.Stack())
			err = &failed{errors.New("the call has panicked"), http.StatusInternalServerError}
		}
	}()
	if h.hasEffects && *request.DryRun {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("admission webhook %q does not support dry run", h.name))
	}
	own := *request
	own.UID = uuid.NewUUID()
	kind := metav1.TypeMeta{APIVersion: admissionv1.GroupName + "/" + h.version, Kind: "AdmissionReview"} // the versions have the same fields
	var answer admissionv1.AdmissionReview
	if err := h.post(ctx, &admissionv1.AdmissionReview{TypeMeta: kind, Request: &own}, &answer); err != nil {
		code := http.StatusServiceUnavailable
		var answered webhook.Answered
		if errors.As(err, &answered) {
			code = int(answered)
		}
		return nil, &failed{fmt.Errorf("failed to call webhook: %w", err), code}
	}
	if err := checkResponse(answer.Response, h.version, own.UID, mayPatch); err != nil {
		return nil, &failed{fmt.Errorf("received invalid webhook response: %w", err), http.StatusServiceUnavailable}
	}
	return answer.Response, nil
}

// report adds the annotations of a response to the audit event, and sends its warnings to the client.
func (h *hook) report(a *admission.Attributes, response *admissionv1.AdmissionResponse) {
	for name, value := range response.AuditAnnotations {
		if key := h.name + "/" + name; len(validation.IsQualifiedName(key)) == 0 {
			a.Annotate(key, value)
		}
	}
	for _, warning := range response.Warnings {
		if warning != "" {
			a.Warn(warning)
		}
	}
}

// denied returns the error of a webhook that refuses a change: its status. A success, or a code that
// HTTP does not have, becomes a bad request.
func (h *hook) denied(result *metav1.Status) error {
	var status metav1.Status
	if result != nil {
		status = *result
		status.TypeMeta = metav1.TypeMeta{}
	}
	if status.Code < 400 || status.Code > 999 {
		status.Code = http.StatusBadRequest
	}
	if status.Status == "" || status.Status == metav1.StatusSuccess {
		status.Status = metav1.StatusFailure
	}
	why := " without explanation"
	if told := cmp.Or(status.Message, string(status.Reason)); told != "" {
		why = ": " + told
	}
	status.Message = fmt.Sprintf("admission webhook %q denied the request%s", h.name, why)
	return &apierrors.StatusError{ErrStatus: status}
}

// broken is the error of a webhook with an invalid patch. The request fails, whatever the failure
// policy is.
type broken struct{ status error }

// Error implements error.
func (b *broken) Error() string { return b.status.Error() }

// conclude returns the error of a request after a call, nil if the request continues, and observes
// the call. If a webhook fails open, the audit event has its name under a key.
func (p *common) conclude(ctx context.Context, a *admission.Attributes, h *hook, call Call, err error, openKey string) error {
	call.Name, call.Operation, call.Code, call.Rejected, call.ErrorType = h.name, a.Operation, http.StatusOK, err != nil, "no_error"
	switch of := err.(type) {
	case *apierrors.StatusError:
		call.Code = int(of.ErrStatus.Code)
	case *broken:
		call.Code, call.ErrorType = 0, "apiserver_internal_error"
		err = of.status
	case *failed:
		call.Code, call.ErrorType = of.code, "calling_webhook_error"
		err = h.afterFailure(ctx, a, of, openKey)
		call.Rejected, call.FailOpen = err != nil, err == nil
	}
	if p.observe != nil {
		p.observe(call)
	}
	return err
}

// afterFailure returns the error of a request after a webhook has failed, nil if the request continues.
func (h *hook) afterFailure(ctx context.Context, a *admission.Attributes, failure *failed, openKey string) error {
	switch {
	case ctx.Err() != nil: // the request has no time left, whatever the policy is
		return apierrors.NewTimeoutError("request did not complete within requested timeout", 0)
	case h.failOpen:
		log.Printf("the admission webhook %s failed, and the request goes on: %v", h.name, failure)
		a.Annotate(openKey, h.name)
		return nil
	}
	return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: %w", h.name, failure))
}

// newRequest returns the request of all reviews of a view of a change, without the uid of a call.
func newRequest(view matching.View, a *admission.Attributes) (*admissionv1.AdmissionRequest, error) {
	r, err := matching.NewRequest(view.Version, a)
	if err == nil && view.Object != nil {
		r.Object.Raw, err = encode(view.Object)
	}
	if err == nil && view.OldObject != nil {
		r.OldObject.Raw, err = encode(view.OldObject)
	}
	return r, err
}

func encode(object runtime.Object) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, errors.New("the object cannot be encoded")
	}
	return text, nil
}

// checkResponse returns the error of an invalid response in the words of today's server, without its values. One of v1beta1 need
// not repeat the uid, nor tell the type of its patch, which gets the only one there is.
func checkResponse(response *admissionv1.AdmissionResponse, version string, uid types.UID, mayPatch bool) error {
	if response == nil {
		return errors.New("webhook response was absent")
	}
	if version == "v1beta1" {
		response.UID, response.PatchType = uid, nil
		if len(response.Patch) > 0 {
			response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		}
	}
	switch {
	case response.UID != uid:
		return errors.New("response.uid is not that of the request")
	case !mayPatch && len(response.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mayPatch && response.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case len(response.Patch) > 0 && response.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(response.Patch) == 0 && response.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case response.PatchType != nil && *response.PatchType == "":
		return errors.New(`webhook returned invalid response.patchType of ""`)
	}
	return nil
}
