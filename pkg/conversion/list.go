package conversion

import (
	"bytes"
	"iter"
)

// An object that is answered again and again is kept as an item of a list: its JSON
// is encoded once. An item begins with the comma and the line break before it.

// EncodeItem returns an internal object as an item of a list.
func (c *Codec) EncodeItem(object interface{}) ([]byte, error) {
	text, err := c.marshalIndent(object, c.indent+c.indent)
	if err != nil {
		return nil, err
	}
	return append([]byte(c.itemHead()), text...), nil
}

func (c *Codec) itemHead() string { return ",\n" + c.indent + c.indent }

// EncodeOne returns the answer with one object, which is given as an item.
func (c *Codec) EncodeOne(item []byte) Encoded {
	head := c.itemHead()
	return EncodedBytes(bytes.ReplaceAll(item[len(head):], []byte(head[1:]), []byte("\n")))
}

// sendSize is about how many bytes of a list are sent at once.
const sendSize = 64 << 10

// EncodeList returns the answer with a list of items, at least one. Size is their
// length together. The list is put together while it is sent.
func (c *Codec) EncodeList(size int, items iter.Seq[[]byte]) Encoded {
	head, tail := "{\n"+c.indent+`"items": [`, "\n"+c.indent+"]\n}"
	return Encoded{Size: len(head) + size - 1 + len(tail), Pieces: func(send func([]byte) bool) {
		piece := append(make([]byte, 0, min(size, sendSize)+sendSize/4), head...)
		first := true
		for item := range items {
			if first {
				item, first = item[1:], false // without the comma
			}
			if piece = append(piece, item...); len(piece) >= sendSize {
				if !send(piece) {
					return
				}
				piece = piece[:0]
			}
		}
		send(append(piece, tail...))
	}}
}
