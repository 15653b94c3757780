package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func withPorts(id string, ports ...Port) Task {
	task := Task{JSONBase: JSONBase{ID: id}}
	for _, port := range ports {
		task.DesiredState.Manifest.Containers = append(task.DesiredState.Manifest.Containers, Container{Ports: []Port{port}})
	}
	return task
}

// D8: an object has an id. D10: the id stays inside its key.
func TestD8D10Ids(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "7", "web-1", "a.b_c-D", strings.Repeat("x", 253)} {
		assert.NoError(t, ValidateID(id))
	}
	for id, text := range map[string]string{
		"":                       "id: must not be empty",
		"../../controllers/evil": `id: "../../controllers/evil" must begin with a letter or a digit`,
		".":                      `id: "." must begin with a letter or a digit`,
		"-a":                     `id: "-a" must begin with a letter or a digit`,
		"a/b":                    `id: "a/b" may contain only letters, digits, '.', '_' and '-'`,
		"a b":                    `id: "a b" may contain only letters, digits, '.', '_' and '-'`,
		"a\n":                    `id: "a\n" may contain only letters, digits, '.', '_' and '-'`,
		"é":                      `id: "\u00e9" must begin with a letter or a digit`,
		"a\x00":                  `id: "a\x00" may contain only letters, digits, '.', '_' and '-'`,
		strings.Repeat("x", 254): `id: "` + strings.Repeat("x", 64) + `"... has 254 characters; at most 253 are allowed`,
	} {
		assert.EqualError(t, ValidateID(id), text)
	}
}

// D10: ports and counts are in range.
func TestD10ValuesOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	service := func(port int) error {
		return ValidateService(Service{JSONBase: JSONBase{ID: "s"}, Port: port})
	}
	controller := func(replicas int, task Task) error {
		return ValidateReplicationController(ReplicationController{
			JSONBase: JSONBase{ID: "c"},
			DesiredState: ReplicationControllerState{
				Replicas:     replicas,
				TaskTemplate: TaskTemplate{DesiredState: task.DesiredState},
			},
		})
	}
	for name, row := range map[string]struct {
		err  error
		text string
	}{
		"a service port above the range": {service(65536), "port: 65536 is not between 0 and 65535"},
		"a service port below the range": {service(-1), "port: -1 is not between 0 and 65535"},
		"a service without id":           {ValidateService(Service{}), "id: must not be empty"},
		"a host port above the range": {
			ValidateTask(withPorts("t", Port{HostPort: 70000})),
			"desiredState.manifest.containers[0].ports[0].hostPort: 70000 is not between 0 and 65535",
		},
		"a container port below the range": {
			ValidateTask(withPorts("t", Port{}, Port{ContainerPort: -5})),
			"desiredState.manifest.containers[1].ports[0].containerPort: -5 is not between 0 and 65535",
		},
		"a host port named twice": {
			ValidateTask(withPorts("t", Port{HostPort: 80}, Port{HostPort: 80})),
			"desiredState.manifest.containers[1].ports[0].hostPort: 80 is used twice in one task",
		},
		"a task without id": {ValidateTask(Task{}), "id: must not be empty"},
		"negative replicas": {controller(-1, Task{}), "desiredState.replicas: -1 is negative"},
		"a template's port": {
			controller(1, withPorts("", Port{HostPort: 65536})),
			"desiredState.taskTemplate.desiredState.manifest.containers[0].ports[0].hostPort: 65536 is not between 0 and 65535",
		},
		"a controller without id": {ValidateReplicationController(ReplicationController{}), "id: must not be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, row.err, row.text)
			assert.Equal(t, Invalid, KindOf(row.err))
		})
	}
	for name, err := range map[string]error{
		"the largest service port":    service(65535),
		"no service port":             service(0),
		"host port 0 twice":           ValidateTask(withPorts("t", Port{}, Port{})),
		"the largest ports of a task": ValidateTask(withPorts("t", Port{HostPort: 65535, ContainerPort: 65535})),
		"no replicas":                 controller(0, Task{}),
	} {
		assert.NoError(t, err, name)
	}
}
