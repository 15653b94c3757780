package endpoints

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/endpoints/query"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
	"kube2014/pkg/util/quantity"
)

// decodeBody decodes the object in the body.
func (r *call) decodeBody(into rest.Object) error {
	body, err := bodies.Read(r.W, r.Request)
	if err != nil {
		return err
	}
	if bodies.Type(r.Header) == bodies.Protobuf {
		return r.fromProtobuf(body, into)
	}
	text, twice, err := bodies.JSON(r.Header, body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
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
	if twice != nil && r.fieldValidation() != metav1.FieldValidationIgnore {
		unknown = append([]error{twice}, unknown...)
	}
	return r.reportUnknown(unknown, func(err error) error { return r.cannotHandle(r.Resource.Kind, err) })
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
func (r *call) fromProtobuf(body []byte, into rest.Object) error {
	envelope, err := bodies.Unwrap(body)
	if err != nil {
		return r.unrecognized(err, body)
	}
	kind, err := r.kindOf(metav1.TypeMeta{APIVersion: envelope.APIVersion, Kind: envelope.Kind}, nil)
	if err != nil {
		return r.unrecognized(err, body)
	}
	if err := r.isOfKind(kind); err != nil {
		return r.cannotHandle(kind, err)
	}
	message, ok := into.(message)
	if !ok {
		return r.unrecognized(errors.New("the kind has no form in protobuf"), body)
	}
	if err := r.checkNesting(bodies.NestingInProtobuf, envelope.Raw); err != nil {
		return err
	}
	if quantity.HugeInProtobuf(envelope.Raw) {
		return r.cannotHandle(kind, errors.New("it may have a quantity with too many digits or too large an exponent"))
	}
	if err := unmarshal(message, envelope.Raw); err != nil {
		return r.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	request.ObserverFrom(r.Context()).RequestObject(into)
	return nil
}

// reportUnknown reports unknown and duplicate fields: as warnings, as an error, or not at all.
func (r *call) reportUnknown(unknown []error, refuse func(error) error) error {
	switch r.fieldValidation() {
	case metav1.FieldValidationWarn:
		for _, one := range unknown {
			r.warnOf(one)
		}
	case metav1.FieldValidationStrict:
		if len(unknown) > 0 {
			return refuse(runtime.NewStrictDecodingError(unknown))
		}
	}
	return nil
}

// warnOf sends an error as a warning: a field that YAML gives twice is on a line of its own.
func (r *call) warnOf(err error) {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	lines, isYAML := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !isYAML {
		r.Warn(err.Error())
		return
	}
	for line := range strings.Lines(lines) {
		r.Warn(strings.TrimSpace(line))
	}
}

// decode decodes an object of the resource's kind, and returns its unknown and duplicate fields.
func (r *call) decode(text []byte, into rest.Object) (unknown []error, err error) {
	var named metav1.TypeMeta
	if err := json.Unmarshal(text, &named); err != nil {
		return nil, r.unrecognized(fmt.Errorf("couldn't get version/kind; json parse error: %w", err), text)
	}
	kind, err := r.kindOf(named, text)
	if err != nil {
		return nil, r.unrecognized(err, text)
	}
	if object, untyped := into.(*unstructured.Unstructured); untyped {
		return r.decodeUntyped(text, kind, object)
	}
	if err := r.isOfKind(kind); err != nil {
		return nil, r.cannotHandle(kind, err)
	}
	if err := quantity.CheckJSON(text); err != nil {
		return nil, err
	}
	if err := r.checkNesting(bodies.Nesting, text); err != nil {
		return nil, err
	}
	unknown, err = kjson.UnmarshalStrict(text, into)
	if err != nil {
		return nil, r.cannotHandle(kind, err)
	}
	into.GetObjectKind().SetGroupVersionKind(kind)
	return unknown, nil
}

// checkNesting returns an error for an object of a recursive type that would take minutes to decode, or too deep a stack.
func (r *call) checkNesting(nesting func([]byte) int, body []byte) error {
	if r.Resource.Recursive && nesting(body) > bodies.MaxNesting {
		return apierrors.NewRequestEntityTooLargeError("too much of it is nested too deeply")
	}
	return nil
}

// decodeUntyped is decode for a kind without a Go type. Another kind than that of the resource is an error of validation.
func (r *call) decodeUntyped(text []byte, kind schema.GroupVersionKind, into *unstructured.Unstructured) (unknown []error, err error) {
	if kind.GroupVersion() != r.Resource.GroupVersion {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", kind.GroupVersion(), r.Resource.GroupVersion))
	}
	if unknown, err = r.Resource.Untyped.Decode(text, into); err != nil {
		return nil, r.cannotHandle(kind, err)
	}
	return unknown, nil
}

// kindOf returns the kind that an object names. The default is the resource's kind, but an object without a Go type has none.
func (r *call) kindOf(named metav1.TypeMeta, text []byte) (schema.GroupVersionKind, error) {
	given, err := schema.ParseGroupVersion(named.APIVersion)
	untyped := r.Resource.Untyped.Decode != nil
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, err
	case untyped && named.Kind == "":
		return schema.GroupVersionKind{}, runtime.NewMissingKindErr(string(text))
	case !untyped && named.APIVersion == "":
		given = r.Resource.Kind.GroupVersion()
	}
	return given.WithKind(cmp.Or(named.Kind, r.Resource.Kind.Kind)), nil
}

// isOfKind returns an error for an object of another kind than the resource's.
func (r *call) isOfKind(kind schema.GroupVersionKind) error {
	if kind == r.Resource.Kind {
		return nil
	}
	if !r.Resource.Types().Recognizes(kind) {
		return fmt.Errorf("no kind %q is registered for version %q", kind.Kind, kind.GroupVersion())
	}
	group, _, _ := strings.Cut(cmp.Or(r.Resource.Kind.Group, "core"), ".")
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", kind.Version, kind.Kind, group, r.Resource.Kind.Kind)
}

// unrecognized returns the error for a body whose content is unknown.
func (r *call) unrecognized(why error, body []byte) error {
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", r.Resource.Kind.Kind, why, bodies.Summary(body)))
}

func (r *call) cannotHandle(kind schema.GroupVersionKind, why error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", kind.Kind, kind.Version, r.Resource.Kind.Kind, why))
}

// deleteOptions decodes the options of a delete from the body or from the query.
func (r *call) deleteOptions() (metav1.DeleteOptions, error) {
	body, err := bodies.Read(r.W, r.Request)
	if err != nil {
		return metav1.DeleteOptions{}, err
	}
	if len(body) == 0 {
		return query.DeleteOptions(r.URL.Query())
	}
	deletion, err := r.decodeDeletion(body)
	if err != nil {
		return deletion, err
	}
	request.ObserverFrom(r.Context()).RequestObject(&deletion)
	if deletion.Kind != "" && deletion.Kind != "DeleteOptions" {
		return deletion, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	return deletion, query.CheckDelete(&deletion)
}

// decodeDeletion decodes the options in the body of a delete.
func (r *call) decodeDeletion(body []byte) (deletion metav1.DeleteOptions, err error) {
	if bodies.Type(r.Header) == bodies.Protobuf {
		envelope, err := bodies.Unwrap(body)
		if err == nil {
			err = deletion.Unmarshal(envelope.Raw)
		}
		if err != nil {
			return deletion, apierrors.NewBadRequest(err.Error())
		}
		deletion.Kind = envelope.Kind
		return deletion, nil
	}
	text, _, err := bodies.JSON(r.Header, body)
	if wrong := (*bodies.Malformed)(nil); errors.As(err, &wrong) {
		return deletion, apierrors.NewBadRequest(wrong.Error())
	}
	if err != nil {
		return deletion, err
	}
	if err := json.Unmarshal(text, &deletion); err != nil {
		return deletion, apierrors.NewBadRequest(err.Error())
	}
	return deletion, nil
}

// fieldValidation returns the policy for unknown and duplicate fields.
func (r *call) fieldValidation() string {
	return cmp.Or(r.URL.Query().Get("fieldValidation"), metav1.FieldValidationWarn)
}
