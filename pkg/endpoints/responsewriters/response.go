// Package responsewriters writes answers: objects and lists in the form that the client accepts, errors, and warnings.
package responsewriters

import (
	"errors"
	"log"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/negotiation"
	"kube2014/pkg/rest"
	"kube2014/pkg/util"
)

// Response answers one request to a resource. Without a resource it answers with errors only.
type Response struct {
	*http.Request
	W        http.ResponseWriter
	Resource *rest.Resource // nil for none
	Now      func() time.Time
	Form     negotiation.Form
	Include  metav1.IncludeObjectPolicy // in the rows of a table

	warnings []string
}

// Object answers with an object, in the form that the client accepts, unless there is an error.
func (r *Response) Object(status int, answer rest.Answer, err error) error {
	if err != nil {
		return err
	}
	return r.write(status, func() (conversion.Encoded, error) {
		if r.Form.MediaType == bodies.Protobuf {
			var message conversion.Parts
			envelope, err := r.AddMessage(&message, answer, true)
			return v1.EncodeProtobuf(envelope, &message), err
		}
		return r.Encode(answer, true)
	})
}

// List answers with a list, in the form that the client accepts, unless there is an error.
func (r *Response) List(list *rest.List, err error) error {
	if err != nil {
		return err
	}
	return r.write(http.StatusOK, func() (conversion.Encoded, error) {
		switch inProtobuf := r.Form.MediaType == bodies.Protobuf; {
		case inProtobuf && r.Form.As == "":
			return list.EncodeProtobuf()
		case inProtobuf:
			return list.EncodeMetadata(r.Form.GroupVersion())
		case r.Form.As == "":
			return list.Encode()
		}
		return r.converted(list)
	})
}

// Warn adds a warning to the answer, once.
func (r *Response) Warn(text string) {
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// Limits of the warnings in an answer, in characters. If their sum exceeds the first one, each is truncated.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// WriteWarnings adds the warnings to the header of the answer.
func (r *Response) WriteWarnings() {
	all := 0
	for _, text := range r.warnings {
		all += utf8.RuneCountInString(text)
	}
	written := 0
	for _, text := range r.warnings {
		if runes := []rune(text); all > maxWarnings && len(runes) > maxWarning {
			text = string(runes[:maxWarning])
		}
		if all > maxWarnings && written >= maxWarnings {
			return
		}
		line, err := utilnet.NewWarningHeader(299, "-", text)
		if err == nil { // it has no control characters
			r.W.Header().Add("Warning", line)
			written += utf8.RuneCountInString(text)
		}
	}
}

// StatusOf returns an error as a status. An error of the server is logged if the client does not get all of it.
func (r *Response) StatusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(errors.New("the request failed; the server's log has the reason"))
		if r.Resource != nil && r.Resource.Removed() { // what it has read may be of the next definition
			known = TryAgain("the definition of the resource has changed during the request, please try again")
		}
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Code >= http.StatusInternalServerError && status.Code != http.StatusGatewayTimeout && api.InFull(err) != status.Message {
		r.logError(err)
	}
	return status
}

// Error answers with an error.
func (r *Response) Error(err error) {
	status := r.StatusOf(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		r.W.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	var known bool
	if r.Form, known = negotiation.Preferred(r.Header.Values("Accept"), negotiation.Form.IsPlain); !known {
		r.Form = negotiation.Form{MediaType: negotiation.JSON, Pretty: true}
	}
	if err := r.Object(int(status.Code), rest.MakeAnswer(&status), nil); err != nil {
		r.logError(err)
	}
}

// TryAgain returns the error of a request that may succeed in a second.
func TryAgain(why string) *apierrors.StatusError {
	err := apierrors.NewServiceUnavailable(why)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	return err
}

// logError logs an error that is not the client's, with its cause.
func (r *Response) logError(err error) {
	log.Printf("%s %s: %s", util.Loggable(r.Method), util.Loggable(r.URL.EscapedPath()), api.Printable(api.InFull(err), ' '))
}
