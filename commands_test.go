package kube2014

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

var (
	fence       = regexp.MustCompile("(?ms)^```([^\n]*)\n.*?^```$")
	indented    = regexp.MustCompile(`(?m)^ {4}(\S.*?)(?: +#.*)?$`)
	makeCommand = regexp.MustCompile("`(make [^`]+)`")
	runFlag     = regexp.MustCompile("-run '?([^ '`]+)'?")
)

// dryRun checks that make knows a command's target and reads its variables.
func dryRun(t *testing.T, line string) error {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "make" {
		return fmt.Errorf("%q is no make command", line)
	}
	for _, argument := range words[2:] {
		if name, _, _ := strings.Cut(argument, "="); !strings.Contains(read(t, "Makefile"), "$("+name+")") {
			return fmt.Errorf("the Makefile does not read %s", name)
		}
	}
	output, err := exec.Command("make", append([]string{"--dry-run"}, words[1:]...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %s", line, output)
	}
	return nil
}

// A block is a session that a test runs, or text, or indented make commands. The make
// commands, and the tests that are named by -run, exist.
func TestEveryCommandInADocumentRuns(t *testing.T) {
	t.Parallel()
	names, _ := tests(t)
	for _, document := range documents(t) {
		text := read(t, document)
		run := 0
		for _, heading := range sessions[document] {
			run += len(consoleBlock.FindAllString(section(t, document, heading), -1))
		}
		assert.Len(t, consoleBlock.FindAllString(text, -1), run, "%s: no test runs a console block", document)
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			assert.Contains(t, []string{"console", "text"}, block[1], block[0])
		}
		text = fence.ReplaceAllString(text, "")
		for _, match := range append(indented.FindAllStringSubmatch(text, -1), makeCommand.FindAllStringSubmatch(text, -1)...) {
			assert.NoError(t, dryRun(t, match[1]), document)
		}
		for _, match := range runFlag.FindAllStringSubmatch(text, -1) {
			for pattern := range strings.SplitSeq(strings.ReplaceAll(match[1], `\|`, "|"), "|") {
				found := pattern == "NAME"
				for name := range names {
					found = found || strings.HasPrefix(name, pattern)
				}
				assert.True(t, found, "%s: no test matches %s", document, pattern)
			}
		}
	}
}
