package cache

import (
	"context"
	"time"

	"github.com/coreos/go-etcd/etcd"
)

const (
	// writePatience bounds how long a read waits for own writes that were in flight
	// when etcd was asked for its index.
	writePatience = 500 * time.Millisecond
	// eventPatience bounds how long a read fetches what other programs have changed,
	// change by change; then it reads everything.
	eventPatience = 500 * time.Millisecond
	// MaxEvents bounds how many changes are fetched one by one, for those who watch:
	// etcd keeps 1,000.
	MaxEvents = 500
	// maxUnwatched is the same if nobody watches, and objectsPerEvent is of how many
	// objects the reading costs about as much as fetching one change: then the cheaper
	// of the two is done.
	maxUnwatched    = 16
	objectsPerEvent = 100
)

// Fresh brings the cache up to date: it then has every change that was
// acknowledged, by any process, before the call.
func (c *Cache) Fresh(operation string) error {
	if !c.IsLoaded() {
		return c.catchUp(operation, 0)
	}
	now, err := c.sync.do(c.ask)
	if err != nil {
		return Failed(operation, err)
	}
	return c.reachMoment(operation, now)
}

// Reach brings the cache up to an index that etcd has just answered, or further.
func (c *Cache) Reach(operation string, index uint64) error {
	return c.reachMoment(operation, c.momentOf(index))
}

// IsLoaded reports whether anything has been read from etcd.
func (c *Cache) IsLoaded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}

// ask asks etcd for its index.
func (c *Cache) ask() (moment, error) {
	_, index, err := c.Read(syncKey, false)
	return c.momentOf(index), err
}

func (c *Cache) momentOf(index uint64) moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := moment{index: index}
	if c.index < index {
		for write := range c.inFlight {
			m.writes = append(m.writes, write)
		}
	}
	return m
}

// reachMoment waits for own writes that were in flight at a moment. If a change is
// missing then, another program has made it.
func (c *Cache) reachMoment(operation string, m moment) error {
	var patience <-chan time.Time
	for _, write := range m.writes {
		if c.reaches(m.index) {
			break
		}
		if patience == nil {
			patience = time.After(writePatience)
		}
		select {
		case <-write.ended:
			continue
		case <-patience:
		}
		break
	}
	if c.reaches(m.index) {
		return nil
	}
	return c.catchUp(operation, m.index)
}

func (c *Cache) reaches(index uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded && c.index >= index
}

// catchUp fetches the changes up to an index; it reads everything if nothing has
// been read yet.
func (c *Cache) catchUp(operation string, index uint64) error {
	c.mu.Lock()
	c.target = max(c.target, index)
	c.unread = c.unread || !c.loaded
	c.mu.Unlock()
	_, err := c.load.do(func() (struct{}, error) {
		if !c.mustRead() && c.fetchEvents() {
			return struct{}{}, nil
		}
		return struct{}{}, c.readAll()
	})
	return Failed(operation, err)
}

// mustRead reports whether somebody has found nothing loaded, and so does not know
// which index to wait for. What another caller has read meanwhile may be older than
// that: everything is read again.
func (c *Cache) mustRead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	unread := c.unread
	c.unread = false
	return unread
}

// fetchEvents fetches the missing changes one by one, out of etcd's history. It
// returns false if they are too many, or if that fails: everything is to be read
// then, and whoever watches is cut off.
func (c *Cache) fetchEvents() bool {
	missing, loaded := c.missing()
	if !loaded || len(missing) == 0 {
		return loaded
	}
	patience := c.After(eventPatience)
	for _, index := range missing {
		event := c.fetchEvent(index)
		select {
		case resp := <-event:
			if !c.addEvent(resp, index) {
				return false
			}
		case <-patience:
			return false
		}
	}
	missing, _ = c.missing()
	return len(missing) == 0
}

// missing returns the indexes of the changes that are missing, if they are to be
// fetched one by one; loaded is false if everything is to be read.
func (c *Cache) missing() (indexes []uint64, loaded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := min(c.size()/objectsPerEvent, maxUnwatched)
	if c.watched {
		most = MaxEvents
	}
	for index := c.index + 1; index <= c.target; index++ {
		if c.waiting[index] != nil {
			continue
		}
		if indexes = append(indexes, index); len(indexes) > most {
			return nil, false
		}
	}
	return indexes, c.loaded
}

// size returns about how many objects there are. The caller holds the lock.
func (c *Cache) size() (objects int) {
	for _, machine := range c.machines {
		objects += len(machine.Tasks)
	}
	return objects
}

// addEvent adds a change that another program has made; it returns false if it is
// not the one that is wanted, or if the cache cannot follow it.
func (c *Cache) addEvent(event *etcd.Response, index uint64) bool {
	if !isPlain(event, index) {
		return false
	}
	made := &Change{Key: event.Node.Key, Index: index}
	if !isDeletion(event) {
		made.node = event.Node
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(made)
	return true
}

// readAll reads everything from etcd.
func (c *Cache) readAll() error {
	root, index, err := c.Read(registryKey, true)
	if err != nil {
		return err
	}
	machines := c.Machines() // none if it is another etcd
	cached := func(p Place) *Stored {
		if len(machines) == 0 {
			return nil
		}
		object, err := c.Objects.Get(p.Kind, p.ID)
		if err != nil {
			return nil
		}
		return MakeStored(p, object)
	}
	c.reset(decodeContents(root, index, machines, cached), index) // others use the old one meanwhile
	return nil
}

// followPeriod is how often the index is asked for while somebody watches.
const followPeriod = 250 * time.Millisecond

// Follow lets those who watch see the changes of other programs, until the context
// ends. Own changes they see without it.
func (c *Cache) Follow(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(followPeriod):
		}
		if c.isWatched() {
			_ = c.Fresh("follow etcd") // the next round tries again
		}
	}
}

func (c *Cache) isWatched() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watched
}

func (c *Cache) Watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = true
}
