// Package etcdtest holds what tests need of etcd: a fake one, real ones on free
// ports, and wrappers that count calls or let them fail.
package etcdtest

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-etcd/etcd"
)

// Client is what the apiserver uses of etcd.
type Client interface {
	AddChild(key, data string, ttl uint64) (*etcd.Response, error)
	Get(key string, sort, recursive bool) (*etcd.Response, error)
	Set(key, value string, ttl uint64) (*etcd.Response, error)
	Create(key, value string, ttl uint64) (*etcd.Response, error)
	Delete(key string, recursive bool) (*etcd.Response, error)
	CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error)
	CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error)
	Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error)
}

// The codes of etcd's errors.
const (
	KeyNotFound   = 100
	CompareFailed = 101
	NotAFile      = 102
	KeyExists     = 105
	EventCleared  = 401
)

// Fake is an etcd in memory with the rules of the v2 keys API: indexes, hidden
// keys, directories that appear with their first key. Unlike a real etcd it
// removes a directory with its last key, expires keys only at the next call, and watches
// see only its history. It is safe for concurrent use.
type Fake struct {
	mu      sync.Mutex // guards what follows
	index   uint64
	files   map[string]etcd.Node
	ends    map[string]time.Time // of the keys that have a TTL
	history []etcd.Response      // one for each index
}

// maxHistory is how many changes an etcd remembers.
const maxHistory = 1000

var _ Client = (*Fake)(nil)

// NewFake returns an empty etcd.
func NewFake() *Fake { return &Fake{files: map[string]etcd.Node{}, ends: map[string]time.Time{}} }

// lock begins a call. What was to end before it has ended then, in that order.
func (f *Fake) lock() {
	f.mu.Lock()
	now := time.Now()
	ended := slices.DeleteFunc(slices.Collect(maps.Keys(f.ends)), func(key string) bool { return f.ends[key].After(now) })
	slices.SortFunc(ended, func(a, b string) int { return f.ends[a].Compare(f.ends[b]) })
	for _, key := range ended {
		old := f.files[key]
		_, _ = f.remove("expire", key, &old) // it never fails
	}
}

func (f *Fake) refuse(code int, message, key string) error {
	return &etcd.EtcdError{ErrorCode: code, Message: message, Cause: key, Index: f.index}
}

func clean(key string) string { return path.Clean("/" + key) }

// below returns the keys in a directory, sorted.
func (f *Fake) below(dir string) []string {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var keys []string
	for key := range f.files {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Get implements Client. What it returns is always sorted.
func (f *Fake) Get(key string, _, recursive bool) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	if file, ok := f.files[key]; ok {
		return f.answer("get", &file, nil), nil
	}
	keys := f.below(key)
	if len(keys) == 0 && key != "/" {
		return nil, f.absent(key)
	}
	return f.answer("get", f.directory(key, keys, recursive), nil), nil
}

// directory makes the node of a directory out of the keys below it. Keys whose
// name begins with _ are hidden from the directories above them.
func (f *Fake) directory(dir string, keys []string, recursive bool) *etcd.Node {
	node := &etcd.Node{Key: dir, Dir: true}
	groups := map[string][]string{}
	for _, key := range keys {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(key, dir), "/"), "/")
		if strings.HasPrefix(name, "_") {
			continue
		}
		groups[name] = append(groups[name], key)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		child := strings.TrimSuffix(dir, "/") + "/" + name
		if file, ok := f.files[child]; ok {
			node.Nodes = append(node.Nodes, &file)
		} else if recursive {
			node.Nodes = append(node.Nodes, f.directory(child, groups[name], true))
		} else {
			node.Nodes = append(node.Nodes, &etcd.Node{Key: child, Dir: true})
		}
	}
	return node
}

func (f *Fake) answer(action string, node, prev *etcd.Node) *etcd.Response {
	return &etcd.Response{Action: action, Node: node, PrevNode: prev, EtcdIndex: f.index}
}

// put writes a key that is allowed to be written.
func (f *Fake) put(action, key, value string, ttl uint64) (*etcd.Response, error) {
	f.index++
	node := etcd.Node{Key: key, Value: value, CreatedIndex: f.index, ModifiedIndex: f.index}
	var prev *etcd.Node
	if old, ok := f.files[key]; ok {
		prev = &old
		if action == "compareAndSwap" {
			node.CreatedIndex = old.CreatedIndex
		}
	}
	f.files[key] = node
	delete(f.ends, key)
	if ttl > 0 {
		f.ends[key] = time.Now().Add(time.Duration(ttl) * time.Second)
	}
	return f.record(action, node, prev), nil
}

// record adds a change to the history, and answers it.
func (f *Fake) record(action string, node etcd.Node, prev *etcd.Node) *etcd.Response {
	shown := node
	f.history = append(f.history, *f.answer(action, &shown, prev))
	return f.answer(action, &node, prev)
}

// checkWritable refuses a key that is a directory or lies below a file.
func (f *Fake) checkWritable(key string) error {
	if len(f.below(key)) > 0 {
		return f.refuse(NotAFile, "Not a file", key)
	}
	for dir := path.Dir(key); dir != "/"; dir = path.Dir(dir) {
		if _, ok := f.files[dir]; ok {
			return f.refuse(104, "Not a directory", dir)
		}
	}
	return nil
}

// absent is the refusal of a key that is not there.
func (f *Fake) absent(key string) error {
	if err := f.checkWritable(key); err != nil {
		return err
	}
	return f.refuse(KeyNotFound, "Key not found", key)
}

// Set implements Client.
func (f *Fake) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	if err := f.checkWritable(key); err != nil {
		return nil, err
	}
	return f.put("set", key, value, ttl)
}

// Create implements Client.
func (f *Fake) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	if _, ok := f.files[key]; ok || len(f.below(key)) > 0 {
		return nil, f.refuse(KeyExists, "Key already exists", key)
	}
	if err := f.checkWritable(key); err != nil {
		return nil, err
	}
	return f.put("create", key, value, ttl)
}

// compare returns a file, or the reason why it may not be changed.
func (f *Fake) compare(key, prevValue string, prevIndex uint64) (etcd.Node, error) {
	if prevValue == "" && prevIndex == 0 {
		return etcd.Node{}, errors.New("You must give either prevValue or prevIndex.") //lint:ignore ST1005 go-etcd's words
	}
	file, ok := f.files[key]
	switch {
	case !ok && len(f.below(key)) > 0:
		return file, f.refuse(NotAFile, "Not a file", key)
	case !ok:
		return file, f.absent(key)
	case prevValue != "" && prevValue != file.Value, prevIndex != 0 && prevIndex != file.ModifiedIndex:
		return file, f.refuse(CompareFailed, "Compare failed", key)
	}
	return file, nil
}

// CompareAndSwap implements Client.
func (f *Fake) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	if _, err := f.compare(key, prevValue, prevIndex); err != nil {
		return nil, err
	}
	resp, err := f.put("compareAndSwap", key, value, ttl)
	if err == nil {
		resp.Node.CreatedIndex = 0 // as a real one answers to noValueOnSuccess
	}
	return resp, err
}

// CompareAndDelete implements Client.
func (f *Fake) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	old, err := f.compare(key, prevValue, prevIndex)
	if err != nil {
		return nil, err
	}
	return f.remove("compareAndDelete", key, &old)
}

// Delete implements Client.
func (f *Fake) Delete(key string, recursive bool) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	key = clean(key)
	if old, ok := f.files[key]; ok {
		return f.remove("delete", key, &old)
	}
	keys := f.below(key)
	switch {
	case len(keys) == 0:
		return nil, f.absent(key)
	case !recursive:
		return nil, f.refuse(NotAFile, "Not a file", key)
	}
	for _, file := range keys {
		delete(f.files, file)
		delete(f.ends, file)
	}
	return f.remove("delete", key, &etcd.Node{Key: key, Dir: true})
}

func (f *Fake) remove(action, key string, prev *etcd.Node) (*etcd.Response, error) {
	f.index++
	delete(f.files, key)
	delete(f.ends, key)
	return f.record(action, etcd.Node{Key: key, Dir: prev.Dir, ModifiedIndex: f.index, CreatedIndex: prev.CreatedIndex}, prev), nil
}

var errNotFaked = errors.New("the fake etcd does not do this")

// AddChild implements Client.
func (f *Fake) AddChild(string, string, uint64) (*etcd.Response, error) { return nil, errNotFaked }

// Watch implements Client. It only returns one past change, of all keys.
func (f *Fake) Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, _ chan bool) (*etcd.Response, error) {
	f.lock()
	defer f.mu.Unlock()
	switch {
	case clean(prefix) != "/", !recursive, receiver != nil, waitIndex < 1, waitIndex > f.index:
		return nil, errNotFaked
	case waitIndex+maxHistory <= f.index:
		return nil, f.refuse(EventCleared, "The event in requested index is outdated and cleared", "")
	}
	event := f.history[waitIndex-1]
	node := *event.Node
	event.Node, event.EtcdIndex = &node, f.index
	return &event, nil
}
