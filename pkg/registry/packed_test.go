package registry

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
)

// wire returns an object of the first door.
func wire(t *testing.T, object interface{}) (wired interface{}) {
	data, err := v1beta1.Codec.Marshal(object)
	require.NoError(t, err)
	switch object.(type) {
	case api.Task:
		wired = &v1beta1.Task{}
	case api.TaskList:
		wired = &v1beta1.TaskList{}
	}
	require.NoError(t, json.Unmarshal(data, wired))
	return wired
}

// strangeTasks are tasks whose JSON is unusual.
func strangeTasks() []api.Task {
	deep := interface{}("bottom")
	for range 40 {
		deep = []interface{}{map[string]interface{}{"below": deep}}
	}
	long, lines, nested := makeTask("long"), makeTask("lines"), makeTask("nested")
	long.Labels = map[string]string{"long": strings.Repeat("x", 70000), "x128": strings.Repeat("y", 128)}
	lines.Labels = map[string]string{"a\nb\u2028<&>": "  \n    \x00\x7f\ufffd"}
	nested.DesiredState.Info = deep
	return []api.Task{{}, makeTask("web", 80, 81), long, lines, nested}
}

func TestWhatIsPackedUnfoldsToTheJSONThatIsAnswered(t *testing.T) {
	t.Parallel()
	for _, task := range strangeTasks() {
		p, err := pack(task)
		require.NoError(t, err)
		want, err := json.MarshalIndent(wire(t, task), "", "    ")
		require.NoError(t, err)
		assert.Equal(t, string(want), string(p.appendTo(nil, 0)[1:]), task.ID)
		for _, depth := range []int{0, 2, 20} {
			want, err := json.MarshalIndent(wire(t, task), strings.Repeat(indentation, depth), "    ")
			require.NoError(t, err)
			got := p.appendTo([]byte("head"), depth)
			assert.Equal(t, "head\n"+strings.Repeat(indentation, depth)+string(want), string(got), task.ID)
			assert.Equal(t, len(got)-len("head"), p.size(depth))
		}
		var back api.Task
		require.NoError(t, decodeJSON(p.appendTo(nil, 0), &back))
		again, err := pack(back)
		require.NoError(t, err)
		assert.Equal(t, p, again)
	}
}

func TestWhatHasNoJSONIsNotPacked(t *testing.T) {
	t.Parallel()
	task := makeTask("x")
	task.DesiredState.Info = make(chan int)
	_, err := makeTaskEntry(task, nil)
	requireKind(t, api.Internal, err)
}

// A task is kept without the lines that all tasks of its machine have in common.
func TestAnEntryAnswersWithTheWholeTask(t *testing.T) {
	t.Parallel()
	var places taskPlaces
	place, err := places.of("m1")
	require.NoError(t, err)
	for _, task := range strangeTasks() {
		usual, other := on("m1", task), on("m1", task)
		other.CurrentState.Status = "unusual"
		for _, task := range []api.Task{usual, other} {
			entry, err := makeTaskEntry(task, place)
			require.NoError(t, err)
			want, err := json.MarshalIndent(wire(t, task), "", "    ")
			require.NoError(t, err)
			assert.Equal(t, string(want), string(entry.encoded().Bytes()))
			assert.Len(t, want, entry.encoded().Size)
			assert.Equal(t, entry.place == place, task.CurrentState.Status == "")
			assert.Equal(t, "m1", entry.machine())
			assert.Equal(t, task.ID, entry.id())
			back, err := entry.task()
			require.NoError(t, err)
			again, err := makeTaskEntry(back, place)
			require.NoError(t, err)
			assert.Equal(t, entry, again)
		}
	}
}
