package api

import (
	"bytes"
	"compress/flate"
	"io"
)

// Remainder is the JSON of the fields that only v1 has, "" for none. Large JSON is compressed: of 22 large
// CustomResourceDefinitions, each of which is stored three times until it is established, that saves half of the memory.
type Remainder string

// largeRemainder is the size from which JSON is compressed, in bytes.
const largeRemainder = 64 << 10

// compressed is what a compressed remainder begins with. JSON does not.
const compressed = "\x00"

// MakeRemainder returns the remainder with a text. Equal texts have equal remainders.
func MakeRemainder(text []byte) Remainder {
	if len(text) < largeRemainder {
		return Remainder(text)
	}
	packed := bytes.NewBufferString(compressed)
	w, err := flate.NewWriter(packed, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil || packed.Len() >= len(text) { // memory cannot fail, but a text may be random
		return Remainder(text)
	}
	return Remainder(packed.String())
}

// Text returns the JSON.
func (r Remainder) Text() []byte {
	if len(r) == 0 || r[:1] != compressed {
		return []byte(r)
	}
	text, _ := io.ReadAll(flate.NewReader(bytes.NewReader([]byte(r[1:])))) // what MakeRemainder wrote can be read
	return text
}

// IsLarge reports whether the JSON is large, so that it takes long to decode.
func (r Remainder) IsLarge() bool {
	return len(r) > largeRemainder || len(r) > 0 && r[:1] == compressed
}
