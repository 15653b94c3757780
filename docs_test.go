package kube2014

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
)

// A console block of a document is a shell session: a line that begins with "$ "
// is a command (a backslash at its end continues it), the rest is the output.
type command struct{ text, output string }

var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// commandsOf returns the commands of all console blocks in a part of a document.
func commandsOf(document string) []command {
	var commands []command
	for _, block := range consoleBlock.FindAllStringSubmatch(document, -1) {
		goesOn := false
		for line := range strings.Lines(block[1]) {
			text, isCommand := strings.CutPrefix(line, "$ ")
			switch last := len(commands) - 1; {
			case goesOn:
				commands[last].text += line
				goesOn = strings.HasSuffix(line, "\\\n")
			case isCommand:
				commands = append(commands, command{text: text})
				goesOn = strings.HasSuffix(line, "\\\n")
			default:
				commands[last].output += line
			}
		}
	}
	return commands
}

// section returns the part of a document from a heading to the next one of the
// same or a higher level.
func section(t *testing.T, file, heading string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	_, text, ok := strings.Cut("\n"+string(data), "\n"+heading+"\n")
	require.True(t, ok, "%s has no %q", file, heading)
	marks, _, _ := strings.Cut(heading, " ")
	for level := range marks {
		text, _, _ = strings.Cut(text, "\n"+marks[:level+1]+" ")
	}
	return text
}

// checkSession runs commands in one shell and compares the output with the
// document. The addresses in the document are replaced by the actual ones in the
// commands, and back in the output.
func checkSession(t *testing.T, commands []command, actual map[string]string) {
	var there, back []string
	for documented, address := range actual {
		there, back = append(there, documented, address), append(back, address, documented)
	}
	const mark = "-- the next command --"
	script := "set -u\n"
	for _, c := range commands {
		script += c.text + "echo; echo '" + mark + "'\n"
	}
	shell := exec.Command("bash", "-c", strings.NewReplacer(there...).Replace(script))
	printed, err := shell.Output()
	require.NoError(t, err)
	parts := strings.Split(strings.NewReplacer(back...).Replace(string(printed)), mark+"\n")
	require.Len(t, parts, len(commands)+1)
	for i, step := range commands {
		assert.Equal(t, strings.TrimSpace(step.output), strings.TrimSpace(parts[i]), step.text)
	}
}

// build builds the apiserver as make build does.
func build(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "apiserver")
	output, err := exec.Command("go", "build", "-o", program, "./cmd/apiserver").CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

// buildUnhurried builds an apiserver that gives a slow machine the time it takes, and
// whose loop runs when it reads a line: TestMain of cmd/apiserver is it.
func buildUnhurried(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "apiserver.test")
	output, err := exec.Command("go", "test", "-c", "-o", program, "./cmd/apiserver").CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

func unhurried(program string, args ...string) *exec.Cmd {
	command := exec.Command(program, append([]string{"-port", "0"}, args...)...)
	command.Env = append(os.Environ(), "KUBE2014_TEST_AS_PROGRAM=unhurried")
	return command
}

// start starts an apiserver on a free port and returns its address. It is ended with
// the test, gracefully.
func start(t *testing.T, server *exec.Cmd) string {
	stderr, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	log := bufio.NewScanner(stderr)
	t.Cleanup(func() {
		assert.NoError(t, server.Process.Signal(syscall.SIGTERM))
		for log.Scan() { // read all: Wait closes the pipe
		}
		assert.NoError(t, server.Wait())
	})
	require.True(t, log.Scan(), "the server says where it serves")
	match := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(log.Text())
	require.NotNil(t, match, log.Text())
	return match[1]
}

// startEtcd starts a real etcd, which ends with the test, and returns its URL.
func startEtcd(t *testing.T) string {
	server, err := etcdtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	return server.URL
}

func TestTheTourInTheREADMEPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	tour := commandsOf(section(t, "README.md", "## A tour with curl"))
	require.Greater(t, len(tour), 10)
	checkSession(t, tour, map[string]string{"127.0.0.1:8080": start(t, exec.Command(build(t), "-port", "0", "-machines", "127.0.0.1,127.0.0.2"))})
}

// On etcd the tour prints the same; then the keys are those in the README.
func TestTheTourInTheREADMEPrintsTheSameOnEtcd(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	tour := commandsOf(section(t, "README.md", "## A tour with curl"))
	keys := commandsOf(section(t, "README.md", "## On etcd"))
	require.Greater(t, len(keys), 3)
	checkSession(t, append(tour, keys...), map[string]string{
		"127.0.0.1:8080": start(t, unhurried(buildUnhurried(t), "-machines", "127.0.0.1,127.0.0.2", "-etcd_servers", etcd)),
		"127.0.0.1:4001": strings.TrimPrefix(etcd, "http://"),
	})
}

var deviationRow = regexp.MustCompile(`(?m)^\| (D\d+) \| .* \| (.*) \|$`)

// tests returns the names of all test functions, and the text of all tests.
func tests(t *testing.T) (names map[string]bool, text string) {
	names = map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		text += string(data)
		for _, match := range function.FindAllStringSubmatch(string(data), -1) {
			names[match[1]] = true
		}
		return err
	}))
	return names, text
}

func TestEveryDeviationNamesTheTestThatPinsIt(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("docs/deviations.md")
	require.NoError(t, err)
	names, text := tests(t)
	rows := deviationRow.FindAllStringSubmatch(string(data), -1)
	require.Greater(t, len(rows), 34)
	for i, row := range rows {
		assert.Equal(t, fmt.Sprintf("D%d", i+1), row[1], "the rows are in order, none is missing")
		assert.Regexp(t, `\b(Test\w*)?`+row[1]+`(\b|[A-Z])`, text, "no test cites it")
		quoted := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1)
		assert.NotEmpty(t, quoted, "%s names no test", row[1])
		for _, name := range quoted {
			assert.True(t, names[name[1]], "%s: there is no test %s", row[1], name[1])
		}
	}
}

func TestTheREADMEsPackageMapIsWhole(t *testing.T) {
	t.Parallel()
	packages := section(t, "README.md", "## The packages")
	for dir := range mayImport {
		assert.Contains(t, packages, "| `"+dir+"` |")
	}
}
