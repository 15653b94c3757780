// Package bodies reads the bodies of requests: JSON, YAML and protobuf.
package bodies

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	yamlv3 "go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protowire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Types of bodies besides JSON.
const (
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

// protobufHead is what a body in protobuf begins with.
var protobufHead = []byte("k8s\x00")

// usualSize is what is allocated for a body at most before it has come, in bytes.
const usualSize = 64 << 10

// MaxSize is the size of the largest body that is read, in bytes.
const MaxSize = 3 << 20

// MaxNesting is the largest Nesting of an object whose type contains itself, such as a schema: to decode it reads all that is in
// each level once more. The largest definitions known have a tenth.
const MaxNesting = 64 << 20

// Nesting returns the sum of the depths of all bytes of a JSON text.
func Nesting(text []byte) (sum int) {
	depth, quoted, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case c == '"':
			quoted = !quoted
		case quoted:
			escaped = c == '\\'
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		sum += depth
	}
	return sum
}

// NestingInProtobuf is Nesting for a protobuf message, at most a little above MaxNesting. The encoding does not tell texts from
// messages: all that a decoder may read as a message counts as one, and so does what is in a group.
func NestingInProtobuf(message []byte) (sum int) {
	var outer []int // the ends of the messages around the present one
	at, end := 0, len(message)
	for sum <= MaxNesting {
		for at == end {
			if len(outer) == 0 {
				return sum
			}
			end, outer = outer[len(outer)-1], outer[:len(outer)-1]
		}
		tag, size := varint(message[at:end])
		at += size
		switch kind := protowire.Type(tag & 7); {
		case size == 0:
			at = end // it is no message
		case kind == protowire.BytesType:
			length, size := varint(message[at:end])
			if at += size; size == 0 || length > uint64(end-at) {
				at = end
				continue
			}
			outer, end = append(outer, end), at+int(length)
			sum += int(length)
		case kind == protowire.VarintType:
			_, size := varint(message[at:end])
			at += size
		case kind == protowire.Fixed64Type:
			at = min(at+8, end)
		case kind == protowire.Fixed32Type:
			at = min(at+4, end)
		}
	}
	return sum
}

// varint reads a number as decoders of today's types do, which ignore what is too much of its tenth byte. The size is 0 if there is none.
func varint(text []byte) (value uint64, size int) {
	for i, b := range text[:min(len(text), 10)] {
		value |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			return value, i + 1
		}
	}
	return 0, 0
}

// Read reads the body of a request, and removes the read deadline of the connection.
func Read(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(0, req.ContentLength), usualSize)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(w, req.Body, MaxSize))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", MaxSize))
	case err != nil:
		// The deadline may have passed: allow another second for the answer. A
		// connection without deadlines needs none.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second))
		return nil, apierrors.NewBadRequest("the body is incomplete: the client stopped sending it or was too slow")
	}
	// The deadline was for the body: net/http would treat it as the end of the connection.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body.Bytes(), nil
}

// JSON returns a body in JSON or YAML as JSON, and as FromYAML an error for fields that are given twice in YAML. The error is *Malformed
// if it is neither.
func JSON(header http.Header, body []byte) (text []byte, twice, err error) {
	switch Type(header) {
	case "", "application/json":
		return body, nil, nil
	case YAML:
		return FromYAML(body)
	}
	return nil, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			"application/json, application/yaml, application/vnd.kubernetes.protobuf"}}
}

// Type returns the media type of a body, without parameters, "" for none.
func Type(header http.Header) string {
	named := header.Get("Content-Type")
	if named == "" {
		return ""
	}
	mediaType, _, err := mime.ParseMediaType(named)
	if err != nil {
		return "unreadable"
	}
	return mediaType
}

// Unwrap returns the envelope in a body in protobuf.
func Unwrap(body []byte) (envelope runtime.Unknown, err error) {
	text, found := bytes.CutPrefix(body, protobufHead)
	if !found {
		return envelope, errors.New("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
	}
	return envelope, envelope.Unmarshal(text)
}

// Summary returns the beginning of a body, for an error.
func Summary(text []byte) string {
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

// Malformed is the error for a body that does not have the format of its type.
type Malformed struct{ error }

// FromYAML converts YAML to JSON. With its aliases expanded it may not exceed the maximum size of a body. Twice is an error that
// names the fields that are given twice, of which the last one counts. The error is *Malformed if it is no YAML.
func FromYAML(body []byte) (text []byte, twice, err error) {
	if bytes.ContainsRune(body, '*') { // nothing else is an alias
		if err := checkAliases(body); err != nil {
			return nil, nil, err
		}
	}
	text, twice = yaml.YAMLToJSONStrict(body)
	if twice == nil {
		return text, nil, nil
	}
	if text, err = yaml.YAMLToJSON(body); err != nil {
		return nil, nil, &Malformed{err}
	}
	return text, twice, nil
}

func checkAliases(body []byte) error {
	var root yamlv3.Node
	if yamlv3.Unmarshal(body, &root) != nil {
		return nil // to convert it fails too
	}
	e := expansion{sizes: map[*yamlv3.Node]int{}}
	switch size := e.sizeOf(&root); {
	case e.endless != "":
		return &Malformed{fmt.Errorf("yaml: anchor '%s' value contains itself", e.endless)}
	case size > MaxSize:
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d, with all aliases", MaxSize))
	}
	return nil
}

// expansion computes the size of a YAML text with its aliases expanded.
type expansion struct {
	sizes   map[*yamlv3.Node]int // -1 until it is computed
	endless string               // the anchor of a value that contains itself, "" if there is none
}

// sizeOf returns the approximate size of a node in bytes, at most MaxSize+1.
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
		size = min(size+e.sizeOf(child), MaxSize+1)
	}
	e.sizes[node] = size
	return size
}
