package abac

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"

	"kube2014/pkg/auth/user"
)

// maxLine is the longest line of a policy, in bytes: that of today's server.
const maxLine = bufio.MaxScanTokenSize

// Read reads a policy. The error names the first invalid line. It contains names of fields, but no
// values of the line.
func Read(text []byte) (Policy, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	policy, n := Policy{}, 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parse([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		policy = append(policy, r)
	}
	if lines.Err() != nil { // bufio.ErrTooLong
		return nil, fmt.Errorf("line %d: is longer than %d bytes", n+1, maxLine-1)
	}
	return policy, nil
}

const (
	group = "abac.authorization.kubernetes.io"
	kind  = "Policy"
)

// parse reads a line. Unlike today's server it refuses unknown fields: a rule without them would
// allow more.
func parse(line []byte) (rule, error) {
	if line[0] != '{' {
		return rule{}, errNoObject
	}
	var form struct {
		APIVersion string `json:"apiVersion"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(line, &form); err != nil {
		return rule{}, inWords(err)
	}
	switch form.APIVersion {
	case "", group + "/v0":
		return parseV0(line)
	case group + "/v1beta1":
		return parseV1beta1(line)
	}
	return rule{}, fmt.Errorf("apiVersion: must be %s/v1beta1", group)
}

func parseV1beta1(line []byte) (rule, error) {
	var v struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       rule   `json:"spec"`
	}
	if err := decode(line, &v); err != nil {
		return rule{}, err
	}
	if v.Kind != kind {
		return rule{}, fmt.Errorf("kind: must be %s", kind)
	}
	r := v.Spec
	if r.User == all || r.Group == all {
		r.User, r.Group = "", user.AllAuthenticated
	}
	return r, nil
}

// v0 is a line of 2014. The first policies called the resource kind, and the namespace ns.
type v0 struct {
	APIVersion string `json:"apiVersion"`
	User       string `json:"user"`
	Group      string `json:"group"`
	Readonly   bool   `json:"readonly"`
	Resource   string `json:"resource"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	NS         string `json:"ns"`
}

func parseV0(line []byte) (rule, error) {
	var v v0
	if err := decode(line, &v); err != nil {
		return rule{}, err
	}
	if v.Kind == kind { // not a resource
		v.Kind = ""
	} else if v.APIVersion != "" {
		return rule{}, fmt.Errorf("kind: must be %s", kind)
	}
	if v.Resource != "" && v.Kind != "" {
		return rule{}, errors.New("kind: means the resource, which stands there too")
	}
	if v.Namespace != "" && v.NS != "" {
		return rule{}, errors.New("ns: means the namespace, which stands there too")
	}
	r := rule{User: v.User, Group: v.Group, Readonly: v.Readonly, APIGroup: all, Resource: v.Resource + v.Kind, Namespace: v.Namespace + v.NS}
	if r.User == all || r.Group == all || r.User == "" && r.Group == "" {
		r.User, r.Group = "", user.AllAuthenticated
	}
	if r.Namespace == "" && r.Resource == "" {
		r.NonResourcePath = all
	}
	r.Namespace, r.Resource = cmp.Or(r.Namespace, all), cmp.Or(r.Resource, all)
	return r, nil
}

func decode(line []byte, into any) error {
	strict, err := kjson.UnmarshalStrict(line, into)
	if err != nil {
		return inWords(err)
	}
	if len(strict) > 0 {
		return strict[0] // names the field
	}
	return nil
}

var errNoObject = errors.New("must be a JSON object")

// inWords describes an error in JSON without its content.
func inWords(err error) error {
	if isSyntax, offset := kjson.SyntaxErrorOffset(err); isSyntax {
		return fmt.Errorf("is no JSON at byte %d", offset)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Errorf("%s: must be a JSON %s", wrong.Field, typeNames[wrong.Type.Kind().String()])
	}
	return errNoObject
}

var typeNames = map[string]string{"string": "string", "bool": "boolean", "struct": "object"}
