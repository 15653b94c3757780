package conversion

import (
	"bytes"
	"slices"
	"sync"
)

// An object that is answered again and again is kept as an item of a list: its JSON
// is encoded once. An item begins with the comma and the line break before it.

// EncodeItem returns an internal object as an item of a list.
func (c *Codec) EncodeItem(object interface{}) ([]byte, error) {
	return c.marshalIndent(object, c.itemHead(), c.indent+c.indent)
}

func (c *Codec) itemHead() string { return ",\n" + c.indent + c.indent }

// buffers are used again for encoding, and for the answers with one object: without
// that they would be two thirds of the garbage of an encoding, a quarter of that of a GET.
var buffers = sync.Pool{New: func() interface{} { return new([]byte) }}

// EncodeOne returns the answer with one object, which is given as an item. It takes
// off the indentation.
func (c *Codec) EncodeOne(item []byte) Encoded {
	item = item[len(c.itemHead()):]
	indentation := 2 * len(c.indent)
	size := len(item) - indentation*bytes.Count(item, []byte{'\n'})
	return Encoded{Size: size, Pieces: func(send func([]byte) bool) {
		buffer := buffers.Get().(*[]byte)
		text := slices.Grow((*buffer)[:0], size)
		for rest := item; ; {
			line := bytes.IndexByte(rest, '\n')
			if line < 0 {
				text = append(text, rest...)
				break
			}
			text = append(text, rest[:line+1]...)
			rest = rest[line+1+indentation:]
		}
		send(text)
		*buffer = text
		buffers.Put(buffer)
	}}
}

// sendSize is about how many bytes of a list are sent at once. With a quarter of it the
// reader sleeps and wakes more often, which makes a long list a tenth slower.
const sendSize = 512 << 10

// EncodeList returns the answer with a list of items, at least one. The list is put
// together while it is sent.
func (c *Codec) EncodeList(items [][]byte) Encoded {
	head, tail := "{\n"+c.indent+`"items": [`, "\n"+c.indent+"]\n}"
	size := len(head) - 1 + len(tail) // the first item is sent without its comma
	for _, item := range items {
		size += len(item)
	}
	return Encoded{Size: size, Pieces: func(send func([]byte) bool) {
		piece := append(make([]byte, 0, min(size, sendSize+sendSize/4)), head...)
		for i, item := range items {
			if i == 0 {
				item = item[1:]
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
