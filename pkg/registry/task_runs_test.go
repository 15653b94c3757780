package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/etcd/etcdtest"
)

func withLabels(id string, labels map[string]string) api.Task {
	task := makeTask(id)
	task.Labels = labels
	return task
}

// After random creates, updates and deletes, lists, label queries and their JSON
// agree with the tasks.
func TestTheIndexOfTasksIsAlwaysThatOfTheTasks(t *testing.T) {
	t.Parallel()
	registry, random, model := MakeMemoryRegistry(), rand.New(rand.NewSource(1)), map[string]api.Task{}
	queries := []map[string]string{nil, {"a": "0"}, {"a": "1", "b": "2"}, {"b": "1", "c": "none"}, {"a": "0", "b": "0", "c": "0"}}
	for step := range 6000 {
		growing := step < 3000
		id := fmt.Sprintf("task-%d", random.Intn(1500))
		task := withLabels(id, map[string]string{"a": fmt.Sprint(random.Intn(2)), "b": fmt.Sprint(random.Intn(40)), "c": fmt.Sprint(random.Intn(3))})
		if random.Intn(50) == 0 {
			task.Labels["large"] = strings.Repeat("x", 1000)
		}
		_, exists := model[id]
		switch {
		case !exists && growing:
			require.NoError(t, registry.CreateTask("m", task))
			model[id] = on("m", task)
		case exists && random.Intn(3) == 0:
			require.NoError(t, registry.UpdateTask(task))
			model[id] = on("m", task)
		case exists && (!growing || random.Intn(3) == 0):
			require.NoError(t, registry.DeleteTask(id))
			delete(model, id)
		}
		if step%500 != 499 && step < 5990 {
			continue
		}
		for _, query := range queries {
			want := []api.Task{}
			for _, id := range slices.Sorted(maps.Keys(model)) {
				if LabelsMatch(model[id], &query) {
					want = append(want, model[id])
				}
			}
			got, err := registry.ListTasks(&query)
			require.NoError(t, err)
			require.Equal(t, want, withoutMeta(got...), "step %d, %v", step, query)
			u := &url.URL{RawQuery: url.Values{"labels": {client.EncodeLabelQuery(query)}}.Encode()}
			answer, err := taskStorage(registry, nil).List(u)
			require.NoError(t, err)
			text, err := json.MarshalIndent(wire(t, api.TaskList{Items: want}), "", "    ")
			require.NoError(t, err)
			require.True(t, string(text) == answered(t, answer), "step %d, %v", step, query)
		}
	}
}

func TestAListThatIsBeingSentIsThatOfItsBeginning(t *testing.T) {
	t.Parallel()
	registry := unhurried(etcdtest.NewFake())
	for i := range 2 * maxRunLength {
		require.NoError(t, registry.CreateTask(fmt.Sprint("m", i%100), makeTask(fmt.Sprintf("task-%04d", i))))
	}
	encoded, err := registry.EncodedTasks(nil)
	require.NoError(t, err)
	before := encoded.Bytes()
	for i := range 2 * maxRunLength {
		require.NoError(t, registry.DeleteTask(fmt.Sprintf("task-%04d", i)))
	}
	assert.Equal(t, string(before), string(encoded.Bytes()))
	assert.Len(t, before, encoded.Size)
	empty, err := registry.EncodedTasks(nil)
	require.NoError(t, err)
	assert.Equal(t, "{\n    \"items\": []\n}", string(empty.Bytes()))
}

// keptTexts counts the runs whose text is kept.
func keptTexts(registry *EtcdRegistry) int {
	kept := 0
	for _, run := range registry.mirror.contents.tasks.byID.runs {
		run.mu.Lock()
		if run.json != nil {
			kept++
		}
		run.mu.Unlock()
	}
	return kept
}

func TestTheTextOfAListIsKeptAsLongAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := unhurried(etcdtest.NewFake())
		for i := range 2 * maxRunLength {
			require.NoError(t, registry.CreateTask(fmt.Sprint("m", i%100), withLabels(fmt.Sprintf("task-%04d", i), map[string]string{"a": "b"})))
		}
		list := func(query map[string]string) {
			encoded, err := registry.EncodedTasks(query)
			require.NoError(t, err)
			encoded.Bytes()
		}
		list(map[string]string{"a": "b"})
		assert.Zero(t, keptTexts(registry), "a query keeps nothing")
		runs := len(registry.mirror.contents.tasks.byID.runs)
		for range 3 {
			list(nil)
			time.Sleep(textAge * 3 / 4)
			assert.Equal(t, runs, keptTexts(registry))
		}
		require.NoError(t, registry.UpdateTask(makeTask("task-0000")))
		assert.Equal(t, runs-1, keptTexts(registry), "a write spoils one run")
		time.Sleep(2 * textAge)
		assert.Zero(t, keptTexts(registry))
		list(nil)
		assert.Equal(t, runs, keptTexts(registry))
	})
}

// counting counts the tasks that it hands out.
type counting struct {
	*MemoryRegistry
	looked int
}

func (c *counting) ListTasks(query *map[string]string) ([]api.Task, error) {
	tasks, err := c.MemoryRegistry.ListTasks(query)
	c.looked += len(tasks)
	return tasks, err
}

func (c *counting) GetTask(id string) (*api.Task, error) {
	c.looked++
	return c.MemoryRegistry.GetTask(id)
}

func TestFirstFitLooksAtNoTaskToPlaceOne(t *testing.T) {
	t.Parallel()
	registry := &counting{MemoryRegistry: MakeMemoryRegistry()}
	storage := taskStorage(registry, nil)
	for i := range 100 {
		require.NoError(t, storage.Create(makeTask(fmt.Sprintf("task-%d", i), 80+i/2)))
	}
	assert.Zero(t, registry.looked)
}
