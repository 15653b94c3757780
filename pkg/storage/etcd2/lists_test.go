package etcd2_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage/etcd2"
)

// If the request that writes the list for all waiting ones panics, the others
// get an error, because the outcome is unknown, and the machine accepts tasks
// again at once.
func TestARequestThatPanicsWhileItWritesAListAnswersTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := etcdtest.NewFake()
		var swaps, panics, unknown atomic.Int32
		registry := makeRegistry(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
			if key != kubeletKey("m") || method == "Get" {
				return call()
			}
			switch swaps.Add(1) {
			case 1:
				time.Sleep(time.Second) // the bubble's clock: the others gather meanwhile
			case 2:
				panic("etcd's client broke")
			}
			return call()
		}})
		var group sync.WaitGroup
		group.Go(func() { assert.NoError(t, registry.CreateTask("m", makeTask("first"))) })
		synctest.Wait()
		start := time.Now()
		for _, id := range []string{"a", "b", "c"} {
			group.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				err := registry.CreateTask("m", makeTask(id))
				assert.EqualError(t, err, "writing the list of manifests of machine m was interrupted; try again")
				assert.Equal(t, api.Unavailable, api.KindOf(err))
				unknown.Add(1)
			})
		}
		group.Wait()
		assert.Equal(t, time.Second, time.Since(start), "nobody waited in vain")
		assert.EqualValues(t, []int32{1, 2}, []int32{panics.Load(), unknown.Load()}, "who panicked, who was told")
		require.NoError(t, registry.CreateTask("m", makeTask("last")))
		tasks, err := registry.ListTasks(nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"first", "last"}, taskIDs(tasks))

		for range 2 {
			require.NoError(t, registry.Reconcile())
			time.Sleep(etcd2.Grace) // the bubble's clock: it takes no time
		}
		requireConsistent(t, fake)
		require.NoError(t, registry.CreateTask("m", makeTask("b")))
	})
}
