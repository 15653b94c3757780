package etcd2

import (
	"maps"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
)

// compare returns all inconsistencies between the cache and the index keys, which
// were read before it: first of the lists, then of the index keys, then of the
// endpoints.
func (s *Store) compare(index *etcd.Node) []inconsistency {
	s.mu.Lock()
	machines, broken := maps.Clone(s.machines), maps.Clone(s.broken)
	s.mu.Unlock()
	var inLists, inIndex []inconsistency
	machineOf := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		inLists = append(inLists, compareList(machines, index, m)...)
		for _, task := range m.tasks {
			if task.dir || !isNameOfTask(task.id) {
				s.warnings.warn(task.key, task.version, "no request can reach a task at this key; delete it")
				continue
			}
			if child(index, task.id) == nil {
				inIndex = append(inIndex, missingIndexKey(task))
			}
			if other, twice := machineOf[task.id]; twice {
				s.warnings.warn(task.key, task.version, "the same task is also on machine "+other+"; delete one of the two keys")
			}
			machineOf[task.id] = name
		}
	}
	for _, entry := range nodesOf(index) {
		if entry.Dir {
			s.warnings.warn(entry.Key, entry.ModifiedIndex, "this should be an index key but is a directory; delete it")
		} else if machines[entry.Value].task(baseName(entry.Key)) == nil {
			inIndex = append(inIndex, orphanedIndexKey(entry.Value, baseName(entry.Key), entry.ModifiedIndex))
		}
	}
	return slices.Concat(inLists, inIndex, s.compareEndpoints(broken))
}

func compareList(machines map[string]*machine, index *etcd.Node, m *machine) (found []inconsistency) {
	if m.broken != nil {
		return nil // the log and /healthz name it
	}
	ids := map[string]int{}
	for _, manifest := range m.manifests {
		ids[manifest.id]++
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if m.task(id) == nil {
			found = append(found, orphanedManifest(m.name, id, versionOf(child(index, id))))
		}
	}
	for _, task := range m.tasks {
		if task.err != nil || !isNameOfTask(task.id) {
			continue // it is logged by those who list tasks, or with the index
		}
		if !m.consistent(task) && !isStrayCopy(machines, index, task) {
			found = append(found, missingManifest(task))
		}
	}
	return found
}

// isStrayCopy reports whether the index names another machine for a task, which
// has the task too. Then this copy was written by another program, or by a
// create that was delayed until its claim had been repaired. It gets no
// manifest.
func isStrayCopy(machines map[string]*machine, index *etcd.Node, task *stored) bool {
	entry := child(index, task.id)
	return entry != nil && entry.Value != task.machine && machines[entry.Value].task(task.id) != nil
}

// versionOf returns the version of a key, 0 if it is not there.
func versionOf(node *etcd.Node) uint64 {
	if node == nil {
		return 0
	}
	return node.ModifiedIndex
}

// compareEndpoints finds endpoints without a service. What cannot be decoded counts
// too.
func (s *Store) compareEndpoints(broken map[string]*stored) (found []inconsistency) {
	var endpoints []*stored
	services := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(broken)) {
		switch s := broken[key]; s.kind {
		case api.ServiceKind:
			services[s.id] = true
		case api.EndpointsKind:
			endpoints = append(endpoints, s)
		}
	}
	all, _ := s.objects.List(api.EndpointsKind, nil) // a cache answers always
	for _, object := range all.Items {
		endpoints = append(endpoints, makeStored(place{kind: api.EndpointsKind, id: object.GetID()}, object))
	}
	all, _ = s.objects.List(api.ServiceKind, nil) // as above; a new service has newer endpoints
	for _, service := range all.Items {
		services[service.GetID()] = true
	}
	for _, one := range endpoints {
		if !services[one.id] && !one.dir {
			found = append(found, orphanedEndpoints(one))
		}
	}
	return found
}
