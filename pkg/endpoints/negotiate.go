package endpoints

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api/conversion"
	"kube2014/pkg/endpoints/accept"
	"kube2014/pkg/endpoints/bodies"
)

// form is the representation of an object that a client requests: the object itself, a table, or its metadata.
type form struct {
	mediaType          string // one of mediaTypes
	as, group, version string
	pretty             bool // each value in JSON has a line of its own
}

const jsonType = "application/json"

// mediaTypes are those of answers. A client that accepts all gets the first one.
var mediaTypes = []string{jsonType, bodies.YAML, bodies.Protobuf}

func (f form) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: f.group, Version: f.version}
}

// isPlain reports whether the form is the object itself.
func (f form) isPlain() bool { return f.as == "" && f.group == "" && f.version == "" }

// negotiate returns the form in the Accept headers that the client prefers among those that are served. It reports whether there
// is one.
func negotiate(headers []string, isServed func(form) bool) (form, bool) {
	for _, one := range accept.Parse(headers) {
		for _, mediaType := range mediaTypes {
			wanted := form{mediaType, one.Parameters["as"], one.Parameters["g"], one.Parameters["v"], one.Parameters["pretty"] == "1"}
			if stream := one.Parameters["stream"]; stream != "" && (stream != "watch" || mediaType == bodies.YAML) {
				continue
			}
			if one.Includes(mediaType) && isServed(wanted) {
				return wanted, true
			}
		}
	}
	return form{}, false
}

// serves reports whether the objects of the resource have a form: those without a Go type have none in protobuf, nor has a table.
func (r *call) serves(f form) bool {
	isMeta := f.groupVersion() == metav1.SchemeGroupVersion || f.groupVersion() == metav1beta1.SchemeGroupVersion
	switch f.as {
	case "":
		return f.isPlain() && (f.mediaType != bodies.Protobuf || r.resource.Untyped.Codec == nil)
	case "Table":
		return isMeta && f.mediaType != bodies.Protobuf && r.resource.HasTable()
	case "PartialObjectMetadata", "PartialObjectMetadataList":
		return isMeta
	}
	return false
}

// negotiate sets the form of the answer. The error is a 406 if the client accepts none that the resource has.
func (r *call) negotiate() (err error) {
	accepted, ok := r.Header.Values("Accept"), false
	isStream := r.info.Verb == "watch"
	if r.form, ok = negotiate(accepted, r.serves); ok {
		if isStream && r.form.mediaType == bodies.YAML {
			return onlyAccepted(streamed)
		}
		return nil
	}
	known := func(one accept.Range) bool { return slices.ContainsFunc(mediaTypes, one.Includes) }
	if r.resource.Untyped.Codec != nil || slices.ContainsFunc(accept.Parse(accepted), known) {
		return onlyAccepted(mediaTypes)
	}
	available := mediaTypes
	if isStream || r.info.Verb == "list" {
		available = slices.Concat(mediaTypes, streamed)
	}
	return unsupported(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(available, ", "))
}

// streamed are the media types of watches.
var streamed = []string{jsonType + ";stream=watch", bodies.Protobuf + ";stream=watch"}

func onlyAccepted(mediaTypes []string) error {
	return notAcceptable("only the following media types are accepted: " + strings.Join(mediaTypes, ", "))
}

// checkIsList returns an error if the client requests a list of metadata of one object, or the metadata of a list.
func (r *call) checkIsList() error {
	isList := r.info.Verb == "list" || r.info.Verb == "deletecollection"
	if isList == (r.form.as == "PartialObjectMetadataList") {
		return nil
	}
	group, _, _ := strings.Cut(cmp.Or(r.resource.Kind.Group, "core"), ".")
	name := group + "." + r.resource.Kind.Kind
	if r.resource.Untyped.Codec != nil {
		name = "unstructured.Unstructured"
	}
	if isList {
		return notAcceptable(fmt.Sprintf("you requested %s, but the requested object is a list (*%sList)", r.form.as, name))
	}
	return notAcceptable(fmt.Sprintf("you requested %s, but the requested object is not a list (*%s)", r.form.as, name))
}

// notAcceptable returns a 406 without details.
func notAcceptable(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotAcceptable,
		Reason: metav1.StatusReasonNotAcceptable, Message: message}}
}

func unsupported(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: message, Details: &metav1.StatusDetails{}}}
}

// compressedFrom is the size above which an answer is compressed, in bytes, as by today's server.
const compressedFrom = 128 << 10

// acceptsGzip reports whether a client accepts answers that are compressed. As in today's server, one that gives gzip a weight
// does not.
func acceptsGzip(header http.Header) bool {
	for encoding := range strings.SplitSeq(header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "gzip" {
			return true
		}
	}
	return false
}

// compressors are reused: to make one takes a third of the time of an answer of 200 KB.
var compressors = sync.Pool{New: func() any {
	compressor, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // there is no such level
	}
	return compressor
}}

// writeCompressed writes a text compressed. If that fails, the client is gone.
func writeCompressed(w io.Writer, body conversion.Encoded) {
	compressor := compressors.Get().(*gzip.Writer)
	defer compressors.Put(compressor)
	compressor.Reset(w)
	defer compressor.Reset(nil) // the connection must not stay in memory
	for piece := range body.Pieces {
		if _, err := compressor.Write(piece); err != nil {
			return
		}
	}
	_ = compressor.Close()
}
