package registry

import (
	"encoding/binary"
	"slices"
	"strings"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
)

// packed is indented JSON with a shorter form of each line: its depth and its
// length, both as uvarints, then its text without indentation. It has two fifths
// of the size and is fast to expand at any depth. JSON has line breaks only
// between its values, so nothing is lost.
type packed string

const indentation = "    "

// pack encodes an object.
func pack(object interface{}) (packed, error) {
	encoded, err := v1beta1.Codec.Encode(object)
	if err != nil {
		return "", err
	}
	data := encoded.Bytes()
	folded := make([]byte, 0, len(data)/2)
	for line := range strings.SplitSeq(string(data), "\n") {
		text := strings.TrimLeft(line, " ")
		folded = binary.AppendUvarint(folded, uint64((len(line)-len(text))/len(indentation)))
		folded = binary.AppendUvarint(folded, uint64(len(text)))
		folded = append(folded, text...)
	}
	return packed(folded), nil
}

// blankLine is a line break and the indentation of all but very deep lines.
var blankLine = "\n" + strings.Repeat(indentation, 15)

// appendTo appends the expanded JSON to a text, each line after a line break and
// indented by depth more levels.
func (p packed) appendTo(text []byte, depth int) []byte {
	for next := 0; next < len(p); {
		level, length := int(p[next]), int(p[next+1])
		if level|length < 0x80 { // as in nearly all lines
			next += lineHead
		} else {
			level, length, next = p.longHead(next)
		}
		blanks := blankLine
		if n := 1 + len(indentation)*(level+depth); n > len(blankLine) {
			blanks = "\n" + strings.Repeat(indentation, level+depth)
		} else {
			blanks = blanks[:n]
		}
		end := len(text)
		if room := len(blanks) + length; end+room > cap(text) {
			text = slices.Grow(text, room)
		}
		text = text[:end+len(blanks)+length] // to copy twice costs less than to append twice
		copy(text[end:], blanks)
		copy(text[end+len(blanks):], p[next:next+length])
		next += length
	}
	return text
}

// longHead decodes the depth and the length of a line when one of them is longer
// than a byte, and returns where the line's text begins.
func (p packed) longHead(at int) (level, length, next int) {
	numbers := []byte(p[at:min(len(p), at+2*binary.MaxVarintLen64)])
	first, n := binary.Uvarint(numbers)
	second, m := binary.Uvarint(numbers[n:])
	return int(first), int(second), at + n + m
}

// size is the length of what appendTo appends.
func (p packed) size(depth int) int {
	size := 0
	for next := 0; next < len(p); {
		level, length := int(p[next]), int(p[next+1])
		if level|length < 0x80 { // as in nearly all lines
			next += lineHead
		} else {
			level, length, next = p.longHead(next)
		}
		size += 1 + len(indentation)*(level+depth) + length
		next += length
	}
	return size
}

// lineHead is the size of a line's depth and length when each is one byte.
const lineHead = 2

func decodeJSON(text []byte, into interface{}) error {
	if err := v1beta1.Codec.Unmarshal(text, into); err != nil {
		return &api.Error{Kind: api.Internal, Message: "the stored object cannot be decoded", Err: err}
	}
	return nil
}
