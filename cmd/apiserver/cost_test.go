package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/client"
	"kube2014/pkg/registry"
)

const costMachines = 100

// nowhere is an http.ResponseWriter that keeps only the status.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header            { return w.header }
func (w *nowhere) WriteHeader(status int)         { w.status = status }
func (w *nowhere) Write(body []byte) (int, error) { return len(body), nil }

// filled returns the API in memory, with tasks on 100 machines; a hundredth of
// the tasks are in one group. It discards the log, so its tests are not
// parallel.
func filled(tb testing.TB, tasks int) http.Handler {
	log.SetOutput(io.Discard)
	tb.Cleanup(func() { log.SetOutput(os.Stderr) })
	var machines []string
	for i := range costMachines {
		machines = append(machines, fmt.Sprintf("m%03d", i))
	}
	stores := memoryRegistries()
	for i := range tasks {
		task := api.Task{JSONBase: api.JSONBase{ID: fmt.Sprintf("task-%06d", i)}, Labels: map[string]string{"name": "web", "group": fmt.Sprint("g", i%100)}}
		task.DesiredState.Manifest.Containers = []api.Container{{Image: "dockerfile/nginx", Ports: []api.Port{{HostPort: 1000 + i/costMachines}}}}
		require.NoError(tb, stores.Tasks.CreateTask(machines[i%costMachines], task))
	}
	return newHandler(stores, skipped{}, registry.MakeFirstFitScheduler(machines, stores.Tasks), client.DefaultPrefix)
}

// skipped is what is known about a container whose kubelet failed a short while ago.
type skipped struct{}

func (skipped) GetContainerInfo(string, string) (interface{}, error) {
	return nil, client.ErrKubeletSkipped
}

func send(tb testing.TB, handler http.Handler, method, path, body string) {
	w := &nowhere{header: http.Header{}}
	handler.ServeHTTP(w, httptest.NewRequest(method, client.DefaultPrefix+path, strings.NewReader(body)))
	require.Equal(tb, http.StatusOK, w.status)
}

// leastAllocs is what f allocates when the collector has not just emptied the pools.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(20, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(20, f))
	}
	return least
}

// What a GET and a POST cost does not grow with the tasks that there are.
func TestAllocationsDoNotGrowWithTheTasks(t *testing.T) {
	few, many := filled(t, 100), filled(t, 5000)
	created := 0
	for name, row := range map[string]struct {
		request func(handler http.Handler)
		most    float64
	}{
		"GET of a task": {func(handler http.Handler) { send(t, handler, "GET", "/tasks/task-000007", "") }, 40},
		"POST of a task": {func(handler http.Handler) {
			created++
			send(t, handler, "POST", "/tasks", fmt.Sprintf(`{"id": "new-%d", "desiredState": {"manifest": {"containers": [{"ports": [{"hostPort": 1}]}]}}}`, created))
			send(t, handler, "DELETE", fmt.Sprintf("/tasks/new-%d", created), "")
		}, 250},
		"a label query": {func(handler http.Handler) { send(t, handler, "GET", "/tasks?labels=group=g7,name=web", "") }, 80},
		"a list":        {func(handler http.Handler) { send(t, handler, "GET", "/tasks", "") }, 40},
	} {
		t.Run(name, func(t *testing.T) {
			atFew, atMany := leastAllocs(func() { row.request(few) }), leastAllocs(func() { row.request(many) })
			t.Logf("%.0f at 100 tasks, %.0f at 5,000", atFew, atMany)
			assert.LessOrEqual(t, atMany, row.most)
			assert.LessOrEqual(t, atMany, atFew+10)
		})
	}
}

func BenchmarkGetTask(b *testing.B) {
	handler := filled(b, 20000)
	for b.Loop() {
		send(b, handler, "GET", "/tasks/task-000007", "")
	}
}

func BenchmarkListTasks(b *testing.B) {
	handler := filled(b, 20000)
	for b.Loop() {
		send(b, handler, "GET", "/tasks", "")
	}
}

func BenchmarkLabelQuery(b *testing.B) {
	handler := filled(b, 20000)
	for b.Loop() {
		send(b, handler, "GET", "/tasks?labels=group=g42", "")
	}
}

func BenchmarkPostTask(b *testing.B) {
	for _, tasks := range []int{1000, 100000} {
		b.Run(fmt.Sprint(tasks), func(b *testing.B) {
			handler := filled(b, tasks)
			i := 0
			for b.Loop() {
				i++
				send(b, handler, "POST", "/tasks", fmt.Sprintf(`{"id": "new-%d", "desiredState": {"manifest": {"containers": [{"ports": [{"hostPort": 0}]}]}}}`, i))
			}
		})
	}
}
