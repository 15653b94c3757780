package cache

import (
	"maps"
	"sync"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// Cache is what this process knows of etcd, at one of etcd's indexes. It is read
// from etcd as a whole; then it applies this process's own writes, which all go
// through it, and the changes of other programs, which fresh fetches. etcd numbers
// its changes without gaps, so each is applied once, in its order.
type Cache struct {
	Client  Client
	Objects *storage.Cache                       // as of the index
	After   func(time.Duration) <-chan time.Time // as time.After

	sync sharedCall[moment]
	load sharedCall[struct{}]

	mu       sync.Mutex // guards what follows
	loaded   bool
	unread   bool               // somebody waits for everything to be read
	watched  bool               // somebody wants to see each change
	highest  uint64             // the highest index in an answer of etcd
	target   uint64             // the highest index that somebody waits for
	index    uint64             // all changes up to this one are applied
	waiting  map[uint64]*Change // own changes after a gap, by their index
	inFlight map[*write]bool
	machines map[string]*Machine
	broken   map[string]*Stored // what cannot be decoded, by key
}

// write is an own write that has not ended.
type write struct{ ended chan struct{} } // closed when it does

// moment is one of etcd's indexes, and the own writes that were in flight when etcd
// answered it: it may count them.
type moment struct {
	index  uint64
	writes []*write
}

// Change is a change of one key. An own write fills in what it writes, so that it
// need not be decoded.
type Change struct {
	Key       string
	Object    api.Object // that is written; the cache owns it
	Created   uint64     // of an object whose creation the answer does not tell
	Manifests []Manifest // of a list that is written

	Index   uint64          // etcd's, when it has been made
	Written *storage.Object // when it has been made
	node    *etcd.Node      // what another program has written
}

// maxWaiting bounds waiting while nobody reads.
const maxWaiting = 1000

func New(client Client) *Cache {
	c := &Cache{Client: client, After: time.After, Objects: storage.NewCache(0), inFlight: map[*write]bool{}}
	c.forget()
	return c
}

// forget lets everything be read anew: it is of another etcd. The caller holds the
// lock, or nobody else has the cache.
func (c *Cache) forget() {
	c.loaded, c.highest, c.target, c.index = false, 0, 0, 0
	c.waiting, c.machines, c.broken = map[uint64]*Change{}, map[string]*Machine{}, map[string]*Stored{}
}

// Read reads a key or a directory, sorted and as a whole. The node is nil if it is not
// there.
func (c *Cache) Read(key string, recursive bool) (node *etcd.Node, index uint64, err error) {
	floor := c.floor()
	resp, err := c.Client.Get(key, recursive, recursive)
	if index, err = indexOf(resp, err); err != nil {
		return nil, 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteIndex(index, floor)
	if resp != nil {
		node = resp.Node
	}
	return node, index, nil
}

// Write makes an own write and, if it is acknowledged, applies it.
func (c *Cache) Write(own *Change, call func() (*etcd.Response, error)) error {
	this, floor := &write{ended: make(chan struct{})}, uint64(0)
	c.mu.Lock()
	c.inFlight[this], floor = true, c.highest
	c.mu.Unlock()
	var resp *etcd.Response
	var err error
	defer func() { // also when the call ends the goroutine
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.inFlight, this)
		if resp != nil && err == nil {
			c.acknowledge(own, resp.Node, floor)
		}
		close(this.ended)
	}()
	resp, err = call()
	return err
}

// acknowledge completes an own change with what etcd answers, and applies it. The
// caller holds the lock.
func (c *Cache) acknowledge(own *Change, answer *etcd.Node, floor uint64) {
	own.Index = answer.ModifiedIndex
	if own.Object != nil {
		if answer.CreatedIndex != 0 {
			own.Created = answer.CreatedIndex
		}
		*own.Object.Meta() = api.ObjectMeta{} // etcd does not keep it
		own.Written = storage.NewObject(own.Object, own.Index, own.Created)
	}
	c.noteIndex(own.Index, floor)
	c.add(own)
}

// floor returns an index below which no answer to a later call can be.
func (c *Cache) floor() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}

// noteIndex notes an index that etcd has answered. If it is below the floor, the answer
// comes from another etcd, or from one that has lost its data: then everything is
// forgotten, and noteIndex returns true. The caller holds the lock.
func (c *Cache) noteIndex(index, floor uint64) (another bool) {
	if another = index < floor; another {
		c.forget()
	}
	c.highest = max(c.highest, index)
	return another
}

// add applies a change: at once, or when no earlier one is missing. The caller holds
// the lock.
func (c *Cache) add(change *Change) {
	if change.Index <= c.index {
		return // it was in what was read
	}
	if len(c.waiting) >= maxWaiting {
		clear(c.waiting) // they are read again
	}
	c.waiting[change.Index] = change
	c.advance()
}

// advance applies the changes up to the next gap. The caller holds the lock.
func (c *Cache) advance() {
	for c.loaded {
		next := c.waiting[c.index+1]
		if next == nil {
			return
		}
		c.index++
		delete(c.waiting, c.index)
		c.apply(next)
	}
}

// apply applies the next change. The caller holds the lock.
func (c *Cache) apply(change *Change) {
	p, ours, _ := placeOf(change.Key)
	if !ours {
		c.replace(nil, nil, change.Index)
		return
	}
	delete(c.broken, change.Key)
	if p.Kind == "" {
		c.applyList(p.Machine, change)
		return
	}
	before, after := c.stored(p), change.stored(p)
	if p.Kind == api.TaskKind {
		c.machines[p.Machine] = c.machine(p.Machine).WithTask(p.ID, after, change.Index)
	}
	c.note(after)
	c.replace(before.ObjectIn(), after.ObjectIn(), change.Index)
}

func (c *Cache) applyList(name string, change *Change) {
	var list manifestList
	if change.node != nil {
		list = decodeList(name, change.node, manifestList{})
	} else if change.Manifests != nil {
		list = manifestList{Manifests: change.Manifests, ListVersion: change.Index}
	}
	c.machines[name] = c.machine(name).withList(list, change.Index)
	c.note(list.Broken)
	c.replace(nil, nil, change.Index)
}

// stored returns what is in the place after the change, nil for nothing.
func (change *Change) stored(p Place) *Stored {
	switch {
	case change.Written != nil:
		return MakeStored(p, change.Written)
	case change.node != nil:
		return decodeObject(p, change.node, nil)
	}
	return nil
}

// note keeps what cannot be decoded.
func (c *Cache) note(s *Stored) {
	if s != nil && s.Err != nil {
		c.broken[s.Key] = s
	}
}

// replace makes a change an event for those who watch. Both objects may be nil.
func (c *Cache) replace(before, after *storage.Object, index uint64) {
	_ = c.Objects.Update(func(tx *storage.Tx) error { // it fails only if the function does
		if before == nil && after == nil {
			tx.Skip(index)
		} else {
			tx.Replace(before, after, index)
		}
		return nil
	})
}

// reset makes what was read the cache, and applies the own changes that are newer.
func (c *Cache) reset(read *contents, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded && c.index >= index {
		return // the gap has been closed meanwhile: the cache is newer
	}
	c.loaded, c.index, c.machines, c.broken = true, index, read.machines, read.broken
	c.Objects.Reset(index, read.objects)
	maps.DeleteFunc(c.waiting, func(change uint64, _ *Change) bool { return change <= index })
	c.advance()
}
