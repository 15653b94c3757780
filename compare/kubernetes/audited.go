package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// allMetadata is a policy by which each request is two lines of the audit.
const allMetadata = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"

// letAudit lets sides that do not run yet write an audit by the same policy, each into a file of its own.
func letAudit(dir string, sides []*side) error {
	policy := filepath.Join(dir, "policy.yaml")
	for i, s := range sides {
		s.audit = filepath.Join(dir, fmt.Sprintf("audit-%d.log", i))
		s.args = append(s.args, "--audit-policy-file", policy, "--audit-log-path", s.audit) // ours reads a - as a _
	}
	return os.WriteFile(policy, []byte(allMetadata), 0o600)
}

var errNotAudited = errors.New("the audit does not tell what the reader has read")

// checkAudit returns an error if a side with an audit has not written what the reader has read: it
// would be fast.
func (s *side) checkAudit() error {
	if s.audit == "" {
		return nil
	}
	text, err := os.ReadFile(s.audit)
	if err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(`"verb":"get","user":{"username":"reader"`)) {
		return errNotAudited
	}
	return nil
}
