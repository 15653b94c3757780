package endpoints

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/conversion"
	"kube2014/pkg/rest"
)

// respond answers with an object, in the form that the client accepts.
func (r *request) respond(status int, answer rest.Answer) error {
	body, err := r.encode(answer, true)
	if err != nil {
		return err
	}
	r.write(status, body)
	return nil
}

// encode encodes an object in the form that the client accepts, a table with or without the
// definitions of its columns.
func (r *request) encode(answer rest.Answer, columns bool) (conversion.Encoded, error) {
	switch r.form.as {
	case "":
		return answer.Encode()
	case "PartialObjectMetadata":
		return r.partial(answer)
	case "Table":
		return r.one(answer, func(object runtime.Object) (runtime.Object, error) {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return object, nil // a status
			}
			table, err := r.table([]runtime.Object{object}, metav1.ListMeta{ResourceVersion: accessor.GetResourceVersion()})
			if err == nil && !columns {
				table.ColumnDefinitions = nil
			}
			return table, err
		})
	}
	return conversion.Encoded{}, notAcceptable()
}

// one encodes what is made of an object.
func (r *request) one(answer rest.Answer, convert func(runtime.Object) (runtime.Object, error)) (conversion.Encoded, error) {
	object, err := answer.Object()
	if err != nil {
		return conversion.Encoded{}, err
	}
	converted, err := convert(object)
	if err != nil {
		return conversion.Encoded{}, err
	}
	return v1.Encode(converted)
}

// respondList answers with a list, in the form that the client accepts.
func (r *request) respondList(list *rest.List) (err error) {
	var body conversion.Encoded
	switch r.form.as {
	case "":
		body, err = list.Encode()
	case "PartialObjectMetadataList", "Table":
		body, err = r.converted(list)
	default:
		return notAcceptable()
	}
	if err != nil {
		return err
	}
	r.write(http.StatusOK, body)
	return nil
}

// converted encodes a list as a table, or as one of metadata.
func (r *request) converted(list *rest.List) (conversion.Encoded, error) {
	about := metav1.ListMeta{ResourceVersion: strconv.FormatUint(list.Version, 10), Continue: list.Continue}
	if list.Remaining > 0 {
		about.RemainingItemCount = &list.Remaining
	}
	var empty runtime.Object = &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: r.form.as, APIVersion: r.form.groupVersion()},
		ListMeta: about, Items: []metav1.PartialObjectMetadata{}}
	encode := func(item rest.Answer) ([]byte, error) { return r.appendMetadata(nil, item) }
	if r.form.as == "Table" {
		table, err := r.table(nil, about)
		if err != nil {
			return conversion.Encoded{}, err
		}
		empty, encode = table, r.row
	}
	around, err := json.Marshal(empty)
	if err != nil {
		return conversion.Encoded{}, err
	}
	items := make([][]byte, list.Len())
	err = list.Each(r.Context(), func(i int, item rest.Answer) (err error) {
		items[i], err = encode(item)
		return err
	})
	return conversion.EncodedList(bytes.TrimSuffix(around, []byte("]}")), []byte(","), []byte("]}\n"), items), err
}

// row encodes a row of a table, as a metav1.TableRow would be. The object in it has its JSON
// already.
func (r *request) row(answer rest.Answer) ([]byte, error) {
	object, err := answer.Object()
	if err != nil {
		return nil, err
	}
	cells, conditions := r.resource.Printer.Row(object, r.now())
	text := append(make([]byte, 0, rowSize), `{"cells":[`...)
	for i, cell := range cells {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = appendCell(text, cell); err != nil {
			return nil, err
		}
	}
	text = append(text, ']')
	if len(conditions) > 0 {
		encoded, err := json.Marshal(conditions)
		if err != nil {
			return nil, err
		}
		text = append(append(text, `,"conditions":`...), encoded...)
	}
	text = append(text, `,"object":`...)
	switch r.include {
	case metav1.IncludeNone:
		text = append(text, "null"...)
	case metav1.IncludeObject:
		body, err := answer.Encode()
		if err != nil {
			return nil, err
		}
		text = append(text, bytes.TrimSuffix(body.Bytes(), newline)...)
	default:
		if text, err = r.appendMetadata(text, answer); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// rowSize is about that of a pod's row, in bytes.
const rowSize = 640

// appendCell appends the JSON of a cell: as a rule a word, which needs no escapes. By
// reflection the cells are a tenth of the time of a table.
func appendCell(text []byte, cell interface{}) ([]byte, error) {
	needsEscape := func(c rune) bool { return c < ' ' || c > '~' || strings.ContainsRune(`"\<>&`, c) }
	if word, ok := cell.(string); ok && strings.IndexFunc(word, needsEscape) < 0 {
		return append(append(append(text, '"'), word...), '"'), nil
	}
	encoded, err := json.Marshal(cell)
	return append(text, encoded...), err
}

func (r *request) table(objects []runtime.Object, about metav1.ListMeta) (*metav1.Table, error) {
	table, err := r.resource.Printer.Table(objects, r.now(), r.include)
	if err != nil {
		return nil, err
	}
	table.ListMeta, table.APIVersion = about, r.form.groupVersion()
	for _, row := range table.Rows {
		if only, ok := row.Object.Object.(*metav1.PartialObjectMetadata); ok {
			only.APIVersion = table.APIVersion
		}
	}
	return table, nil
}

// partial encodes the metadata of an object; a status stays what it is.
func (r *request) partial(answer rest.Answer) (conversion.Encoded, error) {
	text, err := r.appendMetadata(nil, answer)
	if err != nil {
		return conversion.Encoded{}, err
	}
	if text == nil {
		return answer.Encode()
	}
	return conversion.EncodedBytes(append(text, '\n')), nil
}

// appendMetadata appends the JSON of an object of which only the metadata are shown, and
// nothing if it has none.
func (r *request) appendMetadata(text []byte, answer rest.Answer) ([]byte, error) {
	metadata, err := answer.Metadata()
	if err != nil || metadata == nil {
		return text, err
	}
	text = append(append(text, `{"kind":"PartialObjectMetadata","apiVersion":"`...), r.form.group...)
	text = append(append(append(text, '/'), r.form.version...), `","metadata":`...)
	return append(append(text, metadata...), '}'), nil
}

// warn adds a warning to the answer.
func (r *request) warn(text string) { r.warnings = append(r.warnings, text) }

// Limits of the warnings in an answer, in characters. If all are longer, each is cut.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// writeWarnings puts the warnings into the header of the answer.
func (r *request) writeWarnings() {
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

// statusOf returns an error as a status. One that is not the client's is logged.
func (r *request) statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewInternalError(errors.New("the request failed; the server's log has the reason"))
	}
	status := known.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if status.Code >= http.StatusInternalServerError && status.Code != http.StatusGatewayTimeout {
		r.logError(err)
	}
	return status
}

// error answers with an error.
func (r *request) error(err error) {
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
func (r *request) write(status int, body conversion.Encoded) {
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

// wantsIndented reports whether a person reads the answer: one who says so, or who uses
// curl, wget or a browser.
func wantsIndented(req *http.Request) bool {
	if pretty := req.URL.Query().Get("pretty"); pretty != "" {
		return pretty != "false" && pretty != "0"
	}
	agent := req.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// indented returns a JSON text with a line for each value.
func indented(body conversion.Encoded) conversion.Encoded {
	var text bytes.Buffer
	if err := json.Indent(&text, bytes.TrimSpace(body.Bytes()), "", "  "); err != nil {
		return body
	}
	return conversion.EncodedBytes(text.Bytes())
}
