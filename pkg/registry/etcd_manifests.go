package registry

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// manifestEntry is one manifest in a list. Its bytes are kept, so what another
// program wrote stays as it is. Only its id and its host ports are decoded.
type manifestEntry struct {
	raw   json.RawMessage
	id    string
	ports []int
}

// manifestKeys is the part of a manifest that is decoded.
type manifestKeys struct {
	ID         string `json:"id"`
	Containers []struct {
		Ports []struct {
			HostPort int `json:"hostPort"`
		} `json:"ports"`
	} `json:"containers"`
}

// manifestFor makes the entry of a task in its machine's list, with the services
// that there are.
func (registry *EtcdRegistry) manifestFor(machine string, task api.Task) (manifestEntry, error) {
	return manifestWith(registry, machine, task)
}

// manifestAt is like manifestFor, but takes the services from the cache if that
// reaches the index, which etcd has just answered.
func (registry *EtcdRegistry) manifestAt(index uint64, machine string, task api.Task) (manifestEntry, error) {
	services, known := registry.mirror.servicesAt(index)
	if !known {
		return registry.manifestFor(machine, task)
	}
	return manifestWith(knownServices{services: services}, machine, task)
}

// knownServices is a ServiceRegistry that has been read.
type knownServices struct {
	ServiceRegistry
	services []api.Service
}

func (known knownServices) ListServices() (api.ServiceList, error) {
	return api.ServiceList{Items: known.services}, nil
}

func manifestWith(services ServiceRegistry, machine string, task api.Task) (manifestEntry, error) {
	factory := BasicManifestFactory{serviceRegistry: services}
	manifest, err := factory.MakeManifest(machine, task)
	if err != nil {
		return manifestEntry{}, err
	}
	value, err := encode(manifest)
	if err != nil {
		return manifestEntry{}, err
	}
	return makeManifestEntry(json.RawMessage(value))
}

func makeManifestEntry(raw json.RawMessage) (manifestEntry, error) {
	var keys manifestKeys
	if err := json.Unmarshal(raw, &keys); err != nil {
		return manifestEntry{}, err
	}
	entry := manifestEntry{raw: raw, id: keys.ID}
	for _, container := range keys.Containers {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				entry.ports = append(entry.ports, port.HostPort)
			}
		}
	}
	return entry, nil
}

// inLine reports whether the list has one manifest of the task, that of its
// stored version.
func (state *machineState) inLine(node *etcd.Node, task *api.Task) bool {
	times := 0
	for _, entry := range state.entries {
		if entry.id == baseName(node.Key) {
			times++
		}
	}
	return times == 1 && madeFrom(state.entry(task.ID), *task)
}

// afterDeletion returns the state without a task that has been deleted since.
func (state *machineState) afterDeletion(taskID string) *machineState {
	after := *state
	after.tasks = slices.DeleteFunc(slices.Clone(state.tasks), func(task *storedTask) bool { return task.id() == taskID })
	return &after
}

// with returns the list with a manifest in the place of its task's, or at the
// end if the task has none; nil if the list has it already.
func (state *machineState) with(manifest manifestEntry) []manifestEntry {
	if entry := state.entry(manifest.id); entry != nil && bytes.Equal(entry.raw, manifest.raw) {
		return nil
	}
	return state.replacing(manifest)
}

// replacing is like with, but never nil: writing the list, even unchanged, makes
// the swaps of all who have read it before fail.
func (state *machineState) replacing(manifest manifestEntry) []manifestEntry {
	var entries []manifestEntry
	placed := false
	for _, entry := range state.entries {
		switch {
		case entry.id != manifest.id:
			entries = append(entries, entry)
		case !placed:
			entries = append(entries, manifest)
			placed = true
		}
	}
	if !placed {
		entries = append(entries, manifest)
	}
	return entries
}

// without returns the list's entries but those of a task.
func (state *machineState) without(taskID string) []manifestEntry {
	entries := []manifestEntry{}
	for _, entry := range state.entries {
		if entry.id != taskID {
			entries = append(entries, entry)
		}
	}
	return entries
}
