package endpoints

import (
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
)

// form is how a client wants to see an object: as it is, or as something made of it.
type form struct{ as, group, version string }

func (f form) groupVersion() string { return f.group + "/" + f.version }

// maxAccepted bounds how many media types of a request are looked at.
const maxAccepted = 100

// negotiate returns the first form in the Accept headers that the server has: JSON. A
// client that names only others gets an error.
func negotiate(accept []string) (form, error) {
	ranges := strings.SplitN(strings.Join(accept, ","), ",", maxAccepted)
	for _, one := range ranges {
		if strings.TrimSpace(one) == "" && len(ranges) == 1 {
			return form{}, nil
		}
		mediaType, parameters, err := mime.ParseMediaType(one)
		if err != nil {
			continue
		}
		switch mediaType {
		case "application/json", "application/*", "*/*":
		default:
			continue
		}
		wanted := form{parameters["as"], parameters["g"], parameters["v"]}
		if wanted.isKnown() {
			return wanted, nil
		}
	}
	return form{}, notAcceptable()
}

// isKnown reports whether the server can answer in a form.
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
