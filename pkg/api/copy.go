package api

import (
	"maps"
	"slices"
)

// DeepCopy returns a task that shares nothing with this one.
func (t Task) DeepCopy() Task {
	t.ObjectMeta = t.ObjectMeta.deepCopy()
	t.Labels = maps.Clone(t.Labels)
	t.DesiredState = t.DesiredState.deepCopy()
	t.CurrentState = t.CurrentState.deepCopy()
	return t
}

// DeepCopy returns a controller that shares nothing with this one.
func (c ReplicationController) DeepCopy() ReplicationController {
	c.ObjectMeta = c.ObjectMeta.deepCopy()
	c.Labels = maps.Clone(c.Labels)
	c.DesiredState.ReplicasInSet = maps.Clone(c.DesiredState.ReplicasInSet)
	template := &c.DesiredState.TaskTemplate
	template.Labels = maps.Clone(template.Labels)
	template.DesiredState = template.DesiredState.deepCopy()
	return c
}

// DeepCopy returns a service that shares nothing with this one.
func (s Service) DeepCopy() Service {
	s.ObjectMeta = s.ObjectMeta.deepCopy()
	s.Labels = maps.Clone(s.Labels)
	return s
}

// DeepCopy returns endpoints that share nothing with these.
func (e Endpoints) DeepCopy() Endpoints {
	e.ObjectMeta = e.ObjectMeta.deepCopy()
	e.Endpoints = slices.Clone(e.Endpoints)
	e.Targets = slices.Clone(e.Targets)
	return e
}

// DeepCopy returns a manifest that shares nothing with this one.
func (m ContainerManifest) DeepCopy() ContainerManifest {
	m.Volumes = slices.Clone(m.Volumes)
	m.Containers = slices.Clone(m.Containers)
	for i := range m.Containers {
		container := &m.Containers[i]
		container.Ports = slices.Clone(container.Ports)
		container.Env = slices.Clone(container.Env)
		container.VolumeMounts = slices.Clone(container.VolumeMounts)
	}
	return m
}

func (s TaskState) deepCopy() TaskState {
	s.Manifest = s.Manifest.DeepCopy()
	s.Info = copyJSON(s.Info)
	return s
}

// copyJSON copies a value that was decoded from JSON.
func copyJSON(value interface{}) interface{} {
	switch value := value.(type) {
	case map[string]interface{}:
		copied := make(map[string]interface{}, len(value))
		for key, item := range value {
			copied[key] = copyJSON(item)
		}
		return copied
	case []interface{}:
		copied := make([]interface{}, len(value))
		for i, item := range value {
			copied[i] = copyJSON(item)
		}
		return copied
	}
	return value
}
