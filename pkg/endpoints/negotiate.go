package endpoints

import (
	"mime"
	"net/http"
	"strconv"
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

// negotiate returns the form in the Accept headers that the client likes best, the first
// of several, and that the server has: JSON. A client that names only others gets an error.
func negotiate(accept []string) (best form, err error) {
	err = notAcceptable()
	most := 0.0
	ranges := strings.SplitN(strings.Join(accept, ","), ",", maxAccepted)
	for _, one := range ranges {
		if strings.TrimSpace(one) == "" && len(ranges) == 1 {
			return form{}, nil
		}
		mediaType, parameters, wrong := mime.ParseMediaType(one)
		if wrong != nil {
			continue
		}
		switch mediaType {
		case "application/json", "application/*", "*/*":
		default:
			continue
		}
		wanted := form{parameters["as"], parameters["g"], parameters["v"]}
		if quality := qualityOf(parameters["q"]); wanted.isKnown() && (err != nil || quality > most) {
			best, most, err = wanted, quality, nil
		}
	}
	return best, err
}

// qualityOf returns how much a client likes a media type, which is 1 if it does not say.
func qualityOf(parameter string) float64 {
	if quality, err := strconv.ParseFloat(parameter, 64); err == nil && quality >= 0 {
		return min(quality, 1)
	}
	return 1
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
