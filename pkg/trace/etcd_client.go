package trace

import (
	"errors"
	"fmt"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/registry"
)

// EtcdClient traces every call to etcd. Its lines name the interface, because
// the calls lead into libraries.
func (t *Tracer) EtcdClient(next registry.EtcdClient) registry.EtcdClient {
	return etcdClient{t, next}
}

type etcdClient struct {
	t    *Tracer
	next registry.EtcdClient
}

var _ registry.EtcdClient = etcdClient{}

func (c etcdClient) AddChild(key, data string, ttl uint64) (*etcd.Response, error) {
	return c.write("AddChild", key, "", data, ttl, func() (*etcd.Response, error) { return c.next.AddChild(key, data, ttl) })
}

func (c etcdClient) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	return c.call("Get", key, "", found, func() (*etcd.Response, error) { return c.next.Get(key, sort, recursive) })
}

func (c etcdClient) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.write("Set", key, "", value, ttl, func() (*etcd.Response, error) { return c.next.Set(key, value, ttl) })
}

func (c etcdClient) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.write("Create", key, "", value, ttl, func() (*etcd.Response, error) { return c.next.Create(key, value, ttl) })
}

func (c etcdClient) Delete(key string, recursive bool) (*etcd.Response, error) {
	c.t.change()
	return c.call("Delete", key, "", written, func() (*etcd.Response, error) { return c.next.Delete(key, recursive) })
}

func (c etcdClient) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.write("CompareAndSwap", key, condition(prevValue, prevIndex), value, ttl, func() (*etcd.Response, error) {
		return c.next.CompareAndSwap(key, value, ttl, prevValue, prevIndex)
	})
}

func (c etcdClient) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	c.t.change()
	return c.call("CompareAndDelete", key, condition(prevValue, prevIndex), written, func() (*etcd.Response, error) {
		return c.next.CompareAndDelete(key, prevValue, prevIndex)
	})
}

func (c etcdClient) Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error) {
	return c.call("Watch", prefix, "", found, func() (*etcd.Response, error) {
		return c.next.Watch(prefix, waitIndex, recursive, receiver, stop)
	})
}

func (c etcdClient) write(method, key, condition, data string, ttl uint64, f func() (*etcd.Response, error)) (*etcd.Response, error) {
	c.t.change()
	more := condition + " = " + value(data)
	if ttl > 0 {
		more += fmt.Sprintf(" for %ds", ttl)
	}
	return c.call(method, key, more, written, f)
}

// call traces a call; more is what it has besides its key.
func (c etcdClient) call(method, key, more string, words func(*etcd.Node) string, f func() (*etcd.Response, error)) (*etcd.Response, error) {
	return narrate(c.t, "EtcdClient."+method+" "+cut(key, maxFailure)+more, func(answer *etcd.Response, err error) string {
		var refused *etcd.EtcdError
		switch {
		case errors.As(err, &refused): // by its code: pkg/registry/etcd_errors.go acts on that
			return fmt.Sprintf("%d %s, index %d", refused.ErrorCode, cut(refused.Message, maxValue), refused.Index)
		case err != nil:
			return failure(err)
		case answer == nil || answer.Node == nil:
			return "ok"
		}
		return words(answer.Node)
	}, f)
}

// condition describes the condition of a call.
func condition(prevValue string, prevIndex uint64) string {
	if prevIndex == 0 {
		return " if " + value(prevValue)
	}
	return fmt.Sprint(" if index ", prevIndex)
}

// found describes what was read: a value and its index, or the number of keys
// below a directory.
func found(node *etcd.Node) string {
	if node.Dir {
		return counted(keysBelow(node), "key")
	}
	return fmt.Sprintf("%s, index %d", value(node.Value), node.ModifiedIndex)
}

// written describes a write by its index.
func written(node *etcd.Node) string { return fmt.Sprint("index ", node.ModifiedIndex) }

func keysBelow(directory *etcd.Node) int {
	keys := 0
	for _, node := range directory.Nodes {
		if node.Dir {
			keys += keysBelow(node)
		} else {
			keys++
		}
	}
	return keys
}
