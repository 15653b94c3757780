package api

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync/atomic"
)

// maxShared is the maximum size of a shared value, in bytes. It bounds the memory of the caches.
const maxShared = 4 << 10

// sizeOfEntry is about that of an entry of a list without its texts, in bytes.
const sizeOfEntry = 48

// recent caches values of recent objects by hash. It is safe for concurrent use.
type recent[Value any] [1024]atomic.Pointer[Value]

// share returns an equal value: that of an earlier object if it is cached. It must not be modified.
func (r *recent[Value]) share(hash uint64, value *Value, equal func(a, b *Value) bool) *Value {
	slot := &r[hash%uint64(len(r))]
	if earlier := slot.Load(); earlier != nil && equal(earlier, value) {
		return earlier
	}
	slot.Store(value)
	return value
}

// sharing has what recent objects share.
type sharing struct {
	labels   recent[map[string]string]
	managers recent[Manager]
	shapes   recent[shape]
}

// shared is that of all stores. The pods of a controller have the same labels, containers and managers: without it, 150,000 pods have
// half as many values again, all of which the garbage collector visits.
var shared sharing

var shareSeed = maphash.MakeSeed()

// Share lets an object have the labels, the managers and the containers of recent objects if they are equal. The object must not be
// modified any more.
func Share(object Object) { shared.share(object) }

func (s *sharing) share(object Object) {
	object.SetLabels(s.labelsLike(object.GetLabels()))
	s.shareManagers(&object.Meta().ManagedFields)
	if task, ok := object.(*Task); ok {
		s.shareContainers(&task.DesiredState.Manifest)
	}
}

func (s *sharing) labelsLike(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return labels
	}
	var hash, size uint64
	for key, value := range labels {
		hash += maphash.Comparable(shareSeed, [2]string{key, value})
		size += uint64(len(key) + len(value))
	}
	if size > maxShared {
		return labels
	}
	return *s.labels.share(hash, &labels, func(a, b *map[string]string) bool { return maps.Equal(*a, *b) })
}

// shareManagers replaces the entries if other managers are shared: another version of the object may have the same entries.
func (s *sharing) shareManagers(fields *ManagedFields) {
	isOwn := false
	for i, entry := range *fields {
		if like := s.managerLike(entry.Of); like != entry.Of {
			if !isOwn {
				*fields, isOwn = slices.Clone(*fields), true
			}
			(*fields)[i].Of = like
		}
	}
}

func (s *sharing) managerLike(m *Manager) *Manager {
	if len(m.Fields) > maxShared {
		return m
	}
	return s.managers.share(maphash.Comparable(shareSeed, *m), m, func(a, b *Manager) bool { return *a == *b })
}

// shape is what a manifest shares.
type shape struct {
	volumes    []Volume
	containers []Container
}

func (s *sharing) shareContainers(m *ContainerManifest) {
	var hash maphash.Hash
	hash.SetSeed(shareSeed)
	size := 0
	write := func(texts ...string) {
		for _, text := range texts {
			maphash.WriteComparable(&hash, text)
			size += len(text)
		}
	}
	for _, volume := range m.Volumes {
		write(volume.Name)
	}
	for _, c := range m.Containers {
		write(c.Name, c.Image, c.Command, c.WorkingDir)
		size += (len(c.Ports) + len(c.Env) + len(c.VolumeMounts)) * sizeOfEntry
		for _, port := range c.Ports {
			write(port.Name, port.Protocol)
		}
		for _, env := range c.Env {
			write(env.Name, env.Value)
		}
		for _, mount := range c.VolumeMounts {
			write(mount.Name, mount.MountPath)
		}
	}
	if size+(len(m.Volumes)+len(m.Containers))*sizeOfEntry > maxShared {
		return
	}
	like := s.shapes.share(hash.Sum64(), &shape{m.Volumes, m.Containers}, (*shape).equal)
	m.Volumes, m.Containers = like.volumes, like.containers
}

func (s *shape) equal(other *shape) bool {
	return equalSlices(s.volumes, other.volumes) && (s.containers == nil) == (other.containers == nil) && slices.EqualFunc(s.containers, other.containers, Container.equal)
}

func (c Container) equal(other Container) bool {
	return c.Name == other.Name && c.Image == other.Image && c.Command == other.Command && c.WorkingDir == other.WorkingDir && c.Memory == other.Memory &&
		c.CPU == other.CPU && equalSlices(c.Ports, other.Ports) && equalSlices(c.Env, other.Env) && equalSlices(c.VolumeMounts, other.VolumeMounts)
}

// equalSlices tells nil from empty: JSON shows it.
func equalSlices[Value comparable](a, b []Value) bool {
	return (a == nil) == (b == nil) && slices.Equal(a, b)
}
