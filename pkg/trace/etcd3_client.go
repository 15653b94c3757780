package trace

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/storage/etcd3"
)

// Etcd3Client traces every call to etcd's v3 API, but not what a watch shows: that comes
// when it comes.
func (t *Tracer) Etcd3Client(next etcd3.Client) etcd3.Client { return etcd3Client{next, t} }

type etcd3Client struct {
	etcd3.Client
	t *Tracer
}

func (c etcd3Client) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if !op.IsGet() {
		c.t.change()
	}
	return narrate(c.t, "EtcdClient."+operation(op), func(answer clientv3.OpResponse, err error) string {
		switch {
		case err != nil:
			return failure(err)
		case op.IsCountOnly(): // the store counts one key that is not there, to get the revision
			return fmt.Sprint("revision ", answer.Get().Header.Revision)
		case op.IsGet():
			return fmt.Sprintf("%s, revision %d", counted(int(answer.Get().Count), "key"), answer.Get().Header.Revision)
		case !op.IsTxn():
			return "ok"
		case !answer.Txn().Succeeded:
			return fmt.Sprint("a condition is not met, revision ", answer.Txn().Header.Revision)
		}
		return fmt.Sprint("revision ", answer.Txn().Header.Revision)
	}, func() (clientv3.OpResponse, error) { return c.Client.Do(ctx, op) })
}

func (c etcd3Client) Grant(ctx context.Context, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	return narrate(c.t, fmt.Sprintf("EtcdClient.Grant a lease of %ds", seconds), func(granted *clientv3.LeaseGrantResponse, err error) string {
		if err != nil {
			return failure(err)
		}
		return fmt.Sprintf("lease %x of %ds", granted.ID, granted.TTL)
	}, func() (*clientv3.LeaseGrantResponse, error) { return c.Client.Grant(ctx, seconds) })
}

// operation describes an operation.
func operation(op clientv3.Op) string {
	key := cut(string(op.KeyBytes()), maxFailure)
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
