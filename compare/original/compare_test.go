package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	recordingsDir   = "../../cmd/apiserver/testdata"
	deviationsTable = "../../docs/deviations.md"
	patience        = "10m" // no test waits for it
)

var program string // the apiserver

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "apiserver")
	if output, err := exec.Command("go", "build", "-o", program, "../../cmd/apiserver").CombinedOutput(); err != nil {
		panic(string(output))
	}
	return m.Run()
}

// runCompare runs the program with the real recordings and the real apiserver.
func runCompare(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, complaints bytes.Buffer
	files := []string{"-apiserver", program, "-recordings", recordingsDir, "-deviations", deviationsTable, "-timeout", patience}
	code = run(ctx, append(files, args...), &out, &complaints)
	return code, out.String(), complaints.String()
}

func onEachStore(t *testing.T, test func(t *testing.T, original *playback)) {
	t.Parallel()
	for _, store := range []string{"memory", "etcd"} {
		t.Run("backend="+store, func(t *testing.T) {
			t.Parallel()
			test(t, playOriginal(t, store))
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// printedAbout returns what is printed about a step.
func printedAbout(t *testing.T, stdout, name string) string {
	_, block, found := strings.Cut(stdout, "\n"+name+": ")
	require.True(t, found, "nothing is printed about %s", name)
	block, _, _ = strings.Cut(block, "\n\n")
	return block
}

// In the playback there is no kubelet, and each list is turned around.
func TestEachDifferenceFromTheOriginalHasItsDeviation(t *testing.T) {
	onEachStore(t, func(t *testing.T, original *playback) {
		code, stdout, stderr := runCompare(t.Context(), "-original", original.URL)
		assert.Equal(t, 0, code, stdout)
		assert.Empty(t, stderr)
		assert.NotContains(t, stdout, "UNEXPLAINED")
		assert.Equal(t, map[string]string{
			"memory": "75 requests: 2 alike, 73 different (D1 3, D2 1, D3 6, D4 1, D5 1, D6 3, D8 3, D9 5, D10 4, D11 1, D12 2, D13 2, " +
				"D15 4, D16 4, D17 39, D18 5, D21 1, D28 5, D36 2), 0 unexplained",
			"etcd": "75 requests: 2 alike, 73 different (D1 3, D2 1, D3 6, D4 1, D5 1, D6 3, D8 3, D9 5, D10 4, D11 1, D12 2, D13 2, " +
				"D14 1, D15 3, D16 4, D17 36, D21 1, D24 7, D28 3, D36 2), 0 unexplained",
		}[original.store], lastLine(stdout))
	})
}

func TestADifferenceIsPrintedForPeople(t *testing.T) {
	t.Parallel()
	_, stdout, _ := runCompare(t.Context(), "-original", playOriginal(t, "memory").URL)
	assert.Equal(t, strings.Join([]string{
		"DELETE /api/v1beta1/tasks/cased",
		"  original  200  text/plain; charset=utf-8  {}",
		`  ours      200  application/json           { "success": true }`,
		`  D15       DELETE returns {} -> {"success": true}`,
		"  D17       JSON is text/plain -> application/json",
	}, "\n"), printedAbout(t, stdout, "delete task"))
	assert.Equal(t, strings.Join([]string{
		`POST /api/v1beta1/tasks {"id": "spoof", "currentState": {"host"…`,
		`  original  200  text/plain; charset=utf-8  …s": null, "containers": null }, "status": "Running", "host": "elsewhere" } }`,
		`  ours      200  application/json           …s": null, "containers": null } } }`,
		"  D11       stores clients' currentState -> drops it",
		"  D17       JSON is text/plain -> application/json",
	}, "\n"), printedAbout(t, stdout, "create task with currentState"))
	assert.Equal(t, strings.Join([]string{
		"GET /api/v1beta1/services/frontend",
		"  D17       JSON is text/plain -> application/json",
	}, "\n"), printedAbout(t, stdout, "get service"))
}

// What is wrong in an answer of the original is found, whichever deviations show
// in the same answer.
func TestAWrongByteIsUnexplained(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct{ store, step, was, is string }{
		{"memory", "index", "Welcome", "welcome"},
		{"memory", "list services", `"port": 9998`, `"port": 9997`},
		{"memory", "list services", `"items": [`, `"items":  [`},
		{"memory", "list tasks", `"id": "web-2"`, `"id": "web-3"`},
		{"memory", "list tasks, empty label query", `"busybox"`, `"busyboy"`},
		{"memory", "delete task", "{}", "{ }"},
		{"memory", "get service that is missing", "null", "nil"},
		{"memory", "create task that exists", `"id": "web-1"`, `"id": "web-2"`},
		{"memory", "delete controller that is missing", "{}", "[]"},
		{"memory", "path outside the prefix", `Method:"GET"`, `Method:"PUT"`},
		{"etcd", "create task web-1", `"SERVICE_HOST"`, `"SERVICE_HOSt"`},
		{"etcd", "create task redis with every field", `"master \u0026`, `"Master \u0026`},
		{"etcd", "list tasks by label", `"host": "127.0.0.2"`, `"host": "127.0.0.3"`},
		{"etcd", "create task, empty body", "&json.SyntaxError{", "&json.SyntacsError{"},
		{"etcd", "get task (its container info comes from the kubelet)", "&url.Error{", "&net.Error{"},
		{"etcd", "delete service without endpoints", "ErrorCode:100", "ErrorCode:101"},
	} {
		t.Run(wrong.step, func(t *testing.T) {
			t.Parallel()
			original := playOriginal(t, wrong.store)
			answer := original.answerTo(wrong.step)
			require.Contains(t, answer.Body, wrong.was)
			answer.Body = strings.Replace(answer.Body, wrong.was, wrong.is, 1)
			code, stdout, stderr := runCompare(t.Context(), "-original", original.URL)
			assert.Equal(t, 1, code)
			assert.Empty(t, stderr)
			assert.Equal(t, 1, strings.Count(stdout, "UNEXPLAINED"))
			assert.Contains(t, printedAbout(t, stdout, wrong.step), "\n  UNEXPLAINED")
			assert.True(t, strings.HasSuffix(lastLine(stdout), ", 1 unexplained"), stdout)
		})
	}
}

// The excerpts after the word have nothing that a deviation explains.
func TestWhatIsUnexplainedIsShownWithoutWhatIsExplained(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "memory")
	answer := original.answerTo("list tasks")
	answer.Body = strings.Replace(answer.Body, `"busybox"`, `"busyboy"`, 1)
	_, stdout, _ := runCompare(t.Context(), "-original", original.URL)
	_, unexplained, _ := strings.Cut(printedAbout(t, stdout, "list tasks"), "  UNEXPLAINED\n")
	assert.Equal(t, strings.Join([]string{
		`  original  200  …tainers": [ { "image": "busyboy" } ] } }, "currentState": { "manifest": { "ver…`,
		`  ours      200  …tainers": [ { "image": "busybox" } ] } }, "currentState": { "manifest": { "ver…`,
	}, "\n"), unexplained)
}

func TestADifferenceInBlanksIsShown(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `"{\n \"a\": 1}"`, excerpt("{\n \"a\": 1}", "{\n  \"a\": 1}"))
}

// D18 is for memory: on etcd each task has its machine.
func TestAListWithoutMachinesIsUnexplainedOnEtcd(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "etcd")
	answer := original.answerTo("list tasks")
	answer.Body = host.ReplaceAllString(answer.Body, "")
	code, stdout, _ := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 1, code)
	assert.Contains(t, printedAbout(t, stdout, "list tasks"), "\n  UNEXPLAINED")
}

func TestAWrongStatusOrTypeIsUnexplained(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*answer){
		"status":     func(a *answer) { a.Status = 201 },
		"type":       func(a *answer) { a.ContentType = "text/html; charset=utf-8" },
		"connection": func(a *answer) { *a = answer{} },
	} {
		for _, step := range []string{"get controller", "create service without id"} {
			t.Run(name+" of "+step, func(t *testing.T) {
				t.Parallel()
				original := playOriginal(t, "etcd")
				spoil(original.answerTo(step))
				code, stdout, _ := runCompare(t.Context(), "-original", original.URL)
				assert.Equal(t, 1, code)
				assert.Contains(t, printedAbout(t, stdout, step), "\n  UNEXPLAINED")
			})
		}
	}
}

// A deviation explains our answer only if it is that of the contract.
func TestAnAnswerOfOursThatBreaksTheContractIsUnexplained(t *testing.T) {
	t.Parallel()
	missing := step{Name: "get service that is missing", Method: "GET", Path: prefix + "services/nope", Deviation: "D3"}
	missing.Contract.Status, missing.Contract.Contains = 404, []string{"Not Found: ", "nope"}
	missing.Original = map[string]answer{"memory": {Status: 200, Body: "null"}}
	original := answer{Status: 200, ContentType: plainText, Body: "null"}
	assert.True(t, explain(missing, "memory", original, answer{Status: 404, ContentType: plainText, Body: "Not Found: nope"}).explained)
	assert.False(t, explain(missing, "memory", original, answer{Status: 500, ContentType: plainText, Body: "Not Found: nope"}).explained)
	assert.False(t, explain(missing, "memory", original, answer{Status: 404, ContentType: plainText, Body: "Not Found: "}).explained)
	assert.False(t, explain(missing, "etcd", original, answer{Status: 404, ContentType: plainText, Body: "Not Found: nope"}).explained)
}

func TestOursComparedWithOursIsAlikeTwiceInARow(t *testing.T) {
	t.Parallel()
	address, stop, err := startOurs(program, []string{"127.0.0.1", "127.0.0.2"})
	require.NoError(t, err)
	defer stop()
	for range 2 {
		code, stdout, stderr := runCompare(t.Context(), "-original", address)
		assert.Equal(t, 0, code, stderr)
		assert.Equal(t, "happy.json\n\nwrong.json\n\n75 requests: 75 alike, 0 different, 0 unexplained\n", stdout)
	}
}

// With -ours nothing is started.
func TestOursCanBeAServerThatRuns(t *testing.T) {
	t.Parallel()
	address, stop, err := startOurs(program, []string{"127.0.0.1", "127.0.0.2"})
	require.NoError(t, err)
	defer stop()
	for range 2 {
		code, stdout, stderr := runCompare(t.Context(), "-original", playOriginal(t, "etcd").URL, "-ours", address, "-apiserver", "/nowhere")
		assert.Equal(t, 0, code, "%s%s", stderr, stdout)
	}
}

func TestEveryRuleHasItsRowInTheTableOfDeviations(t *testing.T) {
	t.Parallel()
	meanings, err := readMeanings(deviationsTable)
	require.NoError(t, err)
	for _, rule := range rules {
		assert.NotEmpty(t, meanings[rule.deviation], rule.deviation)
	}
}

func TestMakeTellsHowToUseIt(t *testing.T) {
	t.Parallel()
	output, err := exec.Command("make", "-C", "../..", "compare-original", "ORIGINAL=").CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(output), "make compare-original ORIGINAL=http://127.0.0.1:8001")
	assert.NotContains(t, string(output), "go build", "nothing is built")
}

func TestFlagsThatAreWrongAreOneLine(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct {
		args  []string
		names string
	}{
		{nil, "-original"},
		{[]string{"-original", "localhost:8001"}, `"localhost:8001"`},
		{[]string{"-original", "http://"}, `"http://"`},
		{[]string{"-original", "http://127.0.0.1:8001/api/v1beta1"}, "/api/v1beta1"},
		{[]string{"-original", "http://127.0.0.1:8001", "-ours", "ftp://127.0.0.1"}, "-ours"},
		{[]string{"-original", "http://127.0.0.1:8001", "more"}, `"more"`},
		{[]string{"-original", "http://127.0.0.1:8001", "-apiserver", "/nowhere"}, "/nowhere"},
		{[]string{"-original", "http://127.0.0.1:8001", "-apiserver", "/bin/true"}, "/bin/true"},
		{[]string{"-original", "http://127.0.0.1:8001", "-recordings", "/nowhere"}, "/nowhere/happy.json"},
		{[]string{"-original", "http://127.0.0.1:8001", "-deviations", "/nowhere"}, "/nowhere"},
		{[]string{"-original", "http://127.0.0.1:8001", "-deviations", "main.go"}, "main.go"},
	} {
		code, stdout, stderr := runCompare(t.Context(), wrong.args...)
		assert.Equal(t, 2, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, wrong.names)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}

func TestHelpIsNoError(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := runCompare(t.Context(), "-h")
	assert.Equal(t, 0, code)
	assert.Equal(t, usage, stdout)
	assert.Empty(t, stderr)
}

func TestAServerThatCannotBeComparedIsOneLine(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>\x1b[31m\n</p>") }))
	t.Cleanup(page.Close)
	for address, says := range map[string]string{
		"http://127.0.0.1:0": "does not answer", // nothing ever listens on port 0
		other.URL:            "GET /api/v1beta1/tasks is answered with 404 and 404 page not found",
		page.URL:             "GET /api/v1beta1/tasks is answered with 200 and <p>?[31m </p>",
	} {
		code, stdout, stderr := runCompare(t.Context(), "-original", address)
		assert.Equal(t, 2, code)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasPrefix(stderr, "compare-original: the original at "+address+" does not "), stderr)
		assert.Contains(t, stderr, says)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
