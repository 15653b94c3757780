package etcd3

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	clientv3 "go.etcd.io/etcd/client/v3"
)

func TestResponsesThatWaitComeTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		responses := make(chan clientv3.WatchResponse)
		batches := together(ctx, responses)
		send := func(n int) {
			for range n {
				responses <- clientv3.WatchResponse{}
			}
		}
		send(1)
		assert.Len(t, <-batches, 1, "one does not wait for more")
		send(3)
		assert.Len(t, <-batches, 3, "all that wait")
		send(maxTogether)
		synctest.Wait()
		select {
		case responses <- clientv3.WatchResponse{}:
			assert.Fail(t, "more than the bound")
		default:
		}
		assert.Len(t, <-batches, maxTogether)

		send(2)
		close(responses)
		assert.Len(t, <-batches, 2, "also the last ones")
		_, more := <-batches
		assert.False(t, more)
		cancel()
	})
}

func TestNobodyWaitsForAReceiverWhoseWatchHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		ctx, cancel := context.WithCancel(context.Background())
		responses := make(chan clientv3.WatchResponse)
		together(ctx, responses)
		responses <- clientv3.WatchResponse{}
		cancel()
	})
}
