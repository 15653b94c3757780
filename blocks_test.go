package kube2014

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every command in a document works. A block is one of these:
//
//   - a console block, in a section that a test gives to checkSession, as
//     commandsOf(section(t, FILE, HEADING)) with both as literals;
//   - an indented block of make commands, one a line, that make knows;
//   - a block in one of the languages below: what it holds is not for running.
var notForRunning = map[string]bool{"text": true, "json": true, "go": true}

var (
	fence      = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")
	indented   = regexp.MustCompile(`(?m)(?:^\n|\A)((?:^ {4}.*\n?)+)`)
	runSection = regexp.MustCompile(`commandsOf\(section\(t, "([^"]+)", "([^"]+)"\)\)`)
)

// badBlocks returns what is wrong with the blocks of a document. The sections
// are the parts that tests run.
func badBlocks(document string, sections []string) []string {
	var bad []string
	for _, match := range fence.FindAllStringSubmatch(document, -1) {
		switch language := match[1]; {
		case notForRunning[language]:
		case language != "console":
			bad = append(bad, fmt.Sprintf("what is the block in %q, output or commands? %s", language, match[2]))
		case !strings.HasPrefix(match[2], "$ "):
			bad = append(bad, "a session begins with a command, after a dollar sign: "+match[2])
		case !strings.Contains(strings.Join(sections, "\n"), match[0]):
			bad = append(bad, "no test runs this session: "+match[2])
		}
	}
	for _, match := range indented.FindAllStringSubmatch(fence.ReplaceAllString(document, ""), -1) {
		for line := range strings.Lines(match[1]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if err := dryRun(strings.Fields(line)); err != nil {
				bad = append(bad, err.Error())
			}
		}
	}
	return bad
}

// dryRun checks that make knows a command's target and reads its variables.
func dryRun(command []string) error {
	if len(command) < 2 || command[0] != "make" {
		return fmt.Errorf("%q is no make command, and an indented block holds nothing else", strings.Join(command, " "))
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		return err
	}
	for _, argument := range command[2:] {
		if name, _, _ := strings.Cut(argument, "="); !strings.Contains(string(makefile), "$("+name+")") {
			return fmt.Errorf("the Makefile does not read %s", name)
		}
	}
	if output, err := exec.Command("make", append([]string{"--dry-run"}, command[1:]...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s", strings.Join(command, " "), output)
	}
	return nil
}

func TestEveryCommandBlockInADocumentRuns(t *testing.T) {
	t.Parallel()
	names, source := tests(t)
	require.NotEmpty(t, names)
	sections := map[string][]string{}
	for _, call := range runSection.FindAllStringSubmatch(source, -1) {
		sections[call[1]] = append(sections[call[1]], section(t, call[1], call[2]))
	}
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		assert.Empty(t, badBlocks(string(data), sections[document]), document)
	}
}

func TestACommandBlockThatDoesNotRunIsFound(t *testing.T) {
	t.Parallel()
	session := "```console\n$ echo a\na\n```\n"
	for document, complaint := range map[string]string{
		session:                    "",
		"```text\nanything\n```\n": "",
		"so:\n\n    make help\n    make run PORT=1  # comment\n": "",
		"```console\n$ echo b\n```\n":                            "no test runs this session",
		"```console\necho a\n```\n":                              "a session begins with a command",
		"```\necho a\n```\n":                                     "what is the block in",
		"```sh\necho a\n```\n":                                   "what is the block in",
		"so:\n\n    make nonsense\n":                             "make nonsense",
		"so:\n\n    make help SPEED=1\n":                         "does not read SPEED",
		"so:\n\n    curl localhost\n":                            "is no make command",
	} {
		bad := strings.Join(badBlocks(document, []string{session}), "\n")
		if complaint == "" {
			assert.Empty(t, bad)
		} else {
			assert.Contains(t, bad, complaint)
		}
	}
}

var (
	runFlag     = regexp.MustCompile("-run '?([^ '`]+)'?")
	makeCommand = regexp.MustCompile("`(make [^`]+)`")
)

// The same for commands in the middle of a sentence.
func TestWhatTheDocumentsTellToRunExists(t *testing.T) {
	t.Parallel()
	names, _ := tests(t)
	checked := 0
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, match := range runFlag.FindAllStringSubmatch(string(data), -1) {
			for pattern := range strings.SplitSeq(strings.ReplaceAll(match[1], `\|`, "|"), "|") {
				if pattern == "NAME" {
					continue
				}
				checked++
				found := false
				for name := range names {
					found = found || strings.HasPrefix(name, pattern)
				}
				assert.True(t, found, "%s: no test matches %s", document, pattern)
			}
		}
		for _, match := range makeCommand.FindAllStringSubmatch(string(data), -1) {
			checked++
			assert.NoError(t, dryRun(strings.Fields(match[1])), document)
		}
	}
	assert.Greater(t, checked, 15)
}
