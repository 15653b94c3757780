package kube2014

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
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
	for _, item := range tourItems(t, "## A POST") {
		told = append(told, item.functions...)
	}
	told = slices.DeleteFunc(told, func(name string) bool { return !slices.Contains(store.way, name) }) // only the trace has it
	assert.Equal(t, store.way, told)
	assert.LessOrEqual(t, len(told), 8)
}

// tourItem is an item of a list in the tour: the functions it names, and their files.
type tourItem struct {
	depth     int
	functions []string
	files     []string // of each function: the one that is linked after its name, or that of the one before
}

var (
	listItem = regexp.MustCompile(`(?m)^( *)- .*\n(?: +[^ -].*\n)*`)
	fileLink = regexp.MustCompile(`^ \(\[([\w.]+)\]\(\.\./([\w/.]+\.go)\)\)`)
	function = regexp.MustCompile("`(\\w+\\.\\w+)`")
	traced   = regexp.MustCompile(`(?m)^.{9}( *)(?:[A-Z]+ \S+ to )?(\w+\.\w+)`)
)

func tourItems(t *testing.T, heading string) (items []tourItem) {
	for _, match := range listItem.FindAllStringSubmatch(head(t, "docs/tour.md", heading), -1) {
		item, in := tourItem{depth: len(match[1]) / 2}, ""
		for _, name := range function.FindAllStringSubmatchIndex(match[0], -1) {
			item.functions = append(item.functions, match[0][name[2]:name[3]])
			if file := fileLink.FindStringSubmatch(match[0][name[1]:]); file != nil {
				assert.Equal(t, path.Base(file[2]), file[1])
				in = file[2]
			}
			item.files = append(item.files, in)
		}
		items = append(items, item)
	}
	return items
}

// The lists below the traces have the functions of the trace, in its order, as deep as they are there.
func TestTheTourNamesTheFileOfEachFunctionThatIsTraced(t *testing.T) {
	t.Parallel()
	c, listed := readCode(t), map[string]bool{}
	for _, heading := range sessions["docs/tour.md"] {
		var inTrace, inList []string
		note := func(all *[]string, depth int, name string) {
			if call := fmt.Sprint(depth, " ", name); len(*all) == 0 || (*all)[len(*all)-1] != call { // several in a row are one item
				*all = append(*all, call)
			}
		}
		for _, item := range tourItems(t, heading) {
			require.NotEmpty(t, item.functions, heading)
			note(&inList, item.depth, item.functions[0])
			for i, name := range item.functions {
				listed[name] = true
				declared := strings.Replace(name, "EtcdClient.", "Client.", 1) // the trace names the interface
				assert.Contains(t, c.declared[item.files[i]], declared, "the file of %s", name)
			}
		}
		trace := textBlock.FindStringSubmatch(head(t, "docs/tour.md", heading))
		require.NotNil(t, trace, heading)
		for _, call := range traced.FindAllStringSubmatch(trace[1], -1) {
			note(&inTrace, len(call[1])/2, call[2])
			assert.True(t, inList != nil || listed[call[2]], "no list has %s", call[2])
		}
		if inList != nil {
			assert.Equal(t, inTrace, inList, heading)
		}
	}
}
