package etcdtest

import (
	"strings"

	"github.com/coreos/go-etcd/etcd"
)

// Below returns a client that sees one directory as the root, so that tests can
// share an etcd.
func Below(client Client, dir string) Client { return &below{client: client, dir: dir} }

type below struct {
	client Client
	dir    string
}

func (b *below) strip(resp *etcd.Response, err error) (*etcd.Response, error) {
	if resp != nil {
		b.stripNode(resp.Node)
		b.stripNode(resp.PrevNode)
	}
	return resp, err
}

func (b *below) stripNode(node *etcd.Node) {
	if node == nil {
		return
	}
	if below, inside := strings.CutPrefix(node.Key, b.dir); inside && strings.HasPrefix(below+"/", "/") {
		node.Key = below
	} else {
		node.Key = "/outside" + node.Key
	}
	for _, child := range node.Nodes {
		b.stripNode(child)
	}
}

func (b *below) AddChild(key, data string, ttl uint64) (*etcd.Response, error) {
	return b.strip(b.client.AddChild(b.dir+key, data, ttl))
}

func (b *below) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	return b.strip(b.client.Get(b.dir+key, sort, recursive))
}

func (b *below) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return b.strip(b.client.Set(b.dir+key, value, ttl))
}

func (b *below) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return b.strip(b.client.Create(b.dir+key, value, ttl))
}

func (b *below) Delete(key string, recursive bool) (*etcd.Response, error) {
	return b.strip(b.client.Delete(b.dir+key, recursive))
}

func (b *below) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return b.strip(b.client.CompareAndSwap(b.dir+key, value, ttl, prevValue, prevIndex))
}

func (b *below) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return b.strip(b.client.CompareAndDelete(b.dir+key, prevValue, prevIndex))
}

// Watch of the root also shows changes outside of the directory, since etcd counts
// them.
func (b *below) Watch(prefix string, waitIndex uint64, recursive bool, receiver chan *etcd.Response, stop chan bool) (*etcd.Response, error) {
	if prefix != "/" {
		prefix = b.dir + prefix
	}
	return b.strip(b.client.Watch(prefix, waitIndex, recursive, receiver, stop))
}
