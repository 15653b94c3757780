// Package aggregation has extension servers behind an apiserver, and asks it what kube-apiserver 1.36.3 was asked when
// testdata/today/aggregation.json was recorded.
package aggregation

import (
	"encoding/json"
	"fmt"
	"os"
)

// Chapter is a sequence of steps on a server of its own. A step may build on those before it.
type Chapter struct {
	Name  string
	Steps []Step
}

// Step asks the server something, or changes an extension server.
type Step struct {
	Ask     string   `json:",omitempty"` // method and path
	As      string   `json:",omitempty"` // who asks: a token's user, a certificate, or nobody; admin if it is empty
	Headers []string `json:",omitempty"` // lines like "Name: value"
	Body    string   `json:",omitempty"`
	Until   string   `json:",omitempty"` // it is asked until the answer has this text, or has it no more if "!" is before it, as controllers work beside it
	Pick    string   `json:",omitempty"` // which part of the answer counts: a key of picks; all if it is empty
	Lines   int      `json:",omitempty"` // how many are read of a body that does not end
	Say     string   `json:",omitempty"` // a line that is sent when the protocol has changed
	Token   string   `json:",omitempty"` // the name under which the token in the answer is kept, for As

	Script *Script `json:",omitempty"` // how an extension server answers from now on
	Own    string  `json:",omitempty"` // the extension server of which it counts what it was asked by the server itself
	Idle   string  `json:",omitempty"` // the extension server whose requests must have ended

	Answer []string `json:",omitempty"` // the lines of the normalised answer
}

// Name says what the step is, for people.
func (s Step) Name() string {
	switch {
	case s.Script != nil:
		return fmt.Sprint("script ", s.Script.Server, s.Script.Path)
	case s.Own != "":
		return "what the server asked " + s.Own + " itself"
	case s.Idle != "":
		return "no request lasts at " + s.Idle
	}
	return s.Ask + " as " + s.who()
}

func (s Step) who() string {
	if s.As == "" {
		return "admin"
	}
	return s.As
}

// Load reads a recording.
func Load(file string) (chapters []Chapter, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &chapters); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return chapters, nil
}

// Save writes a recording.
func Save(file string, chapters []Chapter) error {
	data, err := json.MarshalIndent(chapters, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}
