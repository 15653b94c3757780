package etcd2

import (
	"maps"
	"sync"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
)

// cache is what this process knows of etcd, at one of etcd's indexes. It is read
// from etcd as a whole; then it applies this process's own writes, which all go
// through it, and the changes of other programs, which fresh fetches. etcd numbers
// its changes without gaps, so each is applied once, in its order.
type cache struct {
	client  Client
	objects *storage.Cache

	sync sharedCall[moment]
	load sharedCall[struct{}]

	mu       sync.Mutex // guards what follows
	loaded   bool
	watched  bool               // somebody wants to see each change
	highest  uint64             // the highest index in an answer of etcd
	target   uint64             // the highest index that somebody waits for
	index    uint64             // all changes up to this one are applied
	waiting  map[uint64]*change // own changes after a gap, by their index
	inFlight map[*write]bool
	machines map[string]*machine
	broken   map[string]*stored // what cannot be decoded, by key
}

// write is an own write that has not ended.
type write struct{ ended chan struct{} } // closed when it does

// moment is one of etcd's indexes, and the own writes that were in flight when etcd
// answered it: it may count them.
type moment struct {
	index  uint64
	writes []*write
}

// change is a change of one key. An own write fills in what it writes, so that it
// need not be decoded.
type change struct {
	key       string
	index     uint64
	object    api.Object // that is written; the cache owns it
	created   uint64     // of an object whose creation the answer does not tell
	manifests []manifest // of a list that is written
	node      *etcd.Node // what another program has written

	written *storage.Object
}

// maxWaiting bounds waiting while nobody reads.
const maxWaiting = 1000

func makeCache(client Client) *cache {
	c := &cache{client: client, objects: storage.NewCache(0), inFlight: map[*write]bool{}}
	c.forget()
	return c
}

// forget lets everything be read anew: it is of another etcd. The caller holds the
// lock, or nobody else has the cache.
func (c *cache) forget() {
	c.loaded, c.highest, c.target, c.index = false, 0, 0, 0
	c.waiting, c.machines, c.broken = map[uint64]*change{}, map[string]*machine{}, map[string]*stored{}
}

// get reads a key or a directory, sorted and as a whole. The node is nil if it is not
// there.
func (c *cache) get(key string, recursive bool) (node *etcd.Node, index uint64, err error) {
	floor := c.floor()
	resp, err := c.client.Get(key, recursive, recursive)
	if index, err = indexOf(resp, err); err != nil {
		return nil, 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear(index, floor)
	if resp != nil {
		node = resp.Node
	}
	return node, index, nil
}

// write makes an own write and, if it is acknowledged, applies it.
func (c *cache) write(own *change, call func() (*etcd.Response, error)) error {
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
func (c *cache) acknowledge(own *change, answer *etcd.Node, floor uint64) {
	own.index = answer.ModifiedIndex
	if own.object != nil {
		if answer.CreatedIndex != 0 {
			own.created = answer.CreatedIndex
		}
		*own.object.Meta() = api.ObjectMeta{} // etcd does not keep it
		own.written = storage.NewObject(own.object, own.index, own.created)
	}
	c.hear(own.index, floor)
	c.add(own)
}

// floor returns an index below which no answer to a later call can be.
func (c *cache) floor() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}

// hear notes an index that etcd has answered. If it is below the floor, the answer
// comes from another etcd, or from one that has lost its data: then everything is
// forgotten, and hear returns true. The caller holds the lock.
func (c *cache) hear(index, floor uint64) (another bool) {
	if another = index < floor; another {
		c.forget()
	}
	c.highest = max(c.highest, index)
	return another
}

// add applies a change: at once, or when no earlier one is missing. The caller holds
// the lock.
func (c *cache) add(change *change) {
	if change.index <= c.index {
		return // it was in what was read
	}
	if len(c.waiting) >= maxWaiting {
		clear(c.waiting) // they are read again
	}
	c.waiting[change.index] = change
	c.advance()
}

// advance applies the changes up to the next gap. The caller holds the lock.
func (c *cache) advance() {
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
func (c *cache) apply(change *change) {
	p, ours, _ := placeOf(change.key)
	if !ours {
		c.replace(nil, nil, change.index)
		return
	}
	delete(c.broken, change.key)
	if p.kind == "" {
		c.applyList(p.machine, change)
		return
	}
	before, after := c.stored(p), change.stored(p)
	if p.kind == api.TaskKind {
		c.machines[p.machine] = c.machine(p.machine).withTask(p.id, after, change.index)
	}
	c.note(after)
	c.replace(before.objectIn(), after.objectIn(), change.index)
}

func (c *cache) applyList(name string, change *change) {
	var list manifestList
	if change.node != nil {
		list = decodeList(name, change.node, manifestList{})
	} else if change.manifests != nil {
		list = manifestList{manifests: change.manifests, listVersion: change.index}
	}
	c.machines[name] = c.machine(name).withList(list, change.index)
	c.note(list.broken)
	c.replace(nil, nil, change.index)
}

// stored returns what is in the place after the change, nil for nothing.
func (change *change) stored(p place) *stored {
	switch {
	case change.written != nil:
		return makeStored(p, change.written)
	case change.node != nil:
		return decodeObject(p, change.node, nil)
	}
	return nil
}

// note keeps what cannot be decoded.
func (c *cache) note(s *stored) {
	if s != nil && s.err != nil {
		c.broken[s.key] = s
	}
}

// replace makes a change an event for those who watch. Both objects may be nil.
func (c *cache) replace(before, after *storage.Object, index uint64) {
	_ = c.objects.Update(func(tx *storage.Tx) error { // it fails only if the function does
		if before == nil && after == nil {
			tx.Skip(index)
		} else {
			tx.Replace(before, after, index)
		}
		return nil
	})
}

// machine returns a machine, which may be empty. The caller holds the lock.
func (c *cache) machine(name string) *machine {
	if machine := c.machines[name]; machine != nil {
		return machine
	}
	return makeMachine(name, 0, nil, manifestList{})
}

// stored returns what can be decoded in a place, nil for nothing. The caller holds
// the lock.
func (c *cache) stored(p place) *stored {
	if p.kind == api.TaskKind {
		return c.machine(p.machine).task(p.id)
	}
	if object, err := c.objects.Get(p.kind, p.id); err == nil {
		return makeStored(p, object)
	}
	return nil
}

// objectIn returns the object, nil if there is none or it cannot be decoded.
func (s *stored) objectIn() *storage.Object {
	if s == nil {
		return nil
	}
	return s.object
}

// contents is all that is in /registry.
type contents struct {
	objects  []*storage.Object
	machines map[string]*machine
	broken   map[string]*stored
}

func (c *contents) add(s *stored) {
	if s.object != nil {
		c.objects = append(c.objects, s.object)
	} else if s.err != nil {
		c.broken[s.key] = s
	}
}

// decodeContents decodes /registry, which may be nil. What is known already is not
// decoded again.
func decodeContents(root *etcd.Node, index uint64, machines map[string]*machine, known func(place) *stored) *contents {
	c := &contents{machines: map[string]*machine{}, broken: map[string]*stored{}}
	services := child(root, baseName(servicesKey))
	lists := map[api.Kind]*etcd.Node{
		api.ControllerKind: child(root, baseName(controllersKey)),
		api.ServiceKind:    child(services, baseName(specsKey)),
		api.EndpointsKind:  child(services, baseName(endpointsKey)),
	}
	hosts := child(root, baseName(hostsKey))
	for _, directory := range []*etcd.Node{root, hosts, services, lists[api.ControllerKind], lists[api.ServiceKind], lists[api.EndpointsKind]} {
		if bad := misplaced(directory); bad != nil {
			c.add(bad)
		}
	}
	for kind, directory := range lists {
		for _, node := range nodesOf(directory) {
			p := place{kind: kind, id: baseName(node.Key)}
			c.add(decodeObject(p, node, known(p)))
		}
	}
	for _, directory := range nodesOf(hosts) {
		name := baseName(directory.Key)
		machine := decodeMachine(name, directory, index, machines[name])
		c.machines[name] = machine
		for _, task := range machine.tasks {
			c.add(task)
		}
		if machine.broken != nil {
			c.add(machine.broken)
		}
	}
	return c
}

// reset makes what was read the cache, and applies the own changes that are newer.
func (c *cache) reset(read *contents, index uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded && c.index >= index {
		return // the gap has been closed meanwhile: the cache is newer
	}
	c.loaded, c.index, c.machines, c.broken = true, index, read.machines, read.broken
	c.objects.Reset(index, read.objects)
	maps.DeleteFunc(c.waiting, func(change uint64, _ *change) bool { return change <= index })
	c.advance()
}
