package kube2014

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/registry"
)

// exampleInto reads an example strictly: a misspelt field is an error here.
func exampleInto(t *testing.T, file string, into interface{}) string {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into), file)
	return string(data)
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

	var running []map[string]string // the labels of the tasks that there would be
	var selectors []map[string]string
	for _, file := range files {
		storage, body := tasks, ""
		switch {
		case strings.HasSuffix(file, "task.json"):
			var task v1beta1.Task
			body = exampleInto(t, file, &task)
			running = append(running, task.Labels)
		case strings.HasSuffix(file, "controller.json"):
			var controller v1beta1.ReplicationController
			storage, body = controllers, exampleInto(t, file, &controller)
			running = append(running, controller.DesiredState.TaskTemplate.Labels)
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
		matches := 0
		for _, labels := range running {
			both := maps.Clone(labels)
			maps.Copy(both, selector)
			if maps.Equal(both, labels) {
				matches++
			}
		}
		assert.NotZero(t, matches, "%v selects no task", selector)
	}
}
