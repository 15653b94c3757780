package etcd

import (
	"context"
	"errors"

	"github.com/coreos/go-etcd/etcd"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// codeNotFound is etcd's code of the v2 API for a key that does not exist.
const codeNotFound = 100

// Holds reports whether there is anything in a directory. It returns soon after the context
// has ended.
func (c *Client) Holds(ctx context.Context, directory string) (bool, error) {
	resp, err := c.getUntil(ctx, directory)
	var refused *etcd.EtcdError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == codeNotFound:
		return false, nil
	case err != nil:
		return false, err
	}
	return len(resp.Node.Nodes) > 0, nil
}

// Holds reports whether there is a key with a prefix.
func (c *V3) Holds(ctx context.Context, prefix string) (bool, error) {
	resp, err := c.Do(ctx, clientv3.OpGet(prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))
	if err != nil {
		return false, err
	}
	return resp.Get().Count > 0, nil
}

// getUntil returns a key, or a directory with what is in it. go-etcd's calls know of no
// context: when it ends, nobody waits for this one any more.
func (c *Client) getUntil(ctx context.Context, key string) (*etcd.Response, error) {
	type answer struct {
		resp *etcd.Response
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		resp, err := c.Get(key, false, false)
		answers <- answer{resp, err}
	}()
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
