package v1

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/api"
	"kube2014/pkg/api/conversion"
)

// An object in protobuf is four bytes and an envelope, a runtime.Unknown: its field 1 names the kind, field 2 is the message of
// the object. All types of the API have their metadata in field 1 of the message, lists their items in field 2. A message may
// come in parts: a field that occurs twice is merged.

// envelopeEnd is the rest of an envelope: the encoding and the type of what is in it are not named.
var envelopeEnd = []byte{3<<3 | 2, 0, 4<<3 | 2, 0}

// EnvelopeOf returns what each object of a kind begins with in protobuf; its message follows.
func EnvelopeOf(kind schema.GroupVersionKind) []byte {
	version := kind.GroupVersion().String()
	head := appendField([]byte("k8s\x00"), 1, fieldSize(len(version))+fieldSize(len(kind.Kind)))
	head = append(appendField(head, 1, len(version)), version...)
	return append(appendField(head, 2, len(kind.Kind)), kind.Kind...)
}

// appendField appends what precedes the bytes of a field.
func appendField(into []byte, number byte, size int) []byte {
	return binary.AppendUvarint(append(into, number<<3|2), uint64(size))
}

// fieldSize returns the size of a field with some bytes.
func fieldSize(size int) int { return 1 + (bits.Len(uint(size)|1)+6)/7 + size }

// Protobuf encodes the stored objects of a codec as messages: an item has no kind, and begins with the metadata.
type Protobuf struct{ *Codec }

// identityOfProtobuf differs from the identity of the codec, whose items are JSON.
type identityOfProtobuf struct{ *identity }

// Identity implements storage.Encoder.
func (p Protobuf) Identity() any { return identityOfProtobuf{p.identity} }

// EncodeItem implements storage.Encoder.
func (p Protobuf) EncodeItem(object interface{}) ([]byte, error) {
	converted, err := p.ToVersioned(object.(api.Object))
	if err != nil {
		return nil, err
	}
	return EncodeMessage(converted)
}

// EncodeMessage returns the protobuf message of an object of a versioned type.
func EncodeMessage(object runtime.Object) ([]byte, error) {
	if !hasMessage(object) {
		return nil, fmt.Errorf("%T has no form in protobuf", object)
	}
	return object.(message).Marshal()
}

type message interface{ Marshal() ([]byte, error) }

func hasMessage(object runtime.Object) bool { _, ok := object.(message); return ok }

// FirstField returns the first field of a message, which is that of the metadata.
func FirstField(message []byte) []byte {
	if len(message) == 0 {
		return nil
	}
	length, n := binary.Uvarint(message[1:])
	return message[:1+n+int(length)]
}

// EncodeProtobuf returns an object in protobuf, given its envelope and the parts of its message.
func EncodeProtobuf(envelope []byte, message *conversion.Parts) conversion.Encoded {
	head := appendField(slices.Clip(envelope), 2, message.Size(0))
	return conversion.EncodedPieces(slices.Concat([][]byte{head}, message.All, [][]byte{envelopeEnd})...)
}

// AppendEvent makes a message of a size a metav1.WatchEvent: it appends what precedes the message to before, and returns what
// follows it.
func AppendEvent(before []byte, eventType string, envelope []byte, size int) (head, tail []byte) {
	object := len(envelope) + fieldSize(size) + len(envelopeEnd)
	head = append(appendField(before[:0], 1, len(eventType)), eventType...)
	head = appendField(appendField(head, 2, fieldSize(object)), 1, object)
	return appendField(append(head, envelope...), 2, size), envelopeEnd
}

// EncodeMessages returns a list of n messages in protobuf.
func EncodeMessages(kind schema.GroupVersionKind, meta ListMeta, n int, add conversion.AddItem) (conversion.Encoded, error) {
	metadata, err := meta.message()
	if err != nil {
		return conversion.Encoded{}, err
	}
	var before [1 + binary.MaxVarintLen64]byte // an item: the list is made by one goroutine at a time
	return conversion.EncodedItems(n, func(parts *conversion.Parts, i int) error {
		parts.Add(nil)
		if err := add(parts, i); err != nil {
			return err
		}
		parts.All[0] = appendField(before[:0], 2, parts.Size(1))
		return nil
	}, func(size int) (_, _ []byte) {
		head := appendField(EnvelopeOf(kind), 2, fieldSize(len(metadata))+size)
		return append(appendField(head, 1, len(metadata)), metadata...), envelopeEnd
	})
}

// message returns the metadata of a list in protobuf.
func (m ListMeta) message() ([]byte, error) {
	meta := m.ToV1()
	return meta.Marshal()
}

// ToV1 returns the metadata of a list as the API has it.
func (m ListMeta) ToV1() metav1.ListMeta {
	meta := metav1.ListMeta{ResourceVersion: strconv.FormatUint(m.Version, 10), Continue: m.Continue}
	if m.Remaining > 0 {
		meta.RemainingItemCount = &m.Remaining
	}
	return meta
}
