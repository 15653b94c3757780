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
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
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
func decode(inProtobuf bool, text []byte, into any) error {
	if !inProtobuf {
		return json.Unmarshal(text, into)
	}
	text, begins := bytes.CutPrefix(text, messageHead)
	object, ok := into.(message)
	if !begins || !ok {
		return errors.New("it is in protobuf, and not an object")
	}
	var version, kind, raw []byte
	err := eachField(text, func(number protowire.Number, value []byte) error {
		if number == 2 {
			raw = value
		}
		if number != 1 {
			return nil
		}
		return eachField(value, func(number protowire.Number, value []byte) error {
			switch number {
			case 1:
				version = value
			case 2:
				kind = value
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(string(version), string(kind)))
	if err := object.Unmarshal(raw); err != nil {
		return fmt.Errorf("it is of the kind %q: %w", kind, err) // it may be another one than expected
	}
	return nil
}

// eachField goes through the fields of a message that have bytes, which it does not copy.
func eachField(message []byte, do func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeField(message)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[protowire.SizeTag(number):size])
			if err := do(number, value); err != nil {
				return err
			}
		}
		message = message[size:]
	}
	return nil
}

func isProtobuf(answer *http.Response) bool {
	mediaType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return mediaType == runtime.ContentTypeProtobuf
}

// Unmarshal reads a list in protobuf: field 1 is its metadata, each field 2 an item.
func (l *List[T]) Unmarshal(text []byte) error {
	return eachField(text, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			return l.ListMeta.Unmarshal(value)
		case 2:
			item := l.new()
			l.Items = append(l.Items, item)
			return any(item).(message).Unmarshal(value)
		}
		return nil
	})
}

// rawEvent is an event whose object is in the encoding of the watch.
type rawEvent struct {
	Type   string
	Object json.RawMessage
}

// decodeRaw reads an event, without its object.
func decodeRaw(inProtobuf bool, text []byte) (event rawEvent, err error) {
	if !inProtobuf {
		err = json.Unmarshal(text, &event)
		return event, err
	}
	err = eachField(text, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			event.Type = string(value)
		case 2:
			return eachField(value, func(_ protowire.Number, raw []byte) error {
				event.Object = raw
				return nil
			})
		}
		return nil
	})
	return event, err
}

// eventsOf returns what splits a watch into events: each is a line, or in protobuf follows its length.
func eventsOf(inProtobuf bool) bufio.SplitFunc {
	if inProtobuf {
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
