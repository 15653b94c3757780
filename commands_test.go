package kube2014

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fence       = regexp.MustCompile("(?ms)^```([^\n]*)\n.*?^```$")
	indented    = regexp.MustCompile(`(?m)^ {4}([^\s-].*?)(?: +#.*)?$`)
	makeCommand = regexp.MustCompile("`(make [^`]+)`")
	runFlag     = regexp.MustCompile("\\B-run '?([^ '`]+)'?")
)

// checkMake checks that make knows a command's target and reads its variables.
func checkMake(t *testing.T, line string) {
	words := strings.Fields(line)
	if !assert.True(t, len(words) > 1 && words[0] == "make", "%q is no make command", line) {
		return
	}
	for _, argument := range words[2:] {
		name, _, _ := strings.Cut(argument, "=")
		assert.Contains(t, read(t, "Makefile"), "$("+name+")", line)
	}
	output, err := exec.Command("make", append([]string{"--dry-run"}, words[1:]...)...).CombinedOutput()
	assert.NoError(t, err, "%s: %s", line, output)
}

// A block is a session that a test runs, or text, or indented make commands. What begins with a dash is an
// item of a list.
// The make commands, and the tests that are named by -run, exist.
func TestEveryCommandInADocumentRuns(t *testing.T) {
	t.Parallel()
	names, _ := tests(t)
	for _, document := range documents(t) {
		text := read(t, document)
		run := 0
		for _, heading := range sessions[document] {
			run += len(consoleBlock.FindAllString(head(t, document, heading), -1))
		}
		assert.Len(t, consoleBlock.FindAllString(text, -1), run, "%s: no test runs a console block", document)
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			assert.Contains(t, []string{"console", "text"}, block[1], block[0])
		}
		text = fence.ReplaceAllString(text, "")
		for _, match := range append(indented.FindAllStringSubmatch(text, -1), makeCommand.FindAllStringSubmatch(text, -1)...) {
			checkMake(t, match[1])
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

// A pattern that matches no test, or a package that is not there, would go unnoticed until somebody needs it.
func TestTheMakefileNamesTestsThatAreInItsPackages(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`(?m)-run '?([\w|]+)'? (\./[\w/]+|\.)$`).FindAllStringSubmatch(read(t, "Makefile"), -1)
	assert.Greater(t, len(named), 4)
	for _, match := range named {
		folder := match[2]
		if folder == "." {
			folder = "clients"
		}
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		var text string
		for _, file := range files {
			text += read(t, file)
		}
		for pattern := range strings.SplitSeq(match[1], "|") {
			assert.Contains(t, text, "\nfunc "+pattern, "%s", match[0])
		}
	}
}
