package kube2014

import (
	"bufio"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Write the traces in testdata, and the lines in the links of docs/original.md,
// again with
//
//	go test -run TestTheTourInTheREADMEIsNarrated . -update
//	go test -run TestTheMap . -update
var update = flag.Bool("update", false, "write anew what a test compares with the code")

// traced is an apiserver with -trace, and the lines of its trace, without its
// log.
type traced struct {
	address string
	server  *exec.Cmd
	loop    io.Writer // a line lets the loop that runs every ten seconds run once
	lines   chan string
}

var logLine = regexp.MustCompile(`^\d{4}/\d\d/\d\d .*?(?:serves http://(127\.0\.0\.1:\d+)/|$)`)

// startTraced starts an apiserver on a free port. The caller stops it.
func startTraced(t *testing.T, program string, args ...string) *traced {
	server := unhurried(program, append([]string{"-trace", "-machines", "127.0.0.1,127.0.0.2"}, args...)...)
	stderr, err := server.StderrPipe()
	require.NoError(t, err)
	loop, err := server.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill() }) // if the test did not stop it
	s := &traced{server: server, loop: loop, lines: make(chan string, 10000)}
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

// warmUp lets the server read what is in etcd, which it does for whatever comes
// first.
func (s *traced) warmUp(t *testing.T) {
	resp, err := http.Get("http://" + s.address + "/api/v1beta1/tasks")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	s.until(t, "GET /api/v1beta1/tasks")
}

// stop stops the server and returns the rest of its trace.
func (s *traced) stop(t *testing.T) (narration []string) {
	assert.NoError(t, s.server.Process.Signal(syscall.SIGTERM))
	for line := range s.lines {
		narration = append(narration, line)
	}
	assert.NoError(t, s.server.Wait())
	return narration
}

// until returns the trace up to the end of the outermost call in which a line
// contains beginning.
func (s *traced) until(t *testing.T, beginning string) (narration []string) {
	began := false
	for line := range s.lines {
		narration = append(narration, line)
		began = began || strings.Contains(line, beginning)
		if began && strings.Contains(line, " → ") && outermost.MatchString(line) {
			return narration
		}
	}
	require.FailNow(t, "the narration ended without "+beginning, strings.Join(narration, "\n"))
	return nil
}

var (
	outermost = regexp.MustCompile(`^.{8} [^ ]`)
	took      = regexp.MustCompile(`^ *[\d.]+(µs|ms|s) `)
	etcdIndex = regexp.MustCompile(`index \d+`)
	noKubelet = regexp.MustCompile(`(GetContainerInfo\(.*\) → error): .*`)
)

// blank removes what differs from run to run: times, etcd's indexes, and the
// system's error for a kubelet that is down.
func blank(narration []string) string {
	var text strings.Builder
	for _, line := range narration {
		line = took.ReplaceAllString(line, "    time ")
		line = etcdIndex.ReplaceAllString(line, "index N")
		line = noKubelet.ReplaceAllString(line, "$1")
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return text.String()
}

func TestTheTourInTheREADMEIsNarrated(t *testing.T) {
	t.Parallel()
	program := buildUnhurried(t)
	tour := commandsOf(section(t, "README.md", "## A tour with curl"))
	for _, backend := range []string{"memory", "etcd"} {
		t.Run("backend="+backend, func(t *testing.T) {
			t.Parallel()
			var args []string
			if backend == "etcd" {
				args = []string{"-etcd_servers", startEtcd(t)}
			}
			server := startTraced(t, program, args...)
			server.warmUp(t)
			checkSession(t, tour, map[string]string{"127.0.0.1:8080": server.address})
			narration := server.stop(t)
			file := "testdata/tour-" + backend + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(blank(narration)), 0o644))
			}
			golden, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(golden), blank(narration), file)
		})
	}
}

var narratedName = regexp.MustCompile(`(?m)^.{8} +(?:[A-Z]+ \S+ to )?(\w+\.\w+)`)

// A reader can jump to what a line names.
func TestEveryNameInANarrationExists(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, backend := range []string{"memory", "etcd"} {
		narration, err := os.ReadFile("testdata/tour-" + backend + ".txt")
		require.NoError(t, err)
		for _, match := range narratedName.FindAllStringSubmatch(string(narration), -1) {
			names[match[1]] = true
		}
	}
	assert.Greater(t, len(names), 35)
	c := readCode(t)
	for name := range names {
		assert.True(t, c.names[name], "the narration names %s", name)
	}
}

var textBlock = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")

// narrationOf returns the trace in a part of a document.
func narrationOf(part string) (narration []string) {
	for _, block := range textBlock.FindAllStringSubmatch(part, -1) {
		narration = append(narration, strings.Split(strings.TrimSuffix(block[1], "\n"), "\n")...)
	}
	return narration
}

func TestTheGuidedTourShowsWhatIsNarrated(t *testing.T) {
	t.Parallel()
	requests := section(t, "docs/tour.md", "## Two requests")
	sync := section(t, "docs/tour.md", "## Every ten seconds")
	etcd := startEtcd(t)
	server := startTraced(t, buildUnhurried(t), "-etcd_servers", etcd)
	server.warmUp(t)
	actual := map[string]string{"127.0.0.1:8080": server.address, "127.0.0.1:4001": strings.TrimPrefix(etcd, "http://")}
	checkSession(t, commandsOf(section(t, "docs/tour.md", "## Two requests")), actual)
	checkSession(t, commandsOf(section(t, "docs/tour.md", "### A service")), actual)
	for range 2 { // the second time there is nothing to write
		_, err := io.WriteString(server.loop, "now\n")
		require.NoError(t, err)
	}
	told := server.until(t, "EndpointController.SyncServiceEndpoints()")
	checkSession(t, commandsOf(section(t, "docs/tour.md", "### Its endpoints")), actual)
	assert.Empty(t, server.stop(t), "nothing more is narrated")
	assert.Equal(t, blank(append(narrationOf(requests), narrationOf(sync)...)), blank(told))
}
