package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api"
)

// ErrModified is the cause of a conflict, in the words of today's server.
var ErrModified = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// retryAfter is the time after which a client of a busy server should try again, in seconds.
const retryAfter = 1

// StatusError converts an error of a store to a status in the words of today's server.
func StatusError(err error, resource schema.GroupResource, name string) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	var typed *api.Error
	errors.As(err, &typed)
	switch api.KindOf(err) {
	case api.NotFound:
		return apierrors.NewNotFound(resource, name)
	case api.AlreadyExists:
		return apierrors.NewAlreadyExists(resource, name)
	case api.Conflict:
		return apierrors.NewConflict(resource, name, ErrModified)
	case api.HostPortTaken:
		return apierrors.NewConflict(resource, name, err)
	case api.Invalid:
		return apierrors.NewBadRequest(err.Error())
	case api.Forbidden:
		return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusForbidden,
			Reason: metav1.StatusReasonForbidden, Message: err.Error()}}
	case api.Unauthorized:
		return apierrors.NewUnauthorized(err.Error())
	case api.Timeout:
		return apierrors.NewTimeoutError(err.Error(), 0)
	case api.TooManyRequests:
		return apierrors.NewTooManyRequests(err.Error(), cmp.Or(typed.RetryAfter, retryAfter))
	case api.TooLarge:
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	case api.Expired:
		return apierrors.NewResourceExpired(err.Error())
	case api.Unavailable:
		status := apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "", schema.GroupResource{}, "", typed.Error(), 0, true)
		return &withCause{status, typed}
	}
	return err
}

// CheckTime returns a timeout error if the context of a request has ended.
func CheckTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", err), 0)
	}
	return nil
}

// withCause is a status with a cause for the log.
type withCause struct {
	*apierrors.StatusError
	cause error
}

// Unwrap returns the cause.
func (w *withCause) Unwrap() error { return w.cause }

// maxErrors bounds the number of reported errors of an object, like that of the strict decoder. The time
// to join them is quadratic.
const maxErrors = 100

// Invalid returns the status for an invalid object. It tells each error once (K86).
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) error {
	told := sets.New[string]()
	errs = slices.DeleteFunc(slices.Clone(errs), func(err *field.Error) bool {
		text := err.Error()
		defer told.Insert(text)
		return told.Has(text)
	})
	if all := len(errs); all > maxErrors {
		errs = append(errs[:maxErrors:maxErrors], field.TooMany(field.NewPath("errors"), all, maxErrors))
	}
	return apierrors.NewInvalid(kind, name, errs)
}

// CheckNamespace returns an error if an object names another namespace than its request.
func CheckNamespace(object metav1.Object, namespace string) error {
	if own := object.GetNamespace(); own != "" && own != namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}
