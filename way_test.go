package kube2014

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/apiserver"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// stacked is a store that notes the functions through which a change comes to it.
type stacked struct {
	*memory.Store
	way []string // the outermost first
}

var ours = regexp.MustCompile(`^kube2014/pkg/[\w/]+\.(.*)$`)

func (s *stacked) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	calls := make([]uintptr, 100)
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls)])
	for frame, more := frames.Next(); more; frame, more = frames.Next() {
		if match := ours.FindStringSubmatch(frame.Function); match != nil {
			s.way = append(s.way, strings.NewReplacer("(*", "", ")", "").Replace(match[1]))
		}
	}
	slices.Reverse(s.way)
	s.way = append(s.way, "Store.Commit")
	return s.Store.Commit(changes...)
}

func TestAPOSTTakesTheWayInTheTour(t *testing.T) {
	t.Parallel()
	store := &stacked{Store: memory.New(0)}
	tasks := registry.MakeRegistry(store)
	scheduler := registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, tasks)
	server := apiserver.New(map[string]apiserver.RESTStorage{
		"tasks": registry.MakeTaskRegistryStorage(tasks, clienttest.FakeContainerInfo{}, scheduler),
	}, "/api/v1beta1")
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/api/v1beta1/tasks", strings.NewReader(read(t, "api/examples/task.json"))))
	require.Equal(t, http.StatusOK, answer.Code, answer.Body)

	var told []string
	for _, match := range regexp.MustCompile("(?m)^\\d+\\. `(\\w+\\.\\w+)`").FindAllStringSubmatch(read(t, "docs/tour.md"), -1) {
		told = append(told, match[1])
	}
	assert.Equal(t, store.way, told)
	assert.LessOrEqual(t, len(told), 8)
}
