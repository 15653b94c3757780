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
//	go test -run 'TestTheGuidedTour|TestTheMap|ShowsWhatIsNarrated|ShowWhatIsNarrated' . -update
var update = flag.Bool("update", false, "write anew what a test compares with the code")

// until returns the trace up to the end of the outermost call in which a line
// contains beginning.
func (s *server) until(t *testing.T, beginning string) (narration []string) {
	began := false
	for line := range s.lines {
		narration = append(narration, line)
		began = began || strings.Contains(line, beginning)
		if began && outermostEnd.MatchString(line) {
			return narration
		}
	}
	require.FailNow(t, "the narration ended without "+beginning, strings.Join(narration, "\n"))
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
func blank(narration string) string {
	narration = took.ReplaceAllString(narration, "    time ")
	narration = etcdIndex.ReplaceAllString(narration, "index N")
	return watchQuery.ReplaceAllString(narration, "$1=N")
}

var (
	textBlock    = regexp.MustCompile("(?ms)^```text\n(.*?)^```$")
	narratedName = regexp.MustCompile(`(?m)^.{8} +(?:[A-Z]+ \S+ to )?(\w+\.\w+)`)
)

// Not parallel: with -update it writes what other tests read.
func TestTheGuidedTourShowsWhatIsNarrated(t *testing.T) {
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
	narration := server.until(t, "EndpointController.SyncServiceEndpoints()")
	assert.Empty(t, server.stop(), "nothing more is narrated")
	checkNarration(t, tour, narration)
}

// Not parallel, as above.
func TestTheSecondDoorShowsWhatIsNarrated(t *testing.T) {
	const document = "docs/second-door.md"
	server := start(t, build(t, unhurried), "-trace")
	checkSession(t, commandsIn(t, document, "## The way of a request"), map[string]string{"127.0.0.1:8080": server.address})
	checkNarration(t, document, server.until(t, "POST /api/v1/"))
}

// Not parallel, as above.
func TestThePartsShowWhatIsNarrated(t *testing.T) {
	const document = "docs/parts.md"
	server := start(t, build(t, unhurried), "-trace", "-run", "apiserver,controller_manager", "-node_monitor_period", "1h")
	checkSession(t, commandsIn(t, document, sessions[document]...), map[string]string{"127.0.0.1:8080": server.address})
	checkNarration(t, document, server.until(t, `ReplicationManager.sync("default/web") → ok`))
}

// checkNarration compares the calls in the text blocks of a document with those of a narration.
// Of calls with the same first line it is the first one.
func checkNarration(t *testing.T, file string, narration []string) {
	calls := map[string]string{}
	for _, call := range callsIn(narration) {
		if first := firstLine(call); calls[first] == "" {
			calls[first] = call
		}
	}
	c := readCode(t)
	document := read(t, file)
	shown := textBlock.ReplaceAllStringFunc(document, func(block string) string {
		narration := textBlock.FindStringSubmatch(block)[1]
		for _, match := range narratedName.FindAllStringSubmatch(narration, -1) {
			assert.True(t, c.has(match[1]), "the narration names %s", match[1])
		}
		narrated := ""
		for _, call := range callsIn(slices.Collect(strings.Lines(narration))) {
			narrated += calls[firstLine(call)]
		}
		if blank(narrated) == blank(narration) {
			return block
		}
		return "```text\n" + narrated + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(shown), 0o644))
	} else {
		assert.Equal(t, shown, document)
	}
}

// callsIn returns the outermost calls of a narration. Where the work on a key begins, and where it
// ends, is a call of its own, which may stand in the middle of another one.
func callsIn(narration []string) (calls []string) {
	call := ""
	for _, line := range narration {
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
