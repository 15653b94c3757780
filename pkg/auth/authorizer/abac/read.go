package abac

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxLine is the longest line of a policy, in bytes: that of today's server.
const maxLine = bufio.MaxScanTokenSize

// LineError names an invalid line of a policy.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong with the line.
func (e *LineError) Unwrap() error { return e.Err }

func readFile(path string) (Policy, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	policy, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return policy, nil
}

// Read reads a policy. The error of an invalid line is a *LineError, which contains no values of the
// line, only names of fields.
func Read(from io.Reader) (Policy, error) {
	lines := bufio.NewScanner(from)
	policy, n := Policy{}, 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parse([]byte(line))
		if err != nil {
			return nil, &LineError{n, err}
		}
		policy = append(policy, r)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &LineError{n + 1, fmt.Errorf("is longer than %d bytes", maxLine-1)}
	case err != nil:
		return nil, err
	}
	return policy, nil
}
