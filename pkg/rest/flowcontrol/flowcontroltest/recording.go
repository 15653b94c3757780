// Package flowcontroltest has how kube-apiserver classifies requests, recorded for tests.
package flowcontroltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"kube2014/pkg/auth/authorizer/authorizertest"
)

// Recording is a file of requests, and of what they were classified as.
type Recording struct {
	Levels   []json.RawMessage `json:"levels"`  // beside those of a new server
	Schemas  []json.RawMessage `json:"schemas"` // made after the levels
	Requests []Request         `json:"requests"`
}

// Request is sent by somebody. The names are those of the schema and the level of which the answer has the UIDs, "" for none.
type Request struct {
	authorizertest.Who
	Method string `json:"method"`
	URL    string `json:"url"`
	Schema string `json:"schema,omitempty"`
	Level  string `json:"level,omitempty"`
}

// Read reads a recording.
func Read(file string) (*Recording, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	r := &Recording{}
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Text returns a recording as it stands in a file.
func (r *Recording) Text() []byte {
	var levels, schemas, requests lines
	for _, level := range r.Levels {
		levels.add(level)
	}
	for _, schema := range r.Schemas {
		schemas.add(schema)
	}
	for _, request := range r.Requests {
		requests.add(request)
	}
	return fmt.Appendf(nil, "{\n\"levels\": %s,\n\"schemas\": %s,\n\"requests\": %s\n}\n", levels.text(), schemas.text(), requests.text())
}

// lines are the items of a list, each on a line of its own.
type lines []string

func (l *lines) add(item any) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(item); err != nil {
		panic(err) // texts can be encoded
	}
	*l = append(*l, strings.TrimSpace(line.String()))
}

func (l lines) text() string { return "[\n" + strings.Join(l, ",\n") + "\n]" }
