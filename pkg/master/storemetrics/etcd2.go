package storemetrics

import (
	"errors"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/storage/etcd2"
)

// Etcd2 measures the calls of a client of etcd's v2 API, but not those that wait for changes.
func (o Observer) Etcd2(next etcd2.Client) etcd2.Client { return etcd2Client{next, o} }

type etcd2Client struct {
	etcd2.Client
	o Observer
}

// The keys of the v2 API are June 2014's.
const etcd2Prefix = "/registry"

// do measures a call. A refusal of etcd with a code below 200 is no failure: a key does not exist, or has
// changed.
func (c etcd2Client) do(operation, key string, f func() (*etcd.Response, error)) (*etcd.Response, error) {
	start := time.Now()
	answer, err := f()
	var refused *etcd.EtcdError
	failed := err != nil && !(errors.As(err, &refused) && refused.ErrorCode < 200)
	c.o.Metrics.StoreCalled(c.o.call(operation, etcd2Prefix, key), time.Since(start), failed)
	return answer, err
}

func (c etcd2Client) AddChild(key, data string, ttl uint64) (*etcd.Response, error) {
	return c.do("create", key, func() (*etcd.Response, error) { return c.Client.AddChild(key, data, ttl) })
}

func (c etcd2Client) Get(key string, sort, recursive bool) (*etcd.Response, error) {
	operation := "get"
	if recursive {
		operation = "list"
	}
	return c.do(operation, key, func() (*etcd.Response, error) { return c.Client.Get(key, sort, recursive) })
}

func (c etcd2Client) Set(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.do("update", key, func() (*etcd.Response, error) { return c.Client.Set(key, value, ttl) })
}

func (c etcd2Client) Create(key, value string, ttl uint64) (*etcd.Response, error) {
	return c.do("create", key, func() (*etcd.Response, error) { return c.Client.Create(key, value, ttl) })
}

func (c etcd2Client) Delete(key string, recursive bool) (*etcd.Response, error) {
	return c.do("delete", key, func() (*etcd.Response, error) { return c.Client.Delete(key, recursive) })
}

func (c etcd2Client) CompareAndSwap(key, value string, ttl uint64, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.do("update", key, func() (*etcd.Response, error) {
		return c.Client.CompareAndSwap(key, value, ttl, prevValue, prevIndex)
	})
}

func (c etcd2Client) CompareAndDelete(key, prevValue string, prevIndex uint64) (*etcd.Response, error) {
	return c.do("delete", key, func() (*etcd.Response, error) { return c.Client.CompareAndDelete(key, prevValue, prevIndex) })
}
