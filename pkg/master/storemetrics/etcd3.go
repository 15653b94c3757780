package storemetrics

import (
	"bytes"
	"context"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/metrics"
	"kube2014/pkg/storage/etcd3"
)

// Etcd3 measures the calls of a client of etcd's v3 API, whose keys begin with a prefix such as
// /registry, but not its watches.
func (o Observer) Etcd3(next etcd3.Client, prefix string) etcd3.Client {
	return etcd3Client{next, o, prefix}
}

type etcd3Client struct {
	etcd3.Client
	o      Observer
	prefix string
}

func (c etcd3Client) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	start := time.Now()
	answer, err := c.Client.Do(ctx, op)
	c.o.Metrics.StoreCalled(c.call(op), time.Since(start), err != nil)
	return answer, err
}

// call describes an operation. A transaction counts once, as the operation on its last key: that of the task,
// not of its host ports, and that of the service, not of its endpoints.
func (c etcd3Client) call(op clientv3.Op) metrics.StoreCall {
	switch {
	case op.IsTxn():
		return c.transaction(op)
	case op.IsDelete():
		return c.o.call("delete", c.prefix, string(op.KeyBytes()))
	case op.IsPut():
		return c.o.call("update", c.prefix, string(op.KeyBytes()))
	case len(op.RangeBytes()) > 0:
		return c.o.call("list", c.prefix, string(op.KeyBytes()))
	}
	return c.o.call("get", c.prefix, string(op.KeyBytes()))
}

func (c etcd3Client) transaction(op clientv3.Op) metrics.StoreCall {
	conditions, ops, _ := op.Txn()
	if len(ops) == 0 {
		return metrics.StoreCall{Operation: "get"}
	}
	last := slices.MaxFunc(ops, func(a, b clientv3.Op) int { return bytes.Compare(a.KeyBytes(), b.KeyBytes()) })
	known := c.call(last)
	if last.IsPut() && slices.ContainsFunc(conditions, func(condition clientv3.Cmp) bool { return isAbsent(condition, last.KeyBytes()) }) {
		known.Operation = "create"
	}
	return known
}

// isAbsent reports whether a condition is that a key does not exist.
func isAbsent(condition clientv3.Cmp, key []byte) bool {
	revision, ok := condition.GetCompare().TargetUnion.(*etcdserverpb.Compare_ModRevision)
	return ok && revision.ModRevision == 0 && bytes.Equal(condition.KeyBytes(), key)
}
