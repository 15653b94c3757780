package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd/etcdtest"
)

// hanging3 is an etcd that carries out some calls: it takes every transaction, shows one
// service, and tells those who watch nothing. Then each call takes as long as one to an
// etcd that hangs.
type hanging3 struct {
	left     atomic.Int32 // calls until it hangs
	revision atomic.Int64
}

func (h *hanging3) Do(_ context.Context, op clientv3.Op) (answer clientv3.OpResponse, err error) {
	if h.left.Add(-1) < 0 {
		time.Sleep(2500 * time.Millisecond) // the bubble's clock: it takes no time
		return answer, etcdtest.ErrLost
	}
	if op.IsTxn() {
		return (&clientv3.TxnResponse{Succeeded: true, Header: &etcdserverpb.ResponseHeader{Revision: h.revision.Add(1)}}).OpResponse(), nil
	}
	service := &mvccpb.KeyValue{Key: []byte("/registry/services/specs/default/old"), Value: []byte(`{"id":"old"}`), CreateRevision: 1, ModRevision: 1}
	return (&clientv3.GetResponse{Kvs: []*mvccpb.KeyValue{service}, Count: 1, Header: &etcdserverpb.ResponseHeader{Revision: h.revision.Load()}}).OpResponse(), nil
}

func (h *hanging3) Grant(context.Context, int64) (*clientv3.LeaseGrantResponse, error) {
	if h.left.Add(-1) < 0 {
		time.Sleep(2500 * time.Millisecond)
		return nil, etcdtest.ErrLost
	}
	return &clientv3.LeaseGrantResponse{ID: 1, TTL: 3600}, nil
}

func (h *hanging3) Watch(ctx context.Context, _ string, _ int64) (clientv3.WatchChan, func(context.Context) error) {
	responses := make(chan clientv3.WatchResponse)
	context.AfterFunc(ctx, func() { close(responses) })
	return responses, func(context.Context) error { return nil }
}

// As on etcd2: a call to an etcd that hangs takes 2.5 seconds.
func TestAnEtcd3ThatHangsCostsFiveSecondsAtMost(t *testing.T) {
	t.Parallel()
	for _, healthy := range []int32{0, 1, 2, 3, 5, 10, 20} { // calls of all requests together, before it hangs
		t.Run(fmt.Sprintf("after %d calls", healthy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &hanging3{}
				h.revision.Store(1)
				h.left.Store(healthy)
				handler := handlerOver(hurriedRegistries3(t, h))
				for _, known := range []bool{false, true} { // that it hangs
					start := time.Now()
					var failures atomic.Int32
					if known {
						h.left.Store(0)
					}
					requestsOfAllKinds(handler, func(what string, status int, text string) {
						assert.LessOrEqual(t, time.Since(start), 5*time.Second, what)
						if status == http.StatusServiceUnavailable {
							failures.Add(1)
						}
					})
					if known { // else its calls may have been enough for all
						assert.NotZero(t, failures.Load())
					}
				}
			})
		})
	}
}
