package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// D25: the names of the variables can be used in a shell.
func TestD25ServicesBecomeEnvironmentVariables(t *testing.T) {
	t.Parallel()
	registry := MakeMemoryRegistry()
	for id, port := range map[string]int{"web": 80, "redis-slave.v1": 6379, "Db": 5432} {
		require.NoError(t, registry.CreateService(makeService(id, port)))
	}
	env, err := GetServiceEnvironmentVariables(registry, "m1")
	require.NoError(t, err)
	assert.Equal(t, []api.EnvVar{
		{Name: "DB_SERVICE_PORT", Value: "5432"},
		{Name: "REDIS_SLAVE_V1_SERVICE_PORT", Value: "6379"},
		{Name: "WEB_SERVICE_PORT", Value: "80"},
		{Name: "SERVICE_HOST", Value: "m1"},
	}, env)
	_, err = GetServiceEnvironmentVariables(away(), "m1")
	requireKind(t, api.Unavailable, err)
}

// D24: making the manifest does not change the task.
func TestD24AManifestIsTheTasksWithTheServicesInItsEnvironment(t *testing.T) {
	t.Parallel()
	registry := MakeMemoryRegistry()
	require.NoError(t, registry.CreateService(makeService("web", 80)))
	own := api.EnvVar{Name: "MODE", Value: "master"}
	makeIt := func() api.Task {
		env := make([]api.EnvVar, 1, 8) // room that an append could write into
		env[0] = own
		return containers(makeTask("x"), api.Container{Name: "a", Env: env}, api.Container{Name: "b"})
	}
	task := makeIt()
	manifest, err := (&BasicManifestFactory{serviceRegistry: registry}).MakeManifest("m1", task)
	require.NoError(t, err)
	added := []api.EnvVar{{Name: "WEB_SERVICE_PORT", Value: "80"}, {Name: "SERVICE_HOST", Value: "m1"}}
	assert.Equal(t, api.ContainerManifest{
		Id: "x",
		Containers: []api.Container{
			{Name: "a", Env: append([]api.EnvVar{own}, added...)},
			{Name: "b", Env: added},
		},
	}, manifest)
	assert.Equal(t, makeIt(), task)
	assert.Empty(t, task.DesiredState.Manifest.Containers[0].Env[:2][1], "nor is the room behind its slices used")

	_, err = (&BasicManifestFactory{serviceRegistry: away()}).MakeManifest("m1", task)
	requireKind(t, api.Unavailable, err)
}
