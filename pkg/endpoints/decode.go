package endpoints

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/api/v1/quantity"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// MaxBodySize is the size of the largest body that is read, in bytes.
const MaxBodySize = 3 << 20

// body reads the request's body.
func (r *call) body() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(r.w, r.Body, MaxBodySize))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", MaxBodySize))
	case err != nil:
		// The deadline may have passed: allow another second for the answer. A
		// connection without deadlines needs none.
		_ = http.NewResponseController(r.w).SetWriteDeadline(time.Now().Add(time.Second))
		return nil, apierrors.NewBadRequest("the body is incomplete: the client stopped sending it or was too slow")
	}
	// The deadline was for the body: net/http would take it for the client's end.
	_ = http.NewResponseController(r.w).SetReadDeadline(time.Time{})
	return body, nil
}

// asJSON returns a body, which may be YAML, as JSON.
func (r *call) asJSON(body []byte) ([]byte, error) {
	switch r.mediaType() {
	case "", "application/json":
		return body, nil
	case yamlType:
		return fromYAML(body)
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			"application/json, application/yaml, application/vnd.kubernetes.protobuf"}}
}

// yamlError is the error of a body that is no YAML.
type yamlError struct{ error }

// fromYAML converts YAML to JSON. Aliases may not make it larger than a body may be.
func fromYAML(body []byte) ([]byte, error) {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(body, &root); err == nil {
		e := expansion{sizes: map[*yamlv3.Node]int{}}
		switch size := e.sizeOf(&root); {
		case e.endless != "":
			return nil, &yamlError{fmt.Errorf("yaml: anchor '%s' value contains itself", e.endless)}
		case size > MaxBodySize:
			return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d, with all aliases", MaxBodySize))
		}
	}
	text, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, &yamlError{err}
	}
	return text, nil
}

// expansion is how large a YAML text becomes once its aliases are replaced by what they name.
type expansion struct {
	sizes   map[*yamlv3.Node]int // -1 as long as it is not known
	endless string               // the anchor of a value that contains itself, "" if there is none
}

// sizeOf returns about the size of a node in bytes, or more than a body may have.
func (e *expansion) sizeOf(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
	}
	if size, ok := e.sizes[node]; ok {
		if size < 0 {
			e.endless = node.Anchor
		}
		return size
	}
	e.sizes[node] = -1
	size := len(node.Value) + 1
	for _, child := range node.Content {
		size = min(size+e.sizeOf(child), MaxBodySize+1)
	}
	e.sizes[node] = size
	return size
}

// decodeBody reads the object in the body.
func (r *call) decodeBody(into rest.Object) error {
	body, err := r.body()
	if err != nil {
		return err
	}
	if r.mediaType() == protobufType {
		return r.fromProtobuf(body, into)
	}
	text, err := r.asJSON(body)
	if wrong := (*yamlError)(nil); errors.As(err, &wrong) {
		return r.unrecognized(wrong, body)
	}
	if err != nil {
		return err
	}
	unknown, err := r.decode(text, into)
	if err != nil {
		return err
	}
	request.ObserverFrom(r.Context()).RequestObject(text)
	if r.mediaType() == yamlType && r.fieldValidation() != metav1.FieldValidationIgnore {
		if _, err := yaml.YAMLToJSONStrict(body); err != nil { // a field is given twice
			unknown = append([]error{err}, unknown...)
		}
	}
	return r.tell(unknown, func(err error) error { return r.cannotHandle(r.resource.Kind, err) })
}

// Types of bodies besides JSON.
const (
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"
)

// protobufHead is what a body in protobuf begins with.
var protobufHead = []byte("k8s\x00")

// fromProtobuf reads the object in a body in protobuf, as some commands of kubectl send
// it. Its kind stands in an envelope around it.
func (r *call) fromProtobuf(body []byte, into rest.Object) error {
	envelope, err := unwrapped(body)
	if err != nil {
		return r.unrecognized(err, body)
	}
	kind, err := r.kindOf(metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind})
	if err != nil {
		return r.unrecognized(err, body)
	}
	if err := r.isOfKind(kind); err != nil {
		return r.cannotHandle(kind, err)
	}
	message, ok := into.(interface{ Unmarshal([]byte) error })
	if !ok {
		return r.unrecognized(errors.New("the kind has no form in protobuf"), body)
	}
	if quantity.HugeInProtobuf(envelope.Raw) {
		return r.cannotHandle(kind, errors.New("it may have a quantity with too many digits or too large an exponent"))
	}
	if err := message.Unmarshal(envelope.Raw); err != nil {
		return r.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	request.ObserverFrom(r.Context()).RequestObject(into)
	return nil
}

// unwrapped returns the envelope in a body in protobuf.
func unwrapped(body []byte) (envelope runtime.Unknown, err error) {
	text, found := bytes.CutPrefix(body, protobufHead)
	if !found {
		return envelope, errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
	}
	return envelope, envelope.Unmarshal(text)
}

// tell reports fields that are not known, or given twice: as warnings, as an error, or
// not at all.
func (r *call) tell(unknown []error, refuse func(error) error) error {
	switch r.fieldValidation() {
	case metav1.FieldValidationWarn:
		for _, one := range unknown {
			r.warn(one.Error())
		}
	case metav1.FieldValidationStrict:
		if len(unknown) > 0 {
			return refuse(fmt.Errorf("strict decoding error: %s", joined(unknown)))
		}
	}
	return nil
}

func joined(errs []error) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, ", ")
}

// decode reads an object of the resource's kind, and returns what it has that the kind
// does not.
func (r *call) decode(text []byte, into rest.Object) (unknown []error, err error) {
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, r.unrecognized(fmt.Errorf("couldn't get version/kind; json parse error: %w", err), text)
	}
	kind, err := r.kindOf(named)
	if err != nil {
		return nil, r.unrecognized(err, text)
	}
	if err := r.isOfKind(kind); err != nil {
		return nil, r.cannotHandle(kind, err)
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, err
	}
	unknown, err = kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, r.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	return unknown, nil
}

// kindOf returns the kind of which an object says to be: the resource's, if it does not say.
func (r *call) kindOf(named metav1.TypeMeta) (schema.GroupVersionKind, error) {
	given, err := schema.ParseGroupVersion(named.APIVersion)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	kind := given.WithKind(named.Kind)
	if named.APIVersion == "" {
		kind.Group, kind.Version = r.resource.Kind.Group, r.resource.Kind.Version
	}
	if named.Kind == "" {
		kind.Kind = r.resource.Kind.Kind
	}
	return kind, nil
}

// isOfKind says why an object of another kind than the resource's cannot be used.
func (r *call) isOfKind(kind schema.GroupVersionKind) error {
	if kind == r.resource.Kind {
		return nil
	}
	version, group := kind.GroupVersion().String(), r.resource.Kind.Group
	if kind.Group == group {
		version = kind.Version // a scheme knows no groups
	}
	if _, err := v1.Scheme.New(version, kind.Kind); err != nil {
		return err
	}
	if group == "" {
		group = "core"
	}
	group, _, _ = strings.Cut(group, ".")
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", kind.Version, kind.Kind, group, r.resource.Kind.Kind)
}

// unrecognized says why it cannot be told what is in a body.
func (r *call) unrecognized(why error, body []byte) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", r.resource.Kind.Kind, why, summary(body)))
}

func (r *call) cannotHandle(kind schema.GroupVersionKind, why error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, r.resource.Kind.Kind, why))
}

// summary returns the beginning of a text, for an error.
func summary(text []byte) string {
	const most = 30
	switch {
	case len(text) == 0:
		return "<empty>"
	case text[0] == '{' && len(text) > most:
		return string(text[:most]) + " ..."
	case text[0] == '{':
		return string(text)
	case len(text) > most:
		return hex.EncodeToString(text[:most]) + " ..."
	}
	return hex.EncodeToString(text)
}
