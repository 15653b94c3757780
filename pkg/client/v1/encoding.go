package v1

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Objects are sent in protobuf. Answers are read as their type says: a program between here and the server may answer in JSON.

// messageHead is what an object in protobuf begins with; an envelope follows, with its kind and its message.
var messageHead = []byte("k8s\x00")

// message is an object that has a form in protobuf.
type message interface {
	GetObjectKind() schema.ObjectKind
	Unmarshal([]byte) error
}

// encodeMessage returns an object of a kind in protobuf.
func encodeMessage(kind schema.GroupVersionKind, object interface{ Marshal() ([]byte, error) }) ([]byte, error) {
	raw, err := object.Marshal()
	if err != nil {
		return nil, err
	}
	version, name := kind.ToAPIVersionAndKind()
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: name}, Raw: raw}
	text := append(make([]byte, 0, len(messageHead)+envelope.Size()), messageHead...)
	_, err = envelope.MarshalTo(text[len(messageHead):cap(text)])
	return text[:cap(text)], err
}

// decode reads an object in JSON or protobuf.
func decode(contentType string, text []byte, into any) error {
	if !isProtobuf(contentType) {
		return json.Unmarshal(text, into)
	}
	text, begins := bytes.CutPrefix(text, messageHead)
	object, ok := into.(message)
	if !begins || !ok {
		return errors.New("it is in protobuf, and not an object")
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(text); err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind))
	if err := object.Unmarshal(envelope.Raw); err != nil {
		return fmt.Errorf("it is of the kind %q: %w", envelope.Kind, err) // it may be another one than expected
	}
	return nil
}

func isProtobuf(contentType string) bool {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	return mediaType == runtime.ContentTypeProtobuf
}

// Unmarshal reads a list in protobuf: field 1 is its metadata, each field 2 an item.
func (l *List[T]) Unmarshal(text []byte) error {
	for len(text) > 0 {
		number, kind, size := protowire.ConsumeField(text)
		if size < 0 {
			return protowire.ParseError(size)
		}
		var err error
		if field := text[protowire.SizeTag(number):size]; kind == protowire.BytesType {
			field, _ = protowire.ConsumeBytes(field)
			switch number {
			case 1:
				err = l.ListMeta.Unmarshal(field)
			case 2:
				item := l.new()
				l.Items, err = append(l.Items, item), any(item).(message).Unmarshal(field)
			}
		}
		if text = text[size:]; err != nil {
			return err
		}
	}
	return nil
}

// rawEvent is an event whose object is in the encoding of the watch.
type rawEvent struct {
	Type   string
	Object json.RawMessage
}

// decodeRaw reads an event, without its object.
func decodeRaw(contentType string, text []byte) (rawEvent, error) {
	if !isProtobuf(contentType) {
		var event rawEvent
		return event, json.Unmarshal(text, &event)
	}
	var event metav1.WatchEvent
	err := event.Unmarshal(text)
	return rawEvent{event.Type, event.Object.Raw}, err
}

// eventsOf returns what splits a watch into events: each is a line, or in protobuf follows its length.
func eventsOf(contentType string) bufio.SplitFunc {
	if isProtobuf(contentType) {
		return wholeFrame
	}
	return wholeLine
}

// wholeLine is a bufio.SplitFunc for lines. One that has no end was cut.
func wholeLine(data []byte, atEOF bool) (int, []byte, error) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end], nil
	}
	return 0, nil, cut(data, atEOF)
}

// wholeFrame is a bufio.SplitFunc for frames, each one after its length in four bytes.
func wholeFrame(data []byte, atEOF bool) (int, []byte, error) {
	if len(data) >= 4 {
		if end := 4 + int(binary.BigEndian.Uint32(data)); len(data) >= end {
			return end, data[4:end], nil
		}
	}
	return 0, nil, cut(data, atEOF)
}

// cut returns an error if the stream has ended within an event.
func cut(rest []byte, atEOF bool) error {
	if atEOF && len(rest) > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}
