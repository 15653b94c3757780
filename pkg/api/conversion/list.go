package conversion

import (
	"bytes"
	"slices"
	"sync"
)

// The JSON of a stored object is encoded once and cached as an item of a list. An item
// begins with the comma and the line break before it.

// EncodeItem returns an internal object as an item of a list.
func (c *Codec) EncodeItem(object interface{}) ([]byte, error) {
	return c.marshalIndent(object, c.itemHead(), c.indent+c.indent)
}

// Identity implements storage.Encoder. Codecs of June 2014 are few.
func (c *Codec) Identity() any { return c }

func (c *Codec) itemHead() string { return ",\n" + c.indent + c.indent }

// buffers are reused by encoders, and by answers with one object. Otherwise they would be
// two thirds of the garbage of an encoding, and a quarter of that of a GET.
var buffers = sync.Pool{New: func() interface{} { return new([]byte) }}

// EncodeOne returns the answer with one object, given as an item. It removes the
// indentation.
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

// sendSize is the approximate size of the pieces of a list, in bytes. With pieces of a
// quarter the reader sleeps and wakes more often, and a long list is a tenth slower.
const sendSize = 512 << 10

// EncodeList returns the answer with a list of items, at least one.
func (c *Codec) EncodeList(items [][]byte) Encoded {
	items = slices.Clone(items)
	items[0] = items[0][1:] // the first item has no comma before it
	return EncodedList([]byte("{\n"+c.indent+`"items": [`), nil, []byte("\n"+c.indent+"]\n}"), items)
}

// EncodedList returns items between a head and a tail, with separators between them.
func EncodedList(head, separator, tail []byte, items [][]byte) Encoded {
	list, _ := EncodedItems(len(items), func(parts *Parts, i int) error { // no item fails
		if i > 0 {
			parts.Add(separator)
		}
		parts.Add(items[i])
		return nil
	}, func(int) ([]byte, []byte) { return head, tail })
	return list
}
