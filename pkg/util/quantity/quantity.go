// Package quantity finds quantities with a huge exponent, or with very many digits, which would block
// the library that parses them for minutes. Its functions are safe for concurrent use.
package quantity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maybeHuge reports whether a text may contain such a quantity: a number of 64 digits and points, or an
// exponent of four digits. It scans each body, for which a regular expression would take longer than
// the decoding.
func maybeHuge(text []byte) bool {
	length := 0 // of the number so far
	for i, c := range text {
		switch {
		case isDigit(c), c == '.' && length > 0:
			if length++; length == 64 {
				return true
			}
		default:
			length = 0
			if (c == 'e' || c == 'E') && isExponent(text[i+1:]) {
				return true
			}
		}
	}
	return false
}

// isExponent reports whether a text begins with an optional sign and four digits.
func isExponent(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	return len(text) >= 4 && isDigit(text[0]) && isDigit(text[1]) && isDigit(text[2]) && isDigit(text[3])
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// hugeQuantity matches such a quantity.
var hugeQuantity = regexp.MustCompile(`^[+-]?([\d.]*[eE][+-]?\d{4,}|[\d.]{64}.*)$`)

// HugeInProtobuf reports whether a protobuf message may have such a quantity, which is a message with a
// string in field 1. The encoding does not have the types of fields: all such strings count. A string
// follows the number of its field and its length; all encodings of them that a decoder accepts are tried
// at each position.
func HugeInProtobuf(message []byte) bool {
	if !maybeHuge(message) {
		return false
	}
	for start := range message {
		for before := start - 1; before >= max(0, start-10); before-- {
			b := message[before]
			if more := b >= 0x80; more != (before < start-1) {
				break // only the last byte of a length is below 0x80
			}
			length := 0
			for i, b := range message[before:start] {
				length |= int(b&0x7f) << (7 * i) // of the tenth byte, decoders ignore what is too much
			}
			if length >= 0 && length <= len(message)-start && isFirstField(message[:before]) && isHuge(message[start:start+length]) {
				return true
			}
		}
	}
	return false
}

// isFirstField reports whether a message may end with the number of a string's field that is 1. Of a longer
// number than it needs be only the first byte is looked at.
func isFirstField(message []byte) bool {
	const number = 1<<3 | 2
	for i, end := len(message)-1, len(message)-1; i >= max(0, end-9) && (message[i] >= 0x80) == (i < end); i-- {
		if message[i]&0x7f == number {
			return true
		}
	}
	return false
}

// isHuge reports whether a text can be such a quantity.
func isHuge(text []byte) bool {
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		text = text[1:]
	}
	for i, c := range text {
		if !isDigit(c) && c != '.' {
			return (c == 'e' || c == 'E') && isExponent(text[i+1:]) && len(bytes.TrimLeft(text[i+2:], "0123456789")) == 0
		}
		if i+1 == 64 {
			return true
		}
	}
	return false
}

// quantities are the names of the members of today's objects that are or contain quantities.
var quantities = []string{"allocatable", "allocatedResources", "capacity", "divisor", "limits", "overhead", "requests", "sizeLimit"}

// maybeHugeJSON is maybeHuge for JSON. A quantity is a value of its own: the identifiers of containers and images, which are
// hexadecimal, look like one only inside.
func maybeHugeJSON(text []byte) bool {
	for i := range text {
		if i > 0 && isInWord(text[i-1]) && (i == 1 || text[i-2] != '\\') {
			continue
		}
		end := i
		if text[end] == '+' || text[end] == '-' {
			end++
		}
		for end < len(text) && (isDigit(text[end]) || text[end] == '.') {
			end++
		}
		if end-i >= 64 || end < len(text) && (text[end] == 'e' || text[end] == 'E') && isExponent(text[end+1:]) {
			return true
		}
	}
	return bytes.Contains(text, escaped) && maybeHuge(text)
}

// escaped is how JSON may write any character.
var escaped = []byte(`\u`)

func isInWord(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '/' || c == '-' || c == '+'
}

// CheckJSON returns a bad request if the JSON of an object has such a quantity. It ignores other members
// that look like one.
func CheckJSON(text []byte) error {
	if !maybeHugeJSON(text) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var path []string // the name of each open object or list, "" in a list
	member, isName := "", false
	var inObject []bool
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end, or invalid JSON, which the decoder reports
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				path, inObject = append(path, member), append(inObject, token == '{')
			} else {
				path, inObject = path[:len(path)-1], inObject[:len(inObject)-1]
			}
			member, isName = "", len(inObject) > 0 && inObject[len(inObject)-1]
			continue
		case string:
			if isName {
				member, isName = token, false
				continue
			}
			if hugeQuantity.MatchString(strings.TrimSpace(token)) && isQuantity(path, member) {
				return tooHuge(path, member)
			}
		case json.Number:
			if hugeQuantity.MatchString(token.String()) && isQuantity(path, member) {
				return tooHuge(path, member)
			}
		}
		member, isName = "", inObject[len(inObject)-1]
	}
}

// isQuantity reports whether a member is a quantity, or its object contains quantities.
func isQuantity(path []string, member string) bool {
	return !slices.Contains(path, "metadata") && (slices.Contains(quantities, member) || slices.Contains(quantities, path[len(path)-1]))
}

func tooHuge(path []string, member string) error {
	names := slices.DeleteFunc(append(slices.Clone(path), member), func(name string) bool { return name == "" })
	return apierrors.NewBadRequest(fmt.Sprintf("%s: the quantity has too many digits or too large an exponent", strings.Join(names, ".")))
}
