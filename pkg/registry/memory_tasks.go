package registry

import (
	"kube2014/pkg/api"
	"kube2014/pkg/conversion"
)

// carrying returns the tasks that carry all labels of the query, as they are now.
func (registry *MemoryRegistry) carrying(query map[string]string) taskRuns {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return registry.tasks.carrying(query)
}

// entry returns a task as it is now.
func (registry *MemoryRegistry) entry(taskID string) (*taskEntry, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	entry := registry.tasks.byID.get(taskID)
	if entry == nil {
		return nil, api.NewNotFound("task", taskID)
	}
	return entry, nil
}

// ListTasks implements TaskRegistry.
func (registry *MemoryRegistry) ListTasks(query *map[string]string) ([]api.Task, error) {
	return registry.carrying(labelsOf(query)).tasks()
}

// EncodedTasks implements TaskEncoder.
func (registry *MemoryRegistry) EncodedTasks(query map[string]string) (conversion.Encoded, error) {
	return registry.texts.encode(registry.carrying(query), query), nil
}

// SelectEndpoints implements EndpointSelector.
func (registry *MemoryRegistry) SelectEndpoints() (func(map[string]string) []string, error) {
	return func(query map[string]string) []string { return registry.carrying(query).addresses() }, nil
}

// GetTask implements TaskRegistry.
func (registry *MemoryRegistry) GetTask(taskID string) (*api.Task, error) {
	entry, err := registry.entry(taskID)
	if err != nil {
		return nil, err
	}
	task, err := entry.task()
	if err != nil {
		return nil, err
	}
	return &task, nil
}

// EncodedTask implements TaskEncoder.
func (registry *MemoryRegistry) EncodedTask(taskID string) (conversion.Encoded, string, error) {
	entry, err := registry.entry(taskID)
	if err != nil {
		return conversion.Encoded{}, "", err
	}
	return entry.encoded(), entry.machine(), nil
}

// encode makes the entry of a task.
func (registry *MemoryRegistry) encode(task api.Task) (*taskEntry, error) {
	place, err := registry.places.of(task.CurrentState.Host)
	if err != nil {
		return nil, err
	}
	return makeTaskEntry(task, place)
}

// CreateTask implements TaskRegistry. It remembers the machine (D18).
func (registry *MemoryRegistry) CreateTask(machine string, task api.Task) error {
	task.CurrentState.Host = machine
	entry, err := registry.encode(task)
	if err != nil {
		return err
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.tasks.byID.get(task.ID) != nil {
		return api.NewAlreadyExists("task", task.ID)
	}
	return registry.tasks.add(task, entry)
}

// UpdateTask implements TaskRegistry.
func (registry *MemoryRegistry) UpdateTask(task api.Task) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	stored, old, err := registry.tasks.get(task.ID)
	if err != nil {
		return err
	}
	task.CurrentState = stored.CurrentState
	entry, err := registry.encode(task)
	if err != nil {
		return err
	}
	return registry.tasks.replace(task, entry, stored, old)
}

// DeleteTask implements TaskRegistry.
func (registry *MemoryRegistry) DeleteTask(taskID string) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	task, entry, err := registry.tasks.get(taskID)
	if err != nil {
		return err
	}
	registry.tasks.drop(task, entry)
	return nil
}

// FirstFree implements HostPortIndex.
func (registry *MemoryRegistry) FirstFree(machines []string, task api.Task, refused map[string]bool) (string, error) {
	registry.mu.RLock()
	defer registry.mu.RUnlock()
	return registry.tasks.hostPorts.FirstFree(machines, task, refused)
}
