package endpoints

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"

	"kube2014/pkg/endpoints/accept"
)

// form is the representation of an object that a client requests: the object itself, a table, or its metadata.
type form struct{ as, group, version string }

func (f form) groupVersion() string { return f.group + "/" + f.version }

// negotiate returns the form in the Accept headers that the client prefers among those that the server
// supports: all are JSON. The error is a 406 if there is none.
func negotiate(headers []string) (form, error) {
	for _, one := range accept.Parse(headers) {
		if wanted := (form{one.Parameters["as"], one.Parameters["g"], one.Parameters["v"]}); one.IsJSON() && wanted.isKnown() {
			return wanted, nil
		}
	}
	return form{}, notAcceptable()
}

// isKnown reports whether the server supports a form.
func (f form) isKnown() bool {
	switch f.as {
	case "":
		return true
	case "Table", "PartialObjectMetadata", "PartialObjectMetadataList":
		return f.groupVersion() == metav1.SchemeGroupVersion.String() || f.groupVersion() == metav1beta1.SchemeGroupVersion.String()
	}
	return false
}

func notAcceptable() error {
	return unsupported(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable\n\nAvailable representations: application/json")
}

func unsupported(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message, Details: &metav1.StatusDetails{}}}
}
