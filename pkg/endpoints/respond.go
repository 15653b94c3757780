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

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/rest"
)

// respond answers with an object, in the form that the client accepts, unless there is an error.
func (r *call) respond(status int, answer rest.Answer, err error) error {
	if err != nil {
		return err
	}
	body, err := r.encode(answer, true)
	if err == nil {
		r.write(status, body)
	}
	return err
}

// encode encodes an object in the form that the client accepts: a table with or without the definitions of
// its columns. A status is encoded as it is.
func (r *call) encode(answer rest.Answer, columns bool) (conversion.Encoded, error) {
	switch r.form.as {
	case "PartialObjectMetadata":
		text, err := r.appendMetadata(nil, answer)
		if err != nil || text != nil {
			return conversion.EncodedPieces(text, newline), err
		}
	case "Table":
		object, err := answer.Object()
		if err != nil {
			return conversion.Encoded{}, err
		}
		if metadata, err := meta.Accessor(object); err == nil {
			return r.tableOf(metadata.GetResourceVersion(), object, answer, columns)
		}
	}
	return answer.Encode()
}

// respondList answers with a list, in the form that the client accepts, unless there is an error.
func (r *call) respondList(list *rest.List, err error) error {
	if err != nil {
		return err
	}
	encode := r.converted
	if r.form.as == "" {
		encode = (*rest.List).Encode
	}
	body, err := encode(list)
	if err == nil {
		r.write(http.StatusOK, body)
	}
	return err
}

// appendMetadata appends the PartialObjectMetadata of an object, nothing if it has no metadata.
func (r *call) appendMetadata(text []byte, answer rest.Answer) ([]byte, error) {
	metadata, err := answer.Metadata()
	if err != nil || metadata == nil {
		return text, err
	}
	text = append(append(text, `{"kind":"PartialObjectMetadata","apiVersion":"`...), r.form.group...)
	text = append(append(append(text, '/'), r.form.version...), `","metadata":`...)
	return append(append(text, metadata...), '}'), nil
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

// statusOf returns an error as a status. An error of the server is logged.
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
	if status.Code >= http.StatusInternalServerError && status.Code != http.StatusGatewayTimeout {
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
	body, err := v1.Encode(&status)
	if err != nil {
		r.logError(err)
	}
	if status.Code == http.StatusNotAcceptable { // no form was agreed on
		body = indented(body)
	}
	r.write(int(status.Code), body)
}

// write writes an answer in JSON.
func (r *call) write(status int, body conversion.Encoded) {
	if wantsIndented(r.Request) {
		body = indented(body)
	}
	r.writeWarnings()
	header := r.w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(body.Size))
	r.w.WriteHeader(status)
	for piece := range body.Pieces {
		if _, err := r.w.Write(piece); err != nil {
			return // the client is gone
		}
	}
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

// indented returns a JSON text with each value on a line of its own.
func indented(body conversion.Encoded) conversion.Encoded {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(body.Bytes()), "", "  "); err != nil {
		return body
	}
	return conversion.EncodedBytes(text.Bytes())
}
