package api

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"
)

// Remainder has the fields that only v1 has, "" for none: as JSON, or in a Form. It is opaque here, so that the objects and their stores
// need no type of v1, and lose none of its fields. Large JSON is compressed: of 22 large
// CustomResourceDefinitions, each of which is stored three times until it is established, that saves half of the memory.
type Remainder string

// Form is an encoding of remainders that a process uses instead of JSON, because it is smaller and read faster. The number of a form is that of its function in forms.
type Form uint16

var forms struct {
	mu   sync.RWMutex                  // guards json
	json []func(message []byte) []byte // returns the JSON of what is encoded
}

// NewForm returns a form, given what makes JSON of it.
func NewForm(json func(message []byte) []byte) Form {
	forms.mu.Lock()
	defer forms.mu.Unlock()
	forms.json = append(forms.json, json)
	return Form(len(forms.json) - 1)
}

// A remainder in a form begins with inForm and the number of the form, which JSON does not.
const (
	inForm   = '\x01'
	formSize = 3
)

// MakeRemainder returns a remainder in the form. Equal messages have equal remainders.
func (f Form) MakeRemainder(message []byte) Remainder {
	return Remainder(string([]byte{inForm, byte(f), byte(f >> 8)}) + string(message))
}

// Message returns the message of a remainder in a form.
func (r Remainder) Message() (message []byte, ok bool) {
	if len(r) < formSize || r[0] != inForm {
		return nil, false
	}
	return []byte(r[formSize:]), true
}

// Same reports whether two remainders have the same JSON.
func (r Remainder) Same(as Remainder) bool {
	_, one := r.Message()
	_, other := as.Message()
	return r == as || one != other && bytes.Equal(r.Text(), as.Text())
}

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
	if message, ok := r.Message(); ok {
		forms.mu.RLock()
		defer forms.mu.RUnlock()
		return forms.json[int(r[1])|int(r[2])<<8](message)
	}
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
