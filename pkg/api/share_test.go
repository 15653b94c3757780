package api

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// web returns a task with new memory.
func web(change func(*Task)) *Task {
	task := &Task{Labels: map[string]string{"name": strings.Clone("web"), "tier": "front"}, ObjectMeta: ObjectMeta{
		ManagedFields: ManagedFields{{Of: &Manager{Name: "one", Fields: `{"f:spec":{}}`}, Time: 1}}}}
	task.DesiredState.Manifest = ContainerManifest{Id: "i", Volumes: []Volume{{"v"}}, Containers: []Container{{
		Name: "c", Ports: []Port{{HostPort: 80}}, Env: []EnvVar{{"A", "B"}}, VolumeMounts: []VolumeMount{{Name: "v"}}}}}
	if change != nil {
		change(task)
	}
	return task
}

func addresses(task *Task) (all [4]uintptr) {
	manifest := task.DesiredState.Manifest
	for i, value := range []any{task.Labels, task.ManagedFields[0].Of, manifest.Volumes, manifest.Containers} {
		all[i] = reflect.ValueOf(value).Pointer()
	}
	return all
}

func TestObjectsShareWhatIsEqual(t *testing.T) {
	t.Parallel()
	var s sharing
	one, other := web(nil), web(func(other *Task) { other.ManagedFields[0].Time = 2 })
	want := other.DeepCopy()
	s.share(one)
	s.share(other)
	assert.Equal(t, addresses(one), addresses(other))
	assert.Equal(t, want, *other)
}

// Their JSON tells a list without entries from none.
func TestObjectsDoNotShareWhatDiffers(t *testing.T) {
	t.Parallel()
	var s sharing
	s.share(web(nil))
	for _, change := range []func(*Container){
		func(c *Container) { c.Name = "x" }, func(c *Container) { c.Image = "x" }, func(c *Container) { c.Command = "x" }, func(c *Container) { c.WorkingDir = "x" },
		func(c *Container) { c.Memory = 1 }, func(c *Container) { c.CPU = 1 }, func(c *Container) { c.Ports[0].Protocol = "x" }, func(c *Container) { c.Env[0].Value = "x" },
		func(c *Container) { c.VolumeMounts[0].ReadOnly = true }, func(c *Container) { c.Ports = nil }, func(c *Container) { c.Ports = []Port{} }, func(c *Container) { c.Env = nil },
		func(c *Container) { c.Env = []EnvVar{} },
	} {
		task := web(func(task *Task) { change(&task.DesiredState.Manifest.Containers[0]) })
		want := task.DeepCopy()
		s.share(task)
		assert.Equal(t, want, *task)
	}
	task := web(func(task *Task) { task.DesiredState.Manifest.Containers = nil })
	s.share(task)
	assert.Nil(t, task.DesiredState.Manifest.Containers)
}

// The entries of an earlier version stay as they are: others may read them.
func TestToShareManagersWritesNothingThatAnotherVersionHas(t *testing.T) {
	t.Parallel()
	var s sharing
	s.share(web(nil))
	earlier := web(nil)
	of, later := earlier.ManagedFields[0].Of, earlier.DeepCopy()
	s.share(&later)
	assert.Same(t, of, earlier.ManagedFields[0].Of)
	assert.True(t, later.ManagedFields.Same(earlier.ManagedFields))
}

// Each of their parts counts, for the memory of the cache.
func TestLargeContainersAreNotShared(t *testing.T) {
	t.Parallel()
	var s sharing
	text := strings.Repeat("x", maxShared+1)
	for i, enlarge := range []func(*Container){
		func(c *Container) { c.Name = text }, func(c *Container) { c.Image = text }, func(c *Container) { c.Command = text }, func(c *Container) { c.WorkingDir = text },
		func(c *Container) { c.Ports[0].Name = text }, func(c *Container) { c.Ports[0].Protocol = text }, func(c *Container) { c.Env[0].Name = text },
		func(c *Container) { c.VolumeMounts[0].Name = text }, func(c *Container) { c.VolumeMounts[0].MountPath = text },
		func(c *Container) { c.Ports = make([]Port, maxShared) }, func(c *Container) { c.Env = make([]EnvVar, maxShared) },
		func(c *Container) { c.VolumeMounts = make([]VolumeMount, maxShared) },
	} {
		var tasks [2]*Task
		for j := range tasks {
			tasks[j] = web(func(task *Task) { enlarge(&task.DesiredState.Manifest.Containers[0]) })
			s.share(tasks[j])
		}
		assert.NotEqual(t, addresses(tasks[0])[3], addresses(tasks[1])[3], "%d", i)
	}
}

func TestLargeValuesAreNotShared(t *testing.T) {
	t.Parallel()
	large := func() *Task {
		return web(func(task *Task) {
			text := strings.Repeat("x", maxShared+1)
			task.Labels["large"], task.ManagedFields[0].Of.Fields, task.DesiredState.Manifest.Containers[0].Env[0].Value = text, text, text
		})
	}
	var s sharing
	one, other := large(), large()
	s.share(one)
	s.share(other)
	for i, address := range addresses(one) {
		assert.NotEqual(t, address, addresses(other)[i], "value %d", i)
	}
	assert.Equal(t, *one, *other)
}

// Keys and values that are exchanged or joined differently are other labels.
func TestLabelsThatAreNotTheSameStayApart(t *testing.T) {
	t.Parallel()
	var s sharing
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 3 * len(s.labels) {
				number := fmt.Sprint(i)
				for _, labels := range []map[string]string{
					{number: "a"}, {"a": number}, {number: "", "a": ""}, {number: "a", "a": number}, {"a": "", "": number},
				} {
					want := fmt.Sprint(labels)
					if got := fmt.Sprint(s.labelsLike(labels)); got != want {
						assert.Fail(t, "other labels", "%s instead of %s", got, want)
					}
				}
			}
		})
	}
	group.Wait()
	assert.Nil(t, s.labelsLike(nil))
	assert.NotNil(t, s.labelsLike(map[string]string{}))
}
