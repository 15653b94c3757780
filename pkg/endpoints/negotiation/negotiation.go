// Package negotiation chooses the form of an answer: the one that a client prefers among those that a resource has.
package negotiation

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/endpoints/accept"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/rest"
)

// Form is the representation of an object that a client requests: the object itself, a table, or its metadata.
type Form struct {
	MediaType          string // one of mediaTypes
	As, Group, Version string
	Pretty             bool // each value in JSON has a line of its own
}

// JSON is the media type of JSON.
const JSON = "application/json"

// mediaTypes are those of answers. A client that accepts all gets the first one.
var mediaTypes = []string{JSON, bodies.YAML, bodies.Protobuf}

// GroupVersion returns the version of a table, or of metadata.
func (f Form) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: f.Group, Version: f.Version}
}

// IsPlain reports whether the form is the object itself.
func (f Form) IsPlain() bool { return f.As == "" && f.Group == "" && f.Version == "" }

// Preferred returns the form in the Accept headers that the client prefers among those that are served. It reports whether
// there is one.
func Preferred(headers []string, isServed func(Form) bool) (Form, bool) {
	for _, one := range accept.Parse(headers) {
		for _, mediaType := range mediaTypes {
			wanted := Form{mediaType, one.Parameters["as"], one.Parameters["g"], one.Parameters["v"], one.Parameters["pretty"] == "1"}
			if stream := one.Parameters["stream"]; stream != "" && (stream != "watch" || mediaType == bodies.YAML) {
				continue
			}
			if one.Includes(mediaType) && isServed(wanted) {
				return wanted, true
			}
		}
	}
	return Form{}, false
}

// isServed reports whether the objects of a resource have the form: those without a Go type have none in protobuf, nor has a
// table.
func (f Form) isServed(resource *rest.Resource) bool {
	isMeta := f.GroupVersion() == metav1.SchemeGroupVersion || f.GroupVersion() == metav1beta1.SchemeGroupVersion
	switch f.As {
	case "":
		return f.IsPlain() && (f.MediaType != bodies.Protobuf || resource.Untyped.Codec == nil)
	case "Table":
		return isMeta && f.MediaType != bodies.Protobuf && resource.HasTable()
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return isMeta
	}
	return false
}

// Negotiate returns the form of the answer to a verb. The error is a 406 if the client accepts none that the resource has.
func Negotiate(accepted []string, verb string, resource *rest.Resource) (Form, error) {
	form, ok := Preferred(accepted, func(f Form) bool { return f.isServed(resource) })
	if ok {
		if verb == "watch" && form.MediaType == bodies.YAML {
			return form, onlyAccepted(streamed)
		}
		return form, nil
	}
	known := func(one accept.Range) bool { return slices.ContainsFunc(mediaTypes, one.Includes) }
	if resource.Untyped.Codec != nil || slices.ContainsFunc(accept.Parse(accepted), known) {
		return form, onlyAccepted(mediaTypes)
	}
	available := mediaTypes
	if verb == "watch" || verb == "list" {
		available = slices.Concat(mediaTypes, streamed)
	}
	return form, Unsupported(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(available, ", "))
}

// streamed are the media types of watches.
var streamed = []string{JSON + ";stream=watch", bodies.Protobuf + ";stream=watch"}

func onlyAccepted(mediaTypes []string) error {
	return notAcceptable("only the following media types are accepted: " + strings.Join(mediaTypes, ", "))
}

// CheckIsList returns an error if the client requests a list of metadata of one object, or the metadata of a list.
func (f Form) CheckIsList(verb string, resource *rest.Resource) error {
	isList := verb == "list" || verb == "deletecollection"
	if isList == (f.As == "PartialObjectMetadataList") {
		return nil
	}
	group, _, _ := strings.Cut(cmp.Or(resource.Kind.Group, "core"), ".")
	name := group + "." + resource.Kind.Kind
	if resource.Untyped.Codec != nil {
		name = "unstructured.Unstructured"
	}
	if isList {
		return notAcceptable(fmt.Sprintf("you requested %s, but the requested object is a list (*%sList)", f.As, name))
	}
	return notAcceptable(fmt.Sprintf("you requested %s, but the requested object is not a list (*%s)", f.As, name))
}

// notAcceptable returns a 406 without details.
func notAcceptable(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotAcceptable,
		Reason: metav1.StatusReasonNotAcceptable, Message: message}}
}

// Unsupported returns the error of a media type that is not served.
func Unsupported(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message, Details: &metav1.StatusDetails{}}}
}
