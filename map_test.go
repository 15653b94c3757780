package kube2014

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// namesOfTheOriginal lists the names in each file of the original.
var namesOfTheOriginal = map[string]string{
	"cmd/apiserver/apiserver.go":          "main",
	"pkg/apiserver/api_server.go":         "RESTStorage Status ApiServer New ServeHTTP handleIndex handleREST notFound error write readBody",
	"pkg/registry/interfaces.go":          "TaskRegistry ControllerRegistry",
	"pkg/registry/service_registry.go":    "ServiceRegistry ServiceRegistryStorage MakeServiceRegistryStorage GetServiceEnvironmentVariables",
	"pkg/registry/task_registry.go":       "TaskRegistryStorage MakeTaskRegistryStorage LabelMatch LabelsMatch",
	"pkg/registry/controller_registry.go": "ControllerRegistryStorage MakeControllerRegistryStorage",
	"pkg/registry/memory_registry.go":     "MemoryRegistry MakeMemoryRegistry",
	"pkg/registry/etcd_registry.go":       "EtcdClient EtcdRegistry MakeEtcdRegistry",
	"pkg/registry/scheduler.go": "Scheduler RandomScheduler RoundRobinScheduler FirstFitScheduler " +
		"MakeRandomScheduler MakeRoundRobinScheduler MakeFirstFitScheduler",
	"pkg/registry/endpoints.go":        "EndpointController MakeEndpointController SyncServiceEndpoints",
	"pkg/registry/manifest_factory.go": "ManifestFactory BasicManifestFactory MakeManifest",
	"pkg/client/container_info.go":     "ContainerInfo HTTPContainerInfo FakeContainerInfo GetContainerInfo",
	"pkg/client/client.go":             "EncodeLabelQuery DecodeLabelQuery Client ClientInterface",
	"pkg/util/util.go":                 "Forever HandleCrash MakeJSONString",
	"pkg/util/stringlist.go":           "StringList",
	"pkg/api/types.go": "ContainerManifest Volume Port VolumeMount EnvVar Container Event JSONBase TaskState Task TaskList TaskTemplate " +
		"ReplicationControllerState ReplicationController ReplicationControllerList Service ServiceList Endpoints",
}

// mapRow is a row of a table of docs/original.md: a name of the original, and
// the file that has it here.
var mapRow = regexp.MustCompile("(?m)^\\| `([A-Za-z]+)`[^|]*\\| (?:\\[)?`([^`]+)`")

// Each file of the original has a section in the map, with a row for each of its
// names that says where it is here.
func TestTheMapHasEveryNameOfTheOriginalAndTheFileThatDeclaresItHere(t *testing.T) {
	t.Parallel()
	c := readCode(t)
	for file, names := range namesOfTheOriginal {
		rows := map[string]string{}
		for _, row := range mapRow.FindAllStringSubmatch(section(t, "docs/original.md", "### `"+file+"`"), -1) {
			rows[row[1]] = row[2]
		}
		for name := range strings.FieldsSeq(names) {
			here, ok := rows[name]
			assert.True(t, ok, "%s: the map has no row for %s", file, name)
			assert.True(t, c.declared[here][name], "%s: %s is not declared in %q", file, name, here)
			delete(rows, name)
		}
		assert.Empty(t, rows, "%s: the original has no such names", file)
	}
}

// Each Go file of ours, tests aside, is in the map: beside one of the original,
// or among those that have no counterpart.
func TestTheMapHasEveryFileOfOurs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("docs/original.md")
	require.NoError(t, err)
	spans := spansOf(string(data))
	for file := range readCode(t).declared {
		listed := slices.ContainsFunc(spans, func(pattern string) bool {
			matches, err := path.Match(pattern, file)
			return err == nil && matches
		})
		assert.True(t, listed || isTest(file), "the map does not have %s", file)
	}
}

var deviation = regexp.MustCompile(`\bD\d+\b`)

// Every deviation in a document is in the table, and every one in the table is
// on the map.
func TestEveryDeviationHasAPlaceOnTheMap(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("docs/deviations.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, row := range deviationRow.FindAllStringSubmatch(string(table), -1) {
		known[row[1]] = false
	}
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, number := range deviation.FindAllString(string(data), -1) {
			assert.Contains(t, known, number, document)
			if document == "docs/original.md" {
				known[number] = true
			}
		}
	}
	for number, placed := range known {
		assert.True(t, placed, "the map does not have %s", number)
	}
}
