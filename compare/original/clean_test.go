package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var evil = object{"tasks", "../../controllers/evil"}

// D10: no path of a DELETE can name this id. On etcd it is not even listed.
func TestWhatWasMadeIsDeletedAndWhatCannotBeIsTold(t *testing.T) {
	onEachStore(t, func(t *testing.T, original *playback) {
		_, stdout, _ := runCompare(t.Context(), "-original", original.URL)
		if original.store == "memory" {
			assert.Equal(t, map[object]bool{evil: true}, original.held)
			assert.Contains(t, stdout, `The original still holds task "../../controllers/evil": start it anew before you compare again.`)
		} else {
			assert.Empty(t, original.held)
			assert.Contains(t, stdout, `The original took task "../../controllers/evil" and does not list it (D10)`)
		}
	})
}

func TestTheOriginalOnEtcdCanBeComparedTwiceInARow(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "etcd")
	_, first, _ := runCompare(t.Context(), "-original", original.URL)
	code, second, stderr := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 0, code, stderr)
	assert.Equal(t, first, second)
}

func TestTheOriginalOnMemoryIsToBeStartedAnew(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "memory")
	_, _, _ = runCompare(t.Context(), "-original", original.URL)
	changes := original.changes
	code, _, stderr := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 2, code)
	assert.Equal(t, "compare-original: the original at "+original.URL+` is not empty, it holds task "../../controllers/evil": `+
		"start it anew, it cannot delete an id with a slash (D10)\n", stderr)
	assert.Equal(t, changes, original.changes)
}

func TestAServerThatIsNotEmptyIsRefusedAndNotChanged(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "memory")
	held := map[object]bool{{"services", "a"}: true, {"tasks", "web-1"}: true}
	original.held = held
	code, stdout, stderr := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 2, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "compare-original: the original at "+original.URL+` is not empty, it holds task "web-1", service "a": compare an empty one`+"\n", stderr)
	assert.Zero(t, original.changes)
	assert.Len(t, held, 2)
	assert.Equal(t, `task "a", task "b", task "c", 2 more`, inWords([]object{
		{"tasks", "a"}, {"tasks", "b"}, {"tasks", "c"}, {"tasks", "d"}, {"tasks", "e"},
	}))
}

// What others make meanwhile stays. On etcd a DELETE without an id could take it
// along, so the nameless object of D8 stays too.
func TestObjectsOfOthersAreNotDeleted(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "memory")
	theirs := object{"services", "theirs"}
	original.before["create service without id"] = func(p *playback) { p.held[theirs] = true }
	code, _, _ := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 0, code)
	assert.Equal(t, map[object]bool{theirs: true, {"services", ""}: true, evil: true}, original.held)
}

// Another client was first: the id that was refused is not ours to delete.
func TestAnObjectThatWasRefusedIsNotDeleted(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "memory")
	theirs := object{"services", "frontend"}
	*original.answerTo("create service") = answer{Status: 409, Body: "Conflict"}
	*original.answerTo("update service") = answer{Status: 409, Body: "Conflict"}
	original.before["create service"] = func(p *playback) { p.held[theirs] = true }
	code, _, stderr := runCompare(t.Context(), "-original", original.URL)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, `is not empty, it holds service "frontend"`)
	assert.Equal(t, map[object]bool{theirs: true}, original.held)
}

func TestAnInterruptedComparisonCleansUp(t *testing.T) {
	t.Parallel()
	original := playOriginal(t, "etcd")
	ctx, interrupt := context.WithCancel(t.Context())
	original.before["update service"] = func(p *playback) {
		require.Len(p.t, p.held, 8)
		interrupt()
	}
	code, _, stderr := runCompare(ctx, "-original", original.URL)
	assert.Equal(t, 2, code)
	assert.Equal(t, "compare-original: interrupted\n", stderr)
	assert.Empty(t, original.held)
}

// hang starts a server that does not answer before the test has ended.
func hang(t *testing.T) *httptest.Server {
	ended := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(hung.Close)
	t.Cleanup(func() { close(ended) })
	return hung
}

func TestAHangIsBounded(t *testing.T) {
	t.Parallel()
	original := hang(t)
	code, stdout, stderr := runCompare(t.Context(), "-original", original.URL, "-timeout", "1ms")
	assert.Equal(t, 2, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "compare-original: the original at "+original.URL+" does not answer GET /api/v1beta1/tasks: no answer in 1ms\n", stderr)
}

// D21: the original asks a kubelet that hangs for as long as it hangs.
func TestAHangIsExplainedForATaskOnly(t *testing.T) {
	t.Parallel()
	hung, err := newServer("the original", hang(t).URL, time.Millisecond).ask(t.Context(), "GET", "/", "")
	require.NoError(t, err)
	assert.Zero(t, hung.Status)
	get := step{Method: "GET", Path: prefix + "tasks/redis"}
	get.Contract.Status = 200
	get.Contract.Body = "{\n    \"currentState\": {\n        \"host\": \"m\",\n        \"info\": {\n            \"Pid\": 1\n        }\n    }\n}"
	ours := answer{Status: 200, ContentType: asJSON, Body: "{\n    \"currentState\": {\n        \"host\": \"m\"\n    }\n}"}
	got := explain(get, "memory", hung, ours)
	assert.True(t, got.explained)
	assert.Equal(t, []string{"D21"}, got.deviations)

	// A kubelet that only ours can reach makes no difference.
	withInfo := answer{Status: 200, ContentType: asJSON, Body: get.Contract.Body}
	assert.True(t, explain(get, "memory", hung, withInfo).explained)

	get.Path = prefix + "services/redis"
	assert.False(t, explain(get, "memory", hung, ours).explained)
}

// A server that hangs in the middle is not asked all the rest.
func TestAHangThatNothingExplainsEndsTheComparison(t *testing.T) {
	t.Parallel()
	hung := newServer("the one that hangs", hang(t).URL, time.Millisecond)
	fine := func() *server { return newServer("the other", playOriginal(t, "memory").URL, time.Hour) }
	steps := []step{{Name: "index", Method: "GET", Path: "/"}, {Name: "index.html", Method: "GET", Path: "/index.html"}}
	for _, c := range []*comparison{{original: hung, ours: fine()}, {original: fine(), ours: hung}, {original: hung, ours: hung}} {
		c.report = &report{out: t.Output(), deviations: map[string]int{}}
		err := c.replay(t.Context(), recording{Steps: steps})
		assert.EqualError(t, err, "the one that hangs at "+hung.url+" hangs: GET /: no answer in 1ms")
		assert.Equal(t, 1, c.report.requests)
	}
}
