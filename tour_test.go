package kube2014

import (
	"flag"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Write the traces in docs/tour.md, and the lines in the links of docs/original.md, again
// with
//
//	go test -run 'TestTheGuidedTour|TestTheMap|ShowsTheTrace|ShowTheTrace' . -update
var update = flag.Bool("update", false, "write anew what a test compares with the code")

// until returns the trace up to the end of the outermost call in which a line
// contains beginning.
func (s *server) until(t *testing.T, beginning string) (trace []string) {
	began := false
	for line := range s.lines {
		trace = append(trace, line)
		began = began || strings.Contains(line, beginning)
		if began && outermostEnd.MatchString(line) {
			return trace
		}
	}
	require.FailNow(t, "the trace ended without "+beginning, strings.Join(trace, "\n"))
	return nil
}

var (
	outermostEnd = regexp.MustCompile(`^.{8} (?:[^ ].* )?→ `)
	took         = regexp.MustCompile(`(?m)^ *[\d.]+(µs|ms|s) `)
	workLine     = regexp.MustCompile(`^.{8} \w+\.sync\(`)
	etcdIndex    = regexp.MustCompile(`index \d+`)
	watchQuery   = regexp.MustCompile(`(resourceVersion|timeoutSeconds)=\d+`)
)

// blank removes what differs from run to run: times, etcd's indexes, versions and time limits of
// watches.
func blank(trace string) string {
	trace = took.ReplaceAllString(trace, "    time ")
	trace = etcdIndex.ReplaceAllString(trace, "index N")
	return watchQuery.ReplaceAllString(trace, "$1=N")
}

var (
	textBlock  = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	tracedName = regexp.MustCompile(`(?m)^.{8} +(?:[A-Z]+ \S+ to )?(\w+\.\w+)`)
)

// Not parallel: with -update it writes what other tests read.
func TestTheGuidedTourShowsTheTrace(t *testing.T) {
	const tour = "docs/tour.md"
	etcd := startEtcd(t)
	server := startUnready(t, build(t, unhurried), "-trace", "-runtime_config", "api/v1=false", "-etcd_servers", etcd)
	resp, err := http.Get("http://" + server.address + "/api/v1beta1/tasks") // the first request reads what is in etcd
	require.NoError(t, err)
	resp.Body.Close()
	server.until(t, "GET /api/v1beta1/tasks")
	checkSession(t, commandsIn(t, tour, sessions[tour]...), map[string]string{
		"127.0.0.1:8080": server.address, "127.0.0.1:4001": strings.TrimPrefix(etcd, "http://")})
	for range 2 { // the second time there is nothing to write
		_, err := io.WriteString(server.loop, "now\n")
		require.NoError(t, err)
	}
	trace := server.until(t, "EndpointController.SyncServiceEndpoints()")
	assert.Empty(t, server.stop(), "nothing more is traced")
	checkTrace(t, tour, trace)
}

// Not parallel, as above.
func TestTheSecondDoorShowsTheTrace(t *testing.T) {
	const document = "docs/second-door.md"
	server := start(t, build(t, unhurried), "-trace")
	checkSession(t, commandsIn(t, document, "## The way of a request"), map[string]string{"127.0.0.1:8080": server.address})
	checkTrace(t, document, server.until(t, "POST /api/v1/"))
}

// Not parallel, as above.
func TestThePartsShowTheTrace(t *testing.T) {
	const document = "docs/parts.md"
	server := start(t, build(t, unhurried), "-trace", "-run", "apiserver,controller_manager", "-node_monitor_period", "1h")
	checkSession(t, commandsIn(t, document, sessions[document]...), map[string]string{"127.0.0.1:8080": server.address})
	checkTrace(t, document, server.until(t, `ReplicationManager.sync("default/web") → ok`))
}

// checkTrace compares the calls in the text blocks of a document with those of a trace.
// Of calls with the same first line it is the first one.
func checkTrace(t *testing.T, file string, trace []string) {
	calls := map[string]string{}
	for _, call := range callsIn(trace) {
		if first := firstLine(call); calls[first] == "" {
			calls[first] = call
		}
	}
	c := readCode(t)
	document := read(t, file)
	shown := textBlock.ReplaceAllStringFunc(document, func(block string) string {
		trace := textBlock.FindStringSubmatch(block)[1]
		for _, match := range tracedName.FindAllStringSubmatch(trace, -1) {
			assert.True(t, c.has(match[1]), "the trace names %s", match[1])
		}
		traced := ""
		for _, call := range callsIn(slices.Collect(strings.Lines(trace))) {
			traced += calls[firstLine(call)]
		}
		if blank(traced) == blank(trace) {
			return block
		}
		return "```text\n" + traced + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
	} else {
		assert.Equal(t, shown, document)
	}
}

// callsIn returns the outermost calls of a trace. Where the work on a key begins, and where it
// ends, is a call of its own, which may stand in the middle of another one.
func callsIn(trace []string) (calls []string) {
	call := ""
	for _, line := range trace {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if workLine.MatchString(line) {
			calls = append(calls, line)
			continue
		}
		call += line
		if outermostEnd.MatchString(line) {
			calls, call = append(calls, call), ""
		}
	}
	return calls
}

func firstLine(call string) string {
	first, _, _ := strings.Cut(call, "\n")
	return blank(first)
}
