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

// Read reads a policy. The error names the first invalid line. It contains names of fields, but no
// values of the line.
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
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		policy = append(policy, r)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: is longer than %d bytes", n+1, maxLine-1)
	case err != nil:
		return nil, err
	}
	return policy, nil
}
