package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/api"
)

// RequestObject implements request.Observer. It omits an object that is not JSON, for which today's
// server would lose the whole line.
func (e *Event) RequestObject(object any) {
	isPatch, isIncluded := e.event.Verb == "patch", e.decision.includes(auditv1.LevelRequest)
	if e.secret || e.event.ObjectRef == nil || isPatch && !isIncluded {
		return
	}
	text := asJSON(object)
	if !json.Valid(text) {
		return
	}
	if !isPatch {
		e.refer(text)
	}
	if isIncluded {
		e.event.RequestObject = e.unknown(text)
	}
}

// asJSON returns an object as JSON, nil if it cannot be.
func asJSON(object any) []byte {
	switch text := object.(type) {
	case []byte:
		return text
	case string:
		return []byte(text)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil
	}
	return text
}

// refer completes the reference in the path with the metadata of the object.
func (e *Event) refer(text []byte) {
	var object struct {
		ID       string // at the first door
		Metadata struct {
			Namespace, Name, ResourceVersion string
			UID                              types.UID
		}
	}
	if json.Unmarshal(text, &object) != nil {
		return
	}
	ref, own := e.event.ObjectRef, &object.Metadata
	ref.Namespace = cmp.Or(ref.Namespace, own.Namespace)
	ref.Name = cmp.Or(ref.Name, own.Name, object.ID)
	ref.UID, ref.ResourceVersion = own.UID, own.ResourceVersion
}

// ResponseObject implements request.Observer.
func (e *Event) ResponseObject(inJSON func() []byte) { e.answer = inJSON }

// Keeps reports whether Answered needs the body of an answer with a status: an object of the level
// RequestResponse, or a Status that says how the request ended.
func (e *Event) Keeps(status int) bool {
	return status >= http.StatusBadRequest || e.event.Verb == "delete" || e.event.ObjectRef != nil && e.decision.includes(auditv1.LevelRequestResponse)
}

// Answered records the status of an answer, and the body, which may be nil if Keeps is false.
func (e *Event) Answered(status int, contentType string, body []byte) {
	e.event.ResponseStatus = &metav1.Status{Code: int32(status)}
	mediaType, _, _ := mime.ParseMediaType(contentType)
	if e.answer != nil && e.Keeps(status) {
		mediaType, body = "application/json", e.answer()
	}
	switch {
	case mediaType == "application/json" && json.Valid(body):
		e.answeredJSON(body)
	case mediaType == "text/plain" && status >= http.StatusBadRequest:
		e.event.ResponseStatus.Status, e.event.ResponseStatus.Message = metav1.StatusFailure, api.Line(strings.TrimSpace(string(body)))
	}
	if e.secret { // an error may quote the body
		e.event.ResponseStatus.Message, e.event.ResponseStatus.Details = "", nil
	}
}

func (e *Event) answeredJSON(body []byte) {
	var answer metav1.TypeMeta
	var status metav1.Status
	if json.Unmarshal(body, &answer) == nil && answer.Kind == "Status" && json.Unmarshal(body, &status) == nil {
		code := e.event.ResponseStatus.Code
		e.event.ResponseStatus = &metav1.Status{Status: status.Status, Message: status.Message, Reason: status.Reason, Details: status.Details, Code: code}
	}
	if e.event.ObjectRef != nil && e.decision.includes(auditv1.LevelRequestResponse) {
		e.event.ResponseObject = e.unknown(body)
	}
}

// Failed records that a request ended without an answer of its handler.
func (e *Event) Failed(status int, reason metav1.StatusReason, message string) {
	e.event.ResponseStatus = &metav1.Status{Status: metav1.StatusFailure, Code: int32(status), Reason: reason, Message: message}
	e.event.ResponseObject = nil
}

// unknown returns a JSON text as a part of an event.
func (e *Event) unknown(text []byte) *runtime.Unknown {
	text = bytes.ToValidUTF8(text, []byte(string(utf8.RuneError))) // a client may send any bytes in a string
	if e.decision.OmitManagedFields {
		text = withoutManagedFields(text)
	}
	return &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}
}

// withoutManagedFields removes the managed fields from the JSON of an object, a list or a table. All else stays as it is.
func withoutManagedFields(text []byte) []byte {
	const name = "managedFields"
	if !bytes.Contains(text, []byte(name)) {
		return text
	}
	remove := func(object []byte) []byte {
		return edit(object, "metadata", func(metadata []byte) []byte {
			return edit(metadata, name, func([]byte) []byte { return nil })
		})
	}
	text = edit(remove(text), "items", func(items []byte) []byte { return edit(items, "", remove) })
	return edit(text, "rows", func(rows []byte) []byte {
		return edit(rows, "", func(row []byte) []byte { return edit(row, "object", remove) })
	})
}

// edit replaces a member of an object in JSON, or each element of an array. Nil removes it. A text that is neither stays.
func edit(text []byte, name string, change func([]byte) []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	begin, err := decoder.Token()
	isObject := begin == json.Delim('{')
	if err != nil || !isObject && begin != json.Delim('[') {
		return text
	}
	edited := []byte{text[decoder.InputOffset()-1]}
	for decoder.More() {
		var key any
		if isObject {
			if key, err = decoder.Token(); err != nil {
				return text
			}
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return text
		}
		after := []byte(value)
		if !isObject || key == name {
			if after = change(value); after == nil {
				continue
			}
		}
		if len(edited) > 1 {
			edited = append(edited, ',')
		}
		if isObject {
			quoted, _ := json.Marshal(key) // it was JSON before
			edited = append(append(edited, quoted...), ':')
		}
		edited = append(edited, after...)
	}
	if isObject {
		return append(edited, '}')
	}
	return append(edited, ']')
}
