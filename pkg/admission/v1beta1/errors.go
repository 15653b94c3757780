package v1beta1

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
)

// kindOfStatus has the kinds of errors by HTTP status.
var kindOfStatus = map[int32]api.ErrorKind{
	http.StatusBadRequest: api.Invalid, http.StatusUnauthorized: api.Unauthorized, http.StatusForbidden: api.Forbidden, http.StatusNotFound: api.NotFound,
	http.StatusMethodNotAllowed: api.MethodNotAllowed, http.StatusConflict: api.Conflict, http.StatusGone: api.Expired,
	http.StatusRequestEntityTooLarge: api.TooLarge, http.StatusUnprocessableEntity: api.Invalid, http.StatusTooManyRequests: api.TooManyRequests,
	http.StatusInternalServerError: api.Internal, http.StatusServiceUnavailable: api.Unavailable, http.StatusGatewayTimeout: api.Timeout,
}

// inWords converts the error of a plugin to one of the first door, which puts the kind of the error before the
// message.
func inWords(err error) error {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		return err
	}
	status := known.Status()
	kind, ok := kindOfStatus[status.Code]
	if !ok {
		kind = api.Internal
		if status.Code >= 400 && status.Code < 500 {
			kind = api.Forbidden
		}
	}
	message := status.Message
	if _, why, found := strings.Cut(message, " is forbidden: "); found && kind == api.Forbidden {
		message = why
	}
	if message == "" {
		message = "a plugin refuses it"
	}
	return &api.Error{Kind: kind, Message: strings.TrimPrefix(message, "Internal error occurred: "), Err: err}
}
