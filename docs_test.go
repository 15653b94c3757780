package kube2014

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/util/loopback/loopbacktest"
)

// A console block of a document is a shell session: a line that begins with "$ " is a
// command, the rest is its output. Tests run all that are in these sections; a document
// has no others.
var sessions = map[string][]string{
	"README.md":           {"## A tour with curl", "## On etcd", "## A cluster"},
	"docs/tour.md":        {"## A POST", "## The loop", "## A GET"},
	"docs/second-door.md": {"## One pod, two doors", "## The way of a request", "## Namespaces", "## Watch", "## Field ownership"},
	"docs/servers.md":     {"## Custom resources", "## A server behind this one"},
	"docs/parts.md":       {"## The controllers"},
	"docs/server.md":      {"## Authentication and authorization", "## Nodes", "## Admission", "## Audit and metrics"},
}

var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

type command struct{ text, output string }

// commandsIn returns the commands in sections of a document.
func commandsIn(t *testing.T, file string, headings ...string) []command {
	var commands []command
	for _, heading := range headings {
		for _, block := range consoleBlock.FindAllStringSubmatch(head(t, file, heading), -1) {
			for line := range strings.Lines(block[1]) {
				if text, isCommand := strings.CutPrefix(line, "$ "); isCommand {
					commands = append(commands, command{text: text})
				} else {
					commands[len(commands)-1].output += line
				}
			}
		}
	}
	require.NotEmpty(t, commands)
	return commands
}

// documents are the files that people read.
func documents(t *testing.T) []string {
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(files, "README.md")
}

func read(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// section returns the part of a document from a heading of the second level to the
// next one.
func section(t *testing.T, file, heading string) string {
	_, text, ok := strings.Cut("\n"+read(t, file), "\n"+heading+"\n")
	require.True(t, ok, "%s has no %q", file, heading)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// head returns a section without the smaller ones in it.
func head(t *testing.T, file, heading string) string {
	text, _, _ := strings.Cut(section(t, file, heading), "\n### ")
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
		if strings.HasPrefix(c.text, "kubectl ") {
			kubectl(t)
		}
		script += c.text + "echo; echo '" + mark + "'\n"
	}
	shell := exec.Command("bash", "-c", strings.NewReplacer(there...).Replace(script))
	bin, err := filepath.Abs("bin")
	require.NoError(t, err)
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	printed, err := shell.Output()
	require.NoError(t, err)
	parts := strings.Split(strings.NewReplacer(back...).Replace(string(printed)), mark+"\n")
	require.Len(t, parts, len(commands)+1)
	for i, step := range commands {
		assert.Equal(t, strings.TrimSpace(age.ReplaceAllString(step.output, "AGE")), strings.TrimSpace(age.ReplaceAllString(parts[i], "AGE")), step.text)
	}
}

// kubectl returns the path of the real kubectl. Tests with it are long.
func kubectl(t *testing.T) string {
	if testing.Short() {
		t.Skip("make long runs kubectl")
	}
	path, err := filepath.Abs("bin/kubectl")
	require.NoError(t, err)
	require.FileExists(t, path, "make bin/kubectl builds it")
	return path
}

// age is in the last column of what kubectl get prints.
var age = regexp.MustCompile(`(?m)\b(\d+m)?\d+s$`)

// built is a folder with programs, which TestMain removes.
var built = func() string {
	folder, err := os.MkdirTemp("", "kube2014-")
	if err != nil {
		panic(err)
	}
	return folder
}()

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Each builds the apiserver, once, and returns where it is.
var (
	asUsersRunIt = builder("users", "build")
	// unhurried gives a slow machine the time it takes, and its loop runs when it reads a line:
	// TestMain of cmd/apiserver is it.
	unhurried = builder("unhurried", "test", "-c")
)

func builder(name string, how ...string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		program := filepath.Join(built, name)
		printed, err := exec.Command("go", append(how, "-o", program, "./cmd/apiserver")...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, printed)
		}
		return program, err
	})
}

// build returns the path of a program.
func build(t *testing.T, program func() (string, error)) string {
	path, err := program()
	require.NoError(t, err)
	return path
}

// printedBy runs a command, and returns what it prints.
func printedBy(t *testing.T, command *exec.Cmd) string {
	printed, err := command.CombinedOutput()
	require.NoError(t, err, string(printed))
	return string(printed)
}

// server is an apiserver.
type server struct {
	address string
	loop    io.Writer       // a line lets the loop run once, if the program is unhurried
	lines   chan string     // of its trace; its log is left out
	stop    func() []string // stops it, gracefully, and returns the rest of the trace
}

var logLine = regexp.MustCompile(`^\d{4}/\d\d/\d\d .*?(?:serves https?://(127\.0\.0\.1:\d+)/|$)`)

// start starts an apiserver on a free port. It is stopped with the test.
func start(t *testing.T, program string, args ...string) *server {
	s := startUnready(t, program, args...)
	s.untilReady(t)
	return s
}

// startUnready is start. It does not wait: June 2014's API has no /readyz.
func startUnready(t *testing.T, program string, args ...string) *server {
	command := exec.Command(program, append([]string{"-port", "0", "-machines", "127.0.0.1,127.0.0.2"}, args...)...)
	return startCommand(t, command, func(err error) { assert.NoError(t, err) })
}

// untilReady waits until the built-in objects are written: a trace does not tell of them later.
func (s *server) untilReady(t *testing.T) {
	for status := 0; status != http.StatusOK; {
		resp, err := http.Get("http://" + s.address + "/readyz")
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		status = resp.StatusCode
		select {
		case <-t.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// startCommand starts a command that becomes an apiserver, or starts one and ends with it. Ended
// is told how it has ended.
func startCommand(t *testing.T, command *exec.Cmd, ended func(error)) *server {
	command.Env = append(command.Environ(), "KUBE2014_TEST_AS_PROGRAM=unhurried")
	stderr, err := command.StderrPipe()
	require.NoError(t, err)
	loop, err := command.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	s := &server{loop: loop, lines: make(chan string, 10000)}
	s.stop = sync.OnceValue(func() (rest []string) {
		assert.NoError(t, command.Process.Signal(syscall.SIGTERM))
		for line := range s.lines {
			rest = append(rest, line)
		}
		ended(command.Wait())
		return rest
	})
	t.Cleanup(func() { s.stop() })
	addresses := make(chan string, 1)
	go func() {
		defer close(s.lines)
		defer close(addresses)
		for log := bufio.NewScanner(stderr); log.Scan(); {
			if match := logLine.FindStringSubmatch(log.Text()); match == nil {
				s.lines <- log.Text()
			} else if match[1] != "" {
				addresses <- match[1]
			}
		}
	}()
	s.address = <-addresses
	require.NotEmpty(t, s.address, "the server says where it serves")
	return s
}

func startEtcd(t *testing.T) string {
	server, err := etcdtest.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, server.Kill()) })
	return server.URL
}

func TestTheTourInTheREADMEPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	tour := commandsIn(t, "README.md", "## A tour with curl")
	checkSession(t, tour, map[string]string{"127.0.0.1:8080": start(t, build(t, asUsersRunIt)).address})
}

func TestTheTourWithKubectlPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	program := build(t, asUsersRunIt)
	for document, headings := range map[string][]string{"docs/second-door.md": {"## One pod, two doors", "## Namespaces", "## Watch", "## Field ownership"},
		"docs/servers.md": {"## Custom resources"}} {
		checkSession(t, commandsIn(t, document, headings...), map[string]string{"127.0.0.1:8080": start(t, program).address})
	}
}

func TestTheTourOfAClusterPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	block, program := loopbacktest.Claim(t), build(t, asUsersRunIt)
	cluster := exec.Command(program, "-port", "0", "-run", "all", "-machines", strings.Join(block.Machines, ","), "-cluster_cidr", block.Pods, "-kubelet_port", "0",
		"-runtime_config", "metrics.k8s.io/v1beta1=true")
	port, target := loopbacktest.FreePort(t), loopbacktest.FreePort(t)
	checkSession(t, commandsIn(t, "README.md", "## A cluster"), map[string]string{
		"127.0.0.1:8080": startCommand(t, cluster, func(err error) { assert.NoError(t, err) }).address,
		"127.0.0.1:8000": block.Machines[0] + ":" + port, "port=8000": "port=" + port, "port=8090": "port=" + target,
	})
}

// On etcd the tour prints the same; then the keys are those in the README.
func TestTheTourInTheREADMEPrintsTheSameOnEtcd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make long runs the tour on etcd too")
	}
	etcd := startEtcd(t)
	checkSession(t, commandsIn(t, "README.md", sessions["README.md"][:2]...), map[string]string{
		"127.0.0.1:8080": start(t, build(t, unhurried), "-etcd_servers", etcd).address,
		"127.0.0.1:4001": strings.TrimPrefix(etcd, "http://"),
	})
}

// On etcd's v3 API too.
func TestTheTourInTheREADMEPrintsTheSameOnTodaysEtcd(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("make long runs the tour on etcd too")
	}
	etcd := startEtcd(t)
	checkSession(t, commandsIn(t, "README.md", "## A tour with curl"), map[string]string{
		"127.0.0.1:8080": start(t, build(t, unhurried), "-etcd_servers", etcd, "-storage_backend", "etcd3").address,
	})
}

// tests returns the names of all test functions, and the text of all tests.
func tests(t *testing.T) (names map[string]bool, text string) {
	names = map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "_test.go") {
			file := read(t, path)
			text += file
			for _, match := range function.FindAllStringSubmatch(file, -1) {
				names[match[1]] = true
			}
		}
		return err
	}))
	return names, text
}

var (
	numberedRow = regexp.MustCompile(`(?m)^\| ([DK]\d+) \| .* \|$`)
	deviation   = regexp.MustCompile(`\bD\d+\b`)
	difference  = regexp.MustCompile(`\bK\d+\b`)
	cited       = regexp.MustCompile(`\b(?:Test\w*?)?([DK]\d+)(?:\b|[A-Z])`)
)

func TestEveryDeviationIsCitedByTheTestThatPinsIt(t *testing.T) {
	t.Parallel()
	_, text := tests(t)
	for _, row := range checkRows(t, "docs/deviations.md", "D", 50, text) {
		assert.Regexp(t, `\b`+row+`\b`, read(t, mapFile), "it has no place on the map")
	}
	for _, document := range documents(t) {
		for _, number := range deviation.FindAllString(read(t, document), -1) {
			assert.Regexp(t, `(?m)^\| `+number+` \|`, read(t, "docs/deviations.md"), document)
		}
	}
}

// The replays of what was recorded on today's server cite the differences in a table.
func TestEveryDifferenceFromTodaysServerIsCitedByTheTestThatPinsIt(t *testing.T) {
	t.Parallel()
	_, text := tests(t)
	text += read(t, "compare/today/known.go")
	checkRows(t, "docs/differences.md", "K", 128, text)
	numbers := difference.FindAllString(text, -1)
	slices.Sort(numbers)
	for _, number := range slices.Compact(numbers) {
		assert.Regexp(t, `(?m)^\| `+number+` \|`, read(t, "docs/differences.md"), "a test cites it")
	}
}

// checkRows checks that the rows of a table are in order, at least so many, and that each is cited in the text
// of the tests. It returns their numbers.
func checkRows(t *testing.T, document, letter string, atLeast int, text string) (numbers []string) {
	rows := numberedRow.FindAllStringSubmatch(read(t, document), -1)
	require.GreaterOrEqual(t, len(rows), atLeast)
	inTests := map[string]bool{}
	for _, match := range cited.FindAllStringSubmatch(text, -1) {
		inTests[match[1]] = true
	}
	for i, row := range rows {
		assert.Equal(t, fmt.Sprintf("%s%d", letter, i+1), row[1], "the rows are in order, none is missing")
		assert.True(t, inTests[row[1]], "no test cites %s", row[1])
		numbers = append(numbers, row[1])
	}
	return numbers
}

func TestTheREADMENamesWhereEveryPackageIsAndEachTellsWhatItIs(t *testing.T) {
	t.Parallel()
	packages := section(t, "README.md", "## The packages")
	for dir := range packageDirs(t) {
		parts := strings.Split(dir, "/")
		top := strings.Join(parts[:min(len(parts), 2)], "/")
		assert.True(t, strings.Contains(packages, "`"+top+"`") || strings.Contains(packages, "`"+parts[0]+"`"), dir)
		files, err := filepath.Glob(dir + "/*.go")
		require.NoError(t, err)
		assert.True(t, slices.ContainsFunc(files, func(file string) bool {
			return regexp.MustCompile(`(?m)^// (Package|Command) `).MatchString(read(t, file))
		}), "%s has no package comment", dir)
	}
}
