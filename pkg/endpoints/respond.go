package endpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/endpoints/bodies"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// respond answers with an object, in the form that the client accepts, unless there is an error.
func (r *call) respond(status int, answer rest.Answer, err error) error {
	if err != nil {
		return err
	}
	return r.write(status, func() (conversion.Encoded, error) {
		if r.form.mediaType == bodies.Protobuf {
			var message conversion.Parts
			envelope, err := r.addMessage(&message, answer, true)
			return v1.EncodeProtobuf(envelope, &message), err
		}
		return r.encode(answer, true)
	})
}

// encode encodes an object as JSON in the form that the client accepts: a table with or without the definitions of
// its columns. A status is encoded as it is.
func (r *call) encode(answer rest.Answer, columns bool) (conversion.Encoded, error) {
	switch r.form.as {
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

// addMessage is encode in protobuf: it adds the parts of the message of an object, and returns the envelope of its kind.
func (r *call) addMessage(message *conversion.Parts, answer rest.Answer, forOne bool) (envelope []byte, err error) {
	if r.form.as != "" {
		before := len(message.All)
		if err := answer.AddMetadata(message); err != nil || len(message.All) > before {
			return v1.EnvelopeOf(r.form.groupVersion().WithKind(r.form.as)), err
		}
	}
	return answer.AddMessage(message, forOne)
}

// respondList answers with a list, in the form that the client accepts, unless there is an error.
func (r *call) respondList(list *rest.List, err error) error {
	if err != nil {
		return err
	}
	return r.write(http.StatusOK, func() (conversion.Encoded, error) {
		switch inProtobuf := r.form.mediaType == bodies.Protobuf; {
		case inProtobuf && r.form.as == "":
			return list.EncodeProtobuf()
		case inProtobuf:
			return list.EncodeMetadata(r.form.groupVersion())
		case r.form.as == "":
			return list.Encode()
		}
		return r.converted(list)
	})
}

// appendMetadata appends the PartialObjectMetadata of an object, nothing if it has no metadata.
func (r *call) appendMetadata(text []byte, answer rest.Answer) ([]byte, error) {
	before := len(text)
	text = append(append(text, `{"kind":"PartialObjectMetadata","apiVersion":"`...), r.form.group...)
	text = append(append(append(text, '/'), r.form.version...), `","metadata":`...)
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

// warn adds a warning to the answer, once.
func (r *call) warn(text string) {
	if !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// Limits of the warnings in an answer, in characters. If their sum exceeds the first one, each is truncated.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// writeWarnings adds the warnings to the header of the answer.
func (r *call) writeWarnings() {
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
			r.w.Header().Add("Warning", line)
			written += utf8.RuneCountInString(text)
		}
	}
}

// statusOf returns an error as a status. An error of the server is logged if the client does not get all of it.
func (r *call) statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(errors.New("the request failed; the server's log has the reason"))
		if r.resource != nil && r.resource.Removed() { // what it has read may be of the next definition
			known = tryAgain("the definition of the resource has changed during the request, please try again")
		}
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Code >= http.StatusInternalServerError && status.Code != http.StatusGatewayTimeout && api.InFull(err) != status.Message {
		r.logError(err)
	}
	return status
}

// error answers with an error.
func (r *call) error(err error) {
	status := r.statusOf(err)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	var known bool
	if r.form, known = negotiate(r.Header.Values("Accept"), form.isPlain); !known {
		r.form = form{mediaType: jsonType, pretty: true}
	}
	if err := r.respond(int(status.Code), rest.MakeAnswer(&status), nil); err != nil {
		r.logError(err)
	}
}

// write writes an answer. Encode encodes it in the form that the client accepts, but for YAML and lines: that begins as compact JSON.
func (r *call) write(status int, encode func() (conversion.Encoded, error)) error {
	body, err := encode()
	if err == nil && r.form.mediaType == bodies.YAML {
		body, err = asYAML(body)
	}
	if err != nil {
		return err
	}
	if r.form.mediaType == jsonType && (r.form.pretty || wantsIndented(r.Request)) {
		body = indented(body)
	}
	r.writeWarnings()
	header := r.w.Header()
	header.Set("Content-Type", r.form.mediaType)
	compressed := body.Size > compressedFrom && acceptsGzip(r.Header)
	if compressed {
		header.Set("Content-Encoding", "gzip")
		header.Add("Vary", "Accept-Encoding")
	} else {
		header.Set("Content-Length", strconv.Itoa(body.Size))
	}
	if compressed || r.form.mediaType != jsonType {
		request.ObserverFrom(r.Context()).ResponseObject(func() []byte { return r.inJSON(encode) })
	}
	r.w.WriteHeader(status)
	if compressed {
		writeCompressed(r.w, body)
		return nil
	}
	for piece := range body.Pieces {
		if _, err := r.w.Write(piece); err != nil {
			return nil // the client is gone
		}
	}
	return nil
}

// inJSON returns an answer in JSON whatever its form, nil if it cannot be encoded.
func (r *call) inJSON(encode func() (conversion.Encoded, error)) []byte {
	accepted := r.form
	defer func() { r.form = accepted }()
	r.form.mediaType = jsonType
	body, err := encode()
	if err != nil {
		return nil
	}
	return body.Bytes()
}

// wantsIndented reports whether a person reads the answer: the query requests it, or the client is curl,
// wget or a browser.
func wantsIndented(req *http.Request) bool {
	if pretty := req.URL.Query().Get("pretty"); pretty != "" {
		return pretty != "false" && pretty != "0"
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

func asYAML(body conversion.Encoded) (conversion.Encoded, error) {
	text, err := yaml.JSONToYAML(body.Bytes())
	return conversion.EncodedBytes(text), err
}

// indented returns a JSON text with each value on a line of its own.
func indented(body conversion.Encoded) conversion.Encoded {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(body.Bytes()), "", "  "); err != nil {
		return body
	}
	return conversion.EncodedBytes(text.Bytes())
}
