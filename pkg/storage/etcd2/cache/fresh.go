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
	// writePatience bounds how long a read waits for own writes that were in flight
	// when etcd was asked for its version.
	writePatience = 500 * time.Millisecond
	// maxUnwatched bounds how many changes are fetched one by one if nobody watches,
	// and objectsPerEvent is of how many objects the reading costs about as much as
	// fetching one change: then the cheaper of the two is done.
	maxUnwatched    = 16
	objectsPerEvent = 100
	// followPeriod is how often etcd is asked for its version while somebody watches.
	followPeriod = 250 * time.Millisecond
)

// Fresh brings the cache up to date: it then has every change that was
// acknowledged, by any process, before the call.
func (c *Cache) Fresh(operation string) error {
	version, err := c.sync.Do(c.ask)
	if err != nil {
		return Failed(operation, err)
	}
	return c.Reach(operation, version)
}

// ask gets etcd's version. If nothing has been read yet, it reads everything instead.
func (c *Cache) ask() (uint64, error) {
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

// Reach brings the cache up to a version that etcd has just answered, or further.
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

// awaitWrites waits for own writes in flight, which etcd may have counted, and reports
// whether the cache reaches a version then. If not, another program has made a change.
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

// fetchEvents fetches the missing changes one by one, out of etcd's history. It
// returns false if they are too many, or if that fails: everything is to be read
// then, and whoever watches is cut off.
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
// everything is to be read.
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

// addEvent adds a change that another program has made; it returns false if it is
// not the one that is wanted, or if the cache cannot follow it.
func (c *Cache) addEvent(event *etcd.Response, version uint64) bool {
	if !isPlain(event, version) {
		return false
	}
	made := &Change{Key: event.Node.Key, Version: version}
	if !isDeletion(event) {
		made.node = event.Node
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(made)
	return true
}

// readAll reads everything from etcd. Others use what is cached meanwhile.
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

// Follow lets those who watch see the changes of other programs, until the context
// ends. Own changes they see without it.
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

// Watch lets the cache fetch changes one by one from now on, so that those who watch
// see each, and lets Follow ask for them.
func (c *Cache) Watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = true
}
