// Package authorizertest has what today's server was asked about who may do what, and what it
// answered, and asks authorizers the same.
package authorizertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/user"
)

// Recording is what today's server was given and asked, with its answers. Each list is a
// member of the file, and each of its elements a line.
type Recording struct {
	Policy   []string          `json:"policy"`   // lines of a policy file
	Lines    []Line            `json:"lines"`    // tried, each alone in a policy file
	Objects  []json.RawMessage `json:"objects"`  // of RBAC
	Reviews  []Review          `json:"reviews"`  // of what somebody may do
	Rules    []RulesReview     `json:"rules"`    // of all that somebody may do
	Requests []Request         `json:"requests"` // sent by somebody
	Grants   []Grant           `json:"grants"`   // tries to give rights to somebody

	Exchanges []Exchange `json:"exchanges"`
}

// Who is somebody.
type Who struct {
	User   string   `json:"user"`
	Groups []string `json:"groups,omitempty"`
}

// Info returns the user.
func (w Who) Info() *user.Info { return &user.Info{Name: w.User, Groups: w.Groups} }

// What is something that somebody wants to do: about a path, if it has one.
type What struct {
	Verb        string `json:"verb"`
	Group       string `json:"group,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Subresource string `json:"subresource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	Path        string `json:"path,omitempty"`
}

// Attributes returns what an authorizer decides about.
func (w What) Attributes(who Who) authorizer.Attributes {
	return authorizer.Attributes{User: who.Info(), Verb: w.Verb, IsResource: w.Path == "", APIGroup: w.Group, APIVersion: "*",
		Resource: w.Resource, Subresource: w.Subresource, Namespace: w.Namespace, Name: w.Name, Path: w.Path}
}

// Line is a line of a policy file.
type Line struct {
	Line   string `json:"line"`
	Starts bool   `json:"starts"` // a server with it
}

// Review is a SubjectAccessReview.
type Review struct {
	Who
	What
	Allowed bool   `json:"allowed"`
	Denied  bool   `json:"denied,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Error   string `json:"error,omitempty"`
}

// RulesReview is a SelfSubjectRulesReview.
type RulesReview struct {
	Who
	Namespace  string            `json:"namespace"`
	Rules      []authorizer.Rule `json:"rules"` // in no order
	Incomplete bool              `json:"incomplete,omitempty"`
	Error      string            `json:"error,omitempty"`
}

// Request is sent by somebody. Message is that of the Status, if it is forbidden.
type Request struct {
	Who
	What
	Method  string `json:"method"`
	URL     string `json:"url"`
	Code    int    `json:"code"`
	Message string `json:"message,omitempty"`
}

// Grant is somebody who makes an object of RBAC, without keeping it.
type Grant struct {
	Who
	Object  json.RawMessage `json:"object"`
	Code    int             `json:"code"`
	Message string          `json:"message,omitempty"`
}

// Read reads a recording.
func Read(file string) (*Recording, error) {
	r := &Recording{}
	return r, ReadLists(file, r)
}

// Text returns a recording as it stands in a file.
func (r *Recording) Text() ([]byte, error) { return TextOf(*r) }

// ReadLists reads the struct of a recording, whose fields are lists. A member that it does not have is an error.
func ReadLists(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// TextOf returns the struct of a recording as it stands in a file: each element of its lists is a line.
func TextOf(recording any) ([]byte, error) {
	var members []string
	lists := reflect.ValueOf(recording)
	for i := range lists.NumField() {
		list := lists.Field(i)
		if list.Len() == 0 {
			continue
		}
		var lines []string
		for j := range list.Len() {
			var line bytes.Buffer
			encoder := json.NewEncoder(&line)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(list.Index(j).Interface()); err != nil {
				return nil, err
			}
			lines = append(lines, strings.TrimSpace(line.String()))
		}
		members = append(members, fmt.Sprintf("%q: [\n%s\n]", lists.Type().Field(i).Tag.Get("json"), strings.Join(lines, ",\n")))
	}
	return []byte("{\n" + strings.Join(members, ",\n") + "\n}\n"), nil
}
