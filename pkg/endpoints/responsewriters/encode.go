package responsewriters

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
)

var newline = []byte("\n")

// Encode encodes an object as JSON in the form that the client accepts: a table with or without the definitions of
// its columns. A status is encoded as it is.
func (r *Response) Encode(answer rest.Answer, columns bool) (conversion.Encoded, error) {
	switch r.Form.As {
	case "PartialObjectMetadata":
		text, err := r.appendMetadata(nil, answer)
		if err != nil || len(text) > 0 {
			return conversion.EncodedPieces(text, newline), err
		}
	case "Table":
		object, err := answer.Object()
		if err != nil {
			return conversion.Encoded{}, err
		}
		if metadata, err := meta.Accessor(object); err == nil {
			return r.tableOf(metadata, object, answer, columns)
		}
	}
	return answer.Encode()
}

// AddMessage is Encode in protobuf: it adds the parts of the message of an object, and returns the envelope of its kind.
func (r *Response) AddMessage(message *conversion.Parts, answer rest.Answer, forOne bool) (envelope []byte, err error) {
	if r.Form.As != "" {
		before := len(message.All)
		if err := answer.AddMetadata(message); err != nil || len(message.All) > before {
			return v1.EnvelopeOf(r.Form.GroupVersion().WithKind(r.Form.As)), err
		}
	}
	return answer.AddMessage(message, forOne)
}

// appendMetadata appends the PartialObjectMetadata of an object, nothing if it has no metadata.
func (r *Response) appendMetadata(text []byte, answer rest.Answer) ([]byte, error) {
	before := len(text)
	text = append(append(text, `{"kind":"PartialObjectMetadata","apiVersion":"`...), r.Form.Group...)
	text = append(append(append(text, '/'), r.Form.Version...), `","metadata":`...)
	begin := len(text)
	text, err := answer.Metadata(text)
	switch {
	case err != nil:
		return nil, err
	case len(text) == begin:
		return text[:before], nil
	}
	return append(text, '}'), nil
}
