package trace

import (
	"context"
	"fmt"
	"strings"

	"github.com/coreos/go-etcd/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/registry"
	"kube2014/pkg/storage/etcd3"
)

// EtcdClient traces all calls to etcd's v2 API except those that wait for changes. The lines name the
// interface, because the calls lead into libraries.
func (t *Tracer) EtcdClient(next registry.EtcdClient) registry.EtcdClient {
	return orNext[registry.EtcdClient](t, next, etcdClient{next, t})
}

type etcdClient struct {
	registry.EtcdClient
	t *Tracer
}

func (c etcdClient) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	return traceValue(c.t, "EtcdClient.Get "+key, func() (*etcd.Response, error) { return c.EtcdClient.Get(key, sort, recursive) })
}

func (c etcdClient) Set(key, data string, ttl uint64) (*etcd.Response, error) {
	return c.write("Set "+key+becomes(data, ttl), func() (*etcd.Response, error) { return c.EtcdClient.Set(key, data, ttl) })
}

func (c etcdClient) Create(key, data string, ttl uint64) (*etcd.Response, error) {
	return c.write("Create "+key+becomes(data, ttl), func() (*etcd.Response, error) { return c.EtcdClient.Create(key, data, ttl) })
}

func (c etcdClient) Delete(key string, recursive bool) (*etcd.Response, error) {
	return c.write("Delete "+key, func() (*etcd.Response, error) { return c.EtcdClient.Delete(key, recursive) })
}

func (c etcdClient) CompareAndSwap(key, data string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.write("CompareAndSwap "+key+condition(prevValue, prevIndex)+becomes(data, ttl), func() (*etcd.Response, error) {
		return c.EtcdClient.CompareAndSwap(key, data, ttl, prevValue, prevIndex)
	})
}

func (c etcdClient) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.write("CompareAndDelete "+key+condition(prevValue, prevIndex), func() (*etcd.Response, error) {
		return c.EtcdClient.CompareAndDelete(key, prevValue, prevIndex)
	})
}

func (c etcdClient) write(text string, f func() (*etcd.Response, error)) (*etcd.Response, error) {
	c.t.change()
	return traceValue(c.t, "EtcdClient."+text, f)
}

func becomes(data string, ttl uint64) string {
	if ttl > 0 {
		return fmt.Sprintf(" = %s for %ds", value(data), ttl)
	}
	return " = " + value(data)
}

func condition(prevValue string, prevIndex uint64) string {
	if prevIndex == 0 {
		return " if " + value(prevValue)
	}
	return fmt.Sprint(" if index ", prevIndex)
}

// Etcd3Client traces all calls to etcd's v3 API except its watches.
func (t *Tracer) Etcd3Client(next etcd3.Client) etcd3.Client {
	return orNext[etcd3.Client](t, next, etcd3Client{next, t})
}

type etcd3Client struct {
	etcd3.Client
	t *Tracer
}

func (c etcd3Client) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if !op.IsGet() {
		c.t.change()
	}
	return traceValue(c.t, "EtcdClient."+operation(op), func() (clientv3.OpResponse, error) { return c.Client.Do(ctx, op) })
}

func (c etcd3Client) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	return traceValue(c.t, fmt.Sprintf("EtcdClient.Grant a lease of %ds", seconds),
		func() (*clientv3.LeaseGrantResponse, error) { return c.Client.Grant(ctx, seconds) })
}

// operation describes an operation.
func operation(op clientv3.Op) string {
	key := string(op.KeyBytes())
	switch {
	case op.IsPut():
		return "Put " + key + " = " + value(string(op.ValueBytes()))
	case op.IsDelete():
		return "Delete " + key
	case op.IsGet():
		return "Get " + key
	}
	conditions, ops, _ := op.Txn()
	var parts []string
	for _, one := range ops {
		parts = append(parts, operation(one))
	}
	return "Txn if " + counted(len(conditions), "condition") + ": " + strings.Join(parts, ", ")
}
