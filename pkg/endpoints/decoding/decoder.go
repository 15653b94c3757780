// Package decoding reads what requests to a resource send: objects, patches, and options of a delete.
package decoding

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/quantity"
)

// Decoder reads the body of a request to a resource.
type Decoder struct {
	*http.Request
	W        http.ResponseWriter
	Resource *rest.Resource
	Warn     func(text string) // adds a warning to the answer
}

// Object decodes the object in the body.
func (d Decoder) Object(into rest.Object) error {
	body, err := bodies.Read(d.W, d.Request)
	if err != nil {
		return err
	}
	if bodies.Type(d.Header) == bodies.Protobuf {
		return d.fromProtobuf(body, into)
	}
	text, twice, err := bodies.JSON(d.Header, body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
		return d.unrecognized(wrong, body)
	}
	if err != nil {
		return err
	}
	unknown, err := d.decode(text, into)
	if err != nil {
		return err
	}
	request.ObserverFrom(d.Context()).RequestObject(text)
	if twice != nil && d.FieldValidation() != metav1.FieldValidationIgnore {
		unknown = append([]error{twice}, unknown...)
	}
	return d.ReportUnknown(unknown, func(err error) error { return d.cannotHandle(d.Resource.Kind, err) })
}

type message interface{ Unmarshal([]byte) error }

// unmarshal decodes a message. The library panics if a quantity has a length that is too large.
func unmarshal(into message, text []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the message is malformed")
		}
	}()
	return into.Unmarshal(text)
}

// fromProtobuf decodes the object in a protobuf body, which some commands of kubectl send. An
// envelope around the object has its kind.
func (d Decoder) fromProtobuf(body []byte, into rest.Object) error {
	envelope, err := bodies.Unwrap(body)
	if err != nil {
		return d.unrecognized(err, body)
	}
	kind, err := d.kindOf(metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind}, nil)
	if err != nil {
		return d.unrecognized(err, body)
	}
	if err := d.isOfKind(kind); err != nil {
		return d.cannotHandle(kind, err)
	}
	message, ok := into.(message)
	if !ok {
		return d.unrecognized(errors.New("the kind has no form in protobuf"), body)
	}
	if err := d.checkNesting(bodies.NestingInProtobuf, envelope.Raw); err != nil {
		return err
	}
	if quantity.HugeInProtobuf(envelope.Raw) {
		return d.cannotHandle(kind, errors.New("it may have a quantity with too many digits or too large an exponent"))
	}
	if err := unmarshal(message, envelope.Raw); err != nil {
		return d.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	request.ObserverFrom(d.Context()).RequestObject(into)
	return nil
}

// ReportUnknown reports unknown and duplicate fields: as warnings, as an error, or not at all.
func (d Decoder) ReportUnknown(unknown []error, refuse func(error) error) error {
	switch d.FieldValidation() {
	case metav1.FieldValidationWarn:
		for _, one := range unknown {
			d.WarnOf(one)
		}
	case metav1.FieldValidationStrict:
		if len(unknown) > 0 {
			return refuse(runtime.NewStrictDecodingError(unknown))
		}
	}
	return nil
}

// WarnOf sends an error as a warning: a field that YAML gives twice is on a line of its own.
func (d Decoder) WarnOf(err error) {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	lines, isYAML := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !isYAML {
		d.Warn(err.Error())
		return
	}
	for line := range strings.Lines(lines) {
		d.Warn(strings.TrimSpace(line))
	}
}

// decode decodes an object of the resource's kind, and returns its unknown and duplicate fields.
func (d Decoder) decode(text []byte, into rest.Object) (unknown []error, err error) {
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, d.unrecognized(fmt.Errorf("couldn't get version/kind; json parse error: %w", err), text)
	}
	kind, err := d.kindOf(named, text)
	if err != nil {
		return nil, d.unrecognized(err, text)
	}
	if object, untyped := into.(*unstructured.Unstructured); untyped {
		return d.decodeUntyped(text, kind, object)
	}
	if err := d.isOfKind(kind); err != nil {
		return nil, d.cannotHandle(kind, err)
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, err
	}
	if err := d.checkNesting(bodies.Nesting, text); err != nil {
		return nil, err
	}
	unknown, err = kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, d.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	return unknown, nil
}

// checkNesting returns an error for an object of a recursive type that would take minutes to decode, or too deep a stack.
func (d Decoder) checkNesting(nesting func([]byte) int, body []byte) error {
	if d.Resource.Recursive && nesting(body) > bodies.MaxNesting {
		return apierrors.NewRequestEntityTooLargeError("too much of it is nested too deeply")
	}
	return nil
}

// decodeUntyped is decode for a kind without a Go type. Another kind than that of the resource is an error of validation.
func (d Decoder) decodeUntyped(text []byte, kind schema.GroupVersionKind, into *unstructured.Unstructured) (unknown []error, err error) {
	if kind.GroupVersion() != d.Resource.GroupVersion {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", kind.GroupVersion(), d.Resource.GroupVersion))
	}
	if unknown, err = d.Resource.Untyped.Decode(text, into); err != nil {
		return nil, d.cannotHandle(kind, err)
	}
	return unknown, nil
}

// kindOf returns the kind that an object names. The default is the resource's kind, but an object without a Go type has none.
func (d Decoder) kindOf(named metav1.TypeMeta, text []byte) (schema.GroupVersionKind, error) {
	given, err := schema.ParseGroupVersion(named.APIVersion)
	untyped := d.Resource.Untyped.Decode != nil
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, err
	case untyped && named.Kind == "":
		return schema.GroupVersionKind{}, runtime.NewMissingKindErr(string(text))
	case !untyped && named.APIVersion == "":
		given = d.Resource.Kind.GroupVersion()
	}
	return given.WithKind(cmp.Or(named.Kind, d.Resource.Kind.Kind)), nil
}

// isOfKind returns an error for an object of another kind than the resource's.
func (d Decoder) isOfKind(kind schema.GroupVersionKind) error {
	if kind == d.Resource.Kind {
		return nil
	}
	if !d.Resource.Types().Recognizes(kind) {
		return fmt.Errorf("no kind %q is registered for version %q", kind.Kind, kind.GroupVersion())
	}
	group, _, _ := strings.Cut(cmp.Or(d.Resource.Kind.Group, "core"), ".")
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", kind.Version, kind.Kind, group, d.Resource.Kind.Kind)
}

// unrecognized returns the error for a body whose content is unknown.
func (d Decoder) unrecognized(why error, body []byte) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", d.Resource.Kind.Kind, why, bodies.Summary(body)))
}

func (d Decoder) cannotHandle(kind schema.GroupVersionKind, why error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, d.Resource.Kind.Kind, why))
}

// FieldValidation returns the policy for unknown and duplicate fields.
func (d Decoder) FieldValidation() string {
	return cmp.Or(d.URL.Query().Get("fieldValidation"), metav1.FieldValidationWarn)
}
