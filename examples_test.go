package kube2014

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
)

// exampleInto reads an example strictly: a misspelt field is an error here.
func exampleInto(t *testing.T, file string, into interface{}) string {
	data := read(t, file)
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into), file)
	return data
}

func TestTheExamplesAreAcceptedAndFitTogether(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("api/examples/*.json")
	require.NoError(t, err)
	require.Len(t, files, 9)

	memory := registry.MakeMemoryRegistry()
	scheduler := registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, memory)
	tasks := registry.MakeTaskRegistryStorage(memory, clienttest.FakeContainerInfo{}, scheduler)
	controllers := registry.MakeControllerRegistryStorage(memory)
	services := registry.MakeServiceRegistryStorage(memory)

	var running []api.Task // that there would be
	var selectors []map[string]string
	for _, file := range files {
		storage, body := tasks, ""
		switch {
		case strings.HasSuffix(file, "task.json"):
			var task v1beta1.Task
			body = exampleInto(t, file, &task)
			running = append(running, api.Task{Labels: task.Labels})
		case strings.HasSuffix(file, "controller.json"):
			var controller v1beta1.ReplicationController
			storage, body = controllers, exampleInto(t, file, &controller)
			running = append(running, api.Task{Labels: controller.DesiredState.TaskTemplate.Labels})
			selectors = append(selectors, controller.DesiredState.ReplicasInSet)
		case strings.HasSuffix(file, "service.json"):
			var service v1beta1.Service
			storage, body = services, exampleInto(t, file, &service)
			selectors = append(selectors, service.Labels)
		default:
			require.Fail(t, "what is in "+file+"?")
		}
		object, err := storage.Extract(body)
		require.NoError(t, err, file)
		require.NoError(t, storage.Create(object), file)
	}
	for _, selector := range selectors {
		assert.True(t, slices.ContainsFunc(running, func(task api.Task) bool {
			return registry.LabelsMatch(task, &selector)
		}), "%v selects no task", selector)
	}
}
