package cache

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/util"
)

const (
	// writePatience bounds how long a read waits for own writes that were in flight when
	// it requested etcd's version.
	writePatience = 500 * time.Millisecond
	// maxUnwatched bounds the number of changes that are fetched one by one without
	// watchers. Reading objectsPerEvent objects costs about as much as fetching one
	// change: the cheaper way is chosen.
	maxUnwatched    = 16
	objectsPerEvent = 100
	// followPeriod is how often etcd's version is requested while there are watchers.
	followPeriod = 250 * time.Millisecond
)

// Fresh brings the cache up to date: it then has every change that was acknowledged,
// to any process, before the call.
func (c *Cache) Fresh(operation string) error {
	version, err := c.sync.Do(c.fetchVersion)
	if err != nil {
		return Failed(operation, err)
	}
	return c.Reach(operation, version)
}

// fetchVersion returns etcd's version. If nothing has been read yet, it reads everything instead.
func (c *Cache) fetchVersion() (uint64, error) {
	if !c.IsLoaded() {
		return c.readAll()
	}
	_, version, err := c.Read(syncKey, false)
	return version, err
}

// IsLoaded reports whether anything has been read from etcd.
func (c *Cache) IsLoaded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

// Reach brings the cache up to at least a version that etcd has just returned.
func (c *Cache) Reach(operation string, version uint64) error {
	if c.reaches(version) || c.awaitWrites(version) {
		return nil
	}
	c.mu.Lock()
	c.target = max(c.target, version)
	c.mu.Unlock()
	_, err := c.load.Do(c.catchUp)
	return Failed(operation, err)
}

func (c *Cache) reaches(version uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded && c.version >= version
}

// awaitWrites waits for own writes in flight, which etcd's version may include, and reports
// whether the cache then reaches a version. If not, another program has made a change.
func (c *Cache) awaitWrites(version uint64) bool {
	c.mu.Lock()
	writes := slices.Collect(maps.Keys(c.inFlight))
	c.mu.Unlock()
	patience := time.After(writePatience)
	for _, ended := range writes {
		if c.reaches(version) {
			return true
		}
		select {
		case <-ended:
		case <-patience:
			return c.reaches(version)
		}
	}
	return c.reaches(version)
}

// catchUp fetches the changes up to the target, or reads everything.
func (c *Cache) catchUp() (uint64, error) {
	if c.fetchEvents() {
		return 0, nil
	}
	return c.readAll()
}

// fetchEvents fetches the missing changes one by one from etcd's history. It returns
// false if they are too many, or if that fails: then everything must be read, and
// all watchers are cut off.
func (c *Cache) fetchEvents() bool {
	missing, target := c.missing()
	if len(missing) == 0 {
		return c.reaches(target)
	}
	patience := c.After(eventPatience)
	for _, version := range missing {
		select {
		case event := <-c.fetchEvent(version):
			if !c.addEvent(event, version) {
				return false
			}
		case <-patience:
			return false
		}
	}
	return c.reaches(target)
}

// missing returns the versions up to the target whose changes are missing: none if
// everything must be read.
func (c *Cache) missing() (versions []uint64, target uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.loaded {
		return nil, c.target
	}
	most := MaxEvents
	if !c.watched {
		tasks := 0
		for _, machine := range c.machines {
			tasks += len(machine.Tasks)
		}
		most = min(tasks/objectsPerEvent, maxUnwatched)
	}
	for version := c.version + 1; version <= c.target; version++ {
		if c.waiting[version] != nil {
			continue
		}
		if versions = append(versions, version); len(versions) > most {
			return nil, c.target
		}
	}
	return versions, c.target
}

// addEvent applies a change of another program; it returns false if the event is not
// the wanted one, or the cache cannot apply it.
func (c *Cache) addEvent(event *etcd.Response, version uint64) bool {
	if !isPlain(event, version) {
		return false
	}
	change := &Change{Key: event.Node.Key, Version: version}
	if !isDeletion(event) {
		change.node = event.Node
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(change)
	return true
}

// readAll reads everything from etcd. Other requests use the cached state meanwhile.
func (c *Cache) readAll() (uint64, error) {
	root, version, err := c.Read(registryKey, true)
	if err != nil {
		return 0, err
	}
	read := decodeContents(root, version, c.Machines(), c.Objects)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset(read, version)
	return version, nil
}

// Follow delivers the changes of other programs to watchers, until the context ends.
// They receive own changes without it.
func (c *Cache) Follow(ctx context.Context) {
	for util.Sleep(ctx, followPeriod) {
		c.mu.Lock()
		watched := c.watched
		c.mu.Unlock()
		if watched {
			_ = c.Fresh("follow etcd") // the next round tries again
		}
	}
}

// Watch makes the cache fetch changes one by one from now on, so that watchers see
// each of them, and makes Follow request them.
func (c *Cache) Watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = true
}
