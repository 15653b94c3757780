package etcd2

import (
	"maps"
	"slices"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage/etcd2/cache"
)

// compare returns all inconsistencies between the cache and the index keys, which
// were read before it: first of the lists, then of the index keys, then of the
// endpoints.
func (s *Store) compare(index *etcd.Node) []inconsistency {
	machines := s.cache.Machines()
	var inLists, inIndex []inconsistency
	machineOf := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(machines)) {
		m := machines[name]
		inLists = append(inLists, compareList(machines, index, m)...)
		for _, task := range m.Tasks {
			if task.Dir || !isNameOfTask(task.ID) {
				s.warnings.warn(task.Key, task.Version, "no request can reach a task at this key; delete it")
				continue
			}
			if cache.Child(index, task.ID) == nil {
				inIndex = append(inIndex, missingIndexKey(task))
			}
			if other, twice := machineOf[task.ID]; twice {
				s.warnings.warn(task.Key, task.Version, "the same task is also on machine "+other+"; delete one of the two keys")
			}
			machineOf[task.ID] = name
		}
	}
	for _, entry := range cache.NodesOf(index) {
		if entry.Dir {
			s.warnings.warn(entry.Key, entry.ModifiedIndex, "this should be an index key but is a directory; delete it")
		} else if machines[entry.Value].Task(cache.BaseName(entry.Key)) == nil {
			inIndex = append(inIndex, orphanedIndexKey(entry.Value, cache.BaseName(entry.Key), entry.ModifiedIndex))
		}
	}
	return slices.Concat(inLists, inIndex, s.compareEndpoints())
}

func compareList(machines map[string]*cache.Machine, index *etcd.Node, m *cache.Machine) (found []inconsistency) {
	if m.Broken != nil {
		return nil // the log and /healthz name it
	}
	ids := map[string]int{}
	for _, manifest := range m.Manifests {
		ids[manifest.ID]++
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if m.Task(id) == nil {
			found = append(found, orphanedManifest(m.Name, id, versionOf(cache.Child(index, id))))
		}
	}
	for _, task := range m.Tasks {
		if task.Err != nil || !isNameOfTask(task.ID) {
			continue // it is logged by those who list tasks, or with the index
		}
		if !m.Consistent(task) && !isStrayCopy(machines, index, task) {
			found = append(found, missingManifest(task))
		}
	}
	return found
}

// isStrayCopy reports whether the index names another machine for a task, which
// has the task too. Then this copy was written by another program, or by a
// create that was delayed until its claim had been repaired. It gets no
// manifest.
func isStrayCopy(machines map[string]*cache.Machine, index *etcd.Node, task *cache.Stored) bool {
	entry := cache.Child(index, task.ID)
	return entry != nil && entry.Value != task.Machine && machines[entry.Value].Task(task.ID) != nil
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
func (s *Store) compareEndpoints() (found []inconsistency) {
	var endpoints []*cache.Stored
	services := map[string]bool{}
	for _, broken := range s.cache.Unreadable() {
		switch broken.Kind {
		case api.ServiceKind:
			services[broken.ID] = true
		case api.EndpointsKind:
			endpoints = append(endpoints, broken)
		}
	}
	all, _ := s.cache.Objects.List(api.EndpointsKind, nil) // a cache answers always
	for _, object := range all.Items {
		endpoints = append(endpoints, cache.MakeStored(cache.Place{Kind: api.EndpointsKind, ID: object.GetID()}, object))
	}
	all, _ = s.cache.Objects.List(api.ServiceKind, nil) // as above; a new service has newer endpoints
	for _, service := range all.Items {
		services[service.GetID()] = true
	}
	for _, one := range endpoints {
		if !services[one.ID] && !one.Dir {
			found = append(found, orphanedEndpoints(one))
		}
	}
	return found
}
