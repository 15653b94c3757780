package conversion_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api/conversion"
)

func newTask() Task {
	return Task{ID: "web-1", Host: "machine-7", Labels: map[string]string{"name": "web"}, Info: []interface{}{1.5, nil}}
}

func newPod() PodV2 {
	pod, _ := outPod(newTask())
	pod.Spec.Priority = 9
	return pod
}

// through converts an object to one version after the other and returns the last.
func through(t *testing.T, scheme *conversion.Scheme, object interface{}, versions ...string) interface{} {
	for _, version := range versions {
		var err error
		object, err = scheme.ConvertToVersion(object, version)
		require.NoError(t, err)
	}
	return object
}

func TestObjectsComeThroughOtherVersionsWhole(t *testing.T) {
	t.Parallel()
	task, pod := newTask(), newPod()
	old, err := outTask(task)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		object interface{}
		way    []string
		want   interface{}
	}{
		"a task of v1 through v2":                {old, []string{"", "v2", "", "v1"}, &old},
		"a pointer to a task of v1":              {&old, []string{"", "v1"}, &old},
		"a pod, with what only v2 can say":       {pod, []string{"", "v2"}, &pod},
		"an internal task through both versions": {task, []string{"v1", "", "v2", ""}, &task},
		"to the version that it has":             {old, []string{"v1"}, &old},
		"the internal one to the internal one":   {task, []string{""}, &task},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, through(t, newScheme(), row.object, row.way...))
		})
	}
	t.Run("an object of the version is not copied", func(t *testing.T) {
		t.Parallel()
		assert.Same(t, &old, through(t, newScheme(), &old, "v1"))
	})
	t.Run("conversion leaves the object as it was", func(t *testing.T) {
		t.Parallel()
		object, same := newPod(), newPod()
		through(t, newScheme(), &object, "", "v1", "", "v2")
		assert.Equal(t, same, object)
	})
}

func TestConvertOverwritesItsTarget(t *testing.T) {
	t.Parallel()
	scheme, task := newScheme(), newTask()
	old := TaskV1{ID: "left over", Info: "left over"}
	require.NoError(t, scheme.Convert(Task{Host: "machine-8"}, &old))
	assert.Equal(t, TaskV1{Host: "machine-8"}, old)

	require.NoError(t, scheme.Convert(&old, &task))
	assert.Equal(t, Task{Host: "machine-8"}, task)

	copied := newTask()
	require.NoError(t, scheme.Convert(task, &copied), "an object of the same type is copied")
	assert.Equal(t, task, copied)
}

func TestAConversionThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	scheme, pod := newScheme(), newPod()
	odd := Task{Annotations: map[string]string{priorityAnnotation: "high"}}
	require.ErrorIs(t, scheme.Convert(odd, &pod), strconv.ErrSyntax)
	assert.Equal(t, newPod(), pod)
	converted, err := scheme.ConvertToVersion(odd, "v2")
	require.ErrorIs(t, err, strconv.ErrSyntax)
	assert.Nil(t, converted)
}

func TestWhatTheSchemeDoesNotConvertIsRefused(t *testing.T) {
	t.Parallel()
	scheme := newScheme()
	scheme.AddKnownTypes(conversion.Internal, secret{})
	to := func(version string) func(interface{}) error {
		return func(object interface{}) error { _, err := scheme.ConvertToVersion(object, version); return err }
	}
	into := func(out interface{}) func(interface{}) error {
		return func(object interface{}) error { return scheme.Convert(object, out) }
	}
	const refused, badTarget = "converting (conversion_test.", "the target must be a pointer that is not nil"
	for name, row := range map[string]struct {
		object interface{}
		do     func(interface{}) error
		text   string
	}{
		"a type that is not registered":     {7, to("v1"), `no kind is registered for the type int`},
		"its pointer":                       {new(int), to("v1"), `no kind is registered for the type int`},
		"a pointer to a pointer":            {new(*Task), to("v1"), `no kind is registered for the type *conversion_test.Task`},
		"no object, to a version":           {nil, to("v1"), `no kind is registered for the type <nil>`},
		"a version that is not registered":  {Task{}, to("v7"), `no kind "Task" is registered for version "v7"`},
		"an object that the version lacks":  {secret{}, to("v1"), `no kind "secret" is registered for version "v1"`},
		"a version to another":              {TaskV1{}, to("v2"), refused + `TaskV1) to (version v2): versions convert only to and from the internal one`},
		"a version into another":            {TaskV1{}, into(&PodV2{}), refused + `TaskV1) to (conversion_test.PodV2): unknown conversion`},
		"a nil pointer":                     {(*Task)(nil), to("v1"), refused + `Task) to (conversion_test.TaskV1): the object is nil`},
		"a nil pointer, to its version":     {(*Task)(nil), to(""), refused + `Task) to (conversion_test.Task): the object is nil`},
		"no object, into another":           {nil, into(&Task{}), `converting (<nil>) to (conversion_test.Task): unknown conversion`},
		"a target that is not a pointer":    {Task{}, into(TaskV1{}), refused + `Task) to (conversion_test.TaskV1): ` + badTarget},
		"a target that is a nil pointer":    {Task{}, into((*TaskV1)(nil)), refused + `Task) to (conversion_test.TaskV1): ` + badTarget},
		"no target":                         {Task{}, into(nil), refused + `Task) to (<nil>): ` + badTarget},
		"a target that has no such form":    {Task{}, into(new(string)), refused + `Task) to (string): unknown conversion`},
		"a target that points to a pointer": {Task{}, into(new(*TaskV1)), refused + `Task) to (*conversion_test.TaskV1): unknown conversion`},
		"a channel":                         {make(chan int), to("v1"), `no kind is registered for the type chan int`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.EqualError(t, row.do(row.object), row.text)
		})
	}
}

func TestATypeMayBeRegisteredTwice(t *testing.T) {
	t.Parallel()
	scheme := newScheme()
	scheme.AddKnownTypes("v1", TaskV1{}, &TaskV1{})
	assert.IsType(t, &TaskV1{}, through(t, scheme, newTask(), "v1"))
}

// Of two forms that an object could take in a version, it always takes the same.
func TestTheConversionThatWasAddedFirstWins(t *testing.T) {
	t.Parallel()
	scheme := newScheme()
	type Sketch struct{ ID string }
	scheme.AddKnownTypes("v1", Sketch{})
	conversion.AddFuncs(scheme,
		func(in Sketch) (Task, error) { return Task{ID: in.ID}, nil },
		func(in Task) (Sketch, error) { return Sketch{in.ID}, nil })
	for range 20 {
		assert.IsType(t, &TaskV1{}, through(t, scheme, Task{}, "v1"))
	}
}

// The race detector watches.
func TestASchemeIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	scheme, task := newScheme(), newTask()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				pod, err := scheme.ConvertToVersion(&task, "v2")
				assert.NoError(t, err)
				var back Task
				assert.NoError(t, scheme.Convert(pod, &back))
				assert.Equal(t, task, back)
			}
		})
	}
	all.Wait()
}
