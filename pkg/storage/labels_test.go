package storage

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
)

func TestObjectsWithTheSameLabelsShareThem(t *testing.T) {
	t.Parallel()
	var sets labelSets
	one := sets.share(map[string]string{"name": "web", "tier": "front"})
	other := sets.share(map[string]string{"tier": "front", "name": "web"})
	assert.Equal(t, reflect.ValueOf(one).Pointer(), reflect.ValueOf(other).Pointer())
	assert.Equal(t, map[string]string{"name": "web", "tier": "front"}, other)

	task := NewObject(&api.Task{Labels: map[string]string{"name": "web"}}, 1, 1)
	assert.Equal(t, map[string]string{"name": "web"}, task.GetLabels())
}

func TestLargeLabelsAreNotShared(t *testing.T) {
	t.Parallel()
	var sets labelSets
	labels := func() map[string]string { return map[string]string{"large": strings.Repeat("x", maxShared)} }
	one, other := sets.share(labels()), sets.share(labels())
	assert.NotEqual(t, reflect.ValueOf(one).Pointer(), reflect.ValueOf(other).Pointer())
	assert.Equal(t, labels(), other)
}

// Keys and values that are exchanged or joined differently are other labels.
func TestLabelsThatAreNotTheSameStayApart(t *testing.T) {
	t.Parallel()
	var sets labelSets
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 3 * len(sets) {
				number := fmt.Sprint(i)
				for _, labels := range []map[string]string{
					{number: "a"}, {"a": number}, {number: "", "a": ""}, {number: "a", "a": number}, {"a": "", "": number},
				} {
					want := fmt.Sprint(labels)
					if got := fmt.Sprint(sets.share(labels)); got != want {
						assert.Fail(t, "other labels", "%s instead of %s", got, want)
					}
				}
			}
		})
	}
	group.Wait()
	assert.Nil(t, sets.share(nil))
	assert.NotNil(t, sets.share(map[string]string{}))
}
