package registry

import "kube2014/pkg/api"

// ManifestFactory turns a task into the manifest for its machine's kubelet.
type ManifestFactory interface {
	// MakeManifest returns the manifest of a task on a machine. It shares
	// nothing with the task.
	MakeManifest(machine string, task api.Task) (api.ContainerManifest, error)
}

// BasicManifestFactory copies the task's desired manifest, sets its id to the
// task's, and adds the services to the environment of each container. It is safe
// for concurrent use.
type BasicManifestFactory struct {
	serviceRegistry ServiceRegistry
}

var _ ManifestFactory = (*BasicManifestFactory)(nil)

// MakeManifest reads the services and adds them to a copy of the task's
// manifest; the task stays as it is (D24).
func (b *BasicManifestFactory) MakeManifest(machine string, task api.Task) (api.ContainerManifest, error) {
	env, err := GetServiceEnvironmentVariables(b.serviceRegistry, machine)
	if err != nil {
		return api.ContainerManifest{}, err
	}
	manifest := task.DesiredState.Manifest.DeepCopy()
	manifest.Id = task.ID
	for i := range manifest.Containers {
		container := &manifest.Containers[i]
		container.Env = append(container.Env, env...)
	}
	return manifest, nil
}
