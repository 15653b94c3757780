package registry

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

func kubernetes(remainder string) *api.Service {
	return &api.Service{JSONBase: api.JSONBase{ID: "kubernetes"}, ObjectMeta: api.ObjectMeta{Remainder: api.Remainder(remainder)}, Port: 443}
}

// D49.
func TestTheServiceOfTheServerIsNoneOfJune2014s(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	_, err := store.Commit(storage.Create(kubernetes("{}")), storage.Create(&api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 80}))
	require.NoError(t, err)
	registry := MakeRegistry(store)
	services, err := registry.ListServices()
	require.NoError(t, err)
	require.Len(t, services.Items, 1)
	assert.Equal(t, "web", services.Items[0].ID)
	_, err = registry.GetService("kubernetes")
	assert.Equal(t, api.NotFound, api.KindOf(err))
	assert.Equal(t, api.NotFound, api.KindOf(registry.DeleteService("kubernetes")))
	assert.Equal(t, api.AlreadyExists, api.KindOf(registry.CreateService(*kubernetes(""))))
	assert.EqualError(t, registry.UpdateService(*kubernetes("")), `service "kubernetes" is that of the server itself`)
	env, err := GetServiceEnvironmentVariables(registry, "m1")
	require.NoError(t, err)
	assert.Equal(t, []api.EnvVar{{Name: "WEB_SERVICE_PORT", Value: "80"}, {Name: "SERVICE_HOST", Value: "m1"}}, env)
	stored, err := store.Get(api.DefaultKey(api.ServiceKind, "kubernetes"))
	require.NoError(t, err)
	assert.Equal(t, 443, stored.Object.(*api.Service).Port)
}

func TestJune2014sOwnServiceKubernetesIsLikeAnyOther(t *testing.T) {
	t.Parallel()
	registry := MakeRegistry(memory.New(1))
	require.NoError(t, registry.CreateService(*kubernetes("")))
	service, err := registry.GetService("kubernetes")
	require.NoError(t, err)
	assert.Equal(t, 443, service.Port)
	require.NoError(t, registry.UpdateService(*kubernetes("")))
	services, err := registry.ListServices()
	require.NoError(t, err)
	assert.Len(t, services.Items, 1)
	require.NoError(t, registry.DeleteService("kubernetes"))
}
