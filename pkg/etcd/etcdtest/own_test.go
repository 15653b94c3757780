package etcdtest

import (
	"slices"
	"testing"

	goetcd "github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd"
)

func TestMain(m *testing.M) { Main(m) }

// indexOf returns an etcd's index, by the refusal of a key that does not exist.
func indexOf(t *testing.T, client Client) uint64 {
	_, err := client.Get("/none", false, false)
	var refused *goetcd.EtcdError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, KeyNotFound, refused.ErrorCode)
	return refused.Index
}

func free() []*Server {
	members.mu.Lock()
	defer members.mu.Unlock()
	return slices.Clone(members.free)
}

func TestAnEtcdOfOnesOwnIsForOneTestAtATime(t *testing.T) {
	t.Parallel()
	t.Run("another one is for the others", func(t *testing.T) {
		first, second := Own(t, etcd.New), Own(t, etcd.New)
		before := indexOf(t, second)
		resp, err := first.Set("/x", "1", 0)
		require.NoError(t, err)
		assert.Equal(t, "/x", resp.Node.Key)
		assert.Equal(t, before, indexOf(t, second))
	})
	t.Run("the next test gets it, and an empty directory", func(t *testing.T) {
		require.Len(t, free(), 2)
		client := Own(t, etcd.New)
		_, err := client.Get("/x", false, false)
		require.Error(t, err)
		assert.NotZero(t, indexOf(t, client))
		onV3, prefix := OwnV3(t, v3)
		resp, err := onV3.Do(t.Context(), clientv3.OpGet(prefix, clientv3.WithPrefix()))
		require.NoError(t, err)
		assert.Empty(t, resp.Get().Kvs)
		assert.Empty(t, free())
	})
}

func TestASharedEtcdHasADirectoryForEach(t *testing.T) {
	t.Parallel()
	first, second := Shared(t, etcd.New), Shared(t, etcd.New)
	_, err := first.Create("/x", "1", 0)
	require.NoError(t, err)
	_, err = second.Create("/x", "2", 0)
	require.NoError(t, err)
	resp, err := first.Get("/x", false, false)
	require.NoError(t, err)
	assert.Equal(t, "1", resp.Node.Value)
}

func v3(servers []string) (*etcd.V3, error) { return etcd.NewV3(etcd.Config{Servers: servers}) }

func TestEachTestHasAPrefixOnTheV3API(t *testing.T) {
	t.Parallel()
	first, prefix := SharedV3(t, v3)
	second, other := SharedV3(t, v3)
	require.NotEqual(t, prefix, other)
	for _, key := range []string{prefix + "/x", other + "/x"} {
		_, err := first.Do(t.Context(), clientv3.OpPut(key, "1"))
		require.NoError(t, err)
	}
	resp, err := second.Do(t.Context(), clientv3.OpGet(prefix, clientv3.WithPrefix()))
	require.NoError(t, err)
	require.Len(t, resp.Get().Kvs, 1)
	assert.Equal(t, prefix+"/x", string(resp.Get().Kvs[0].Key))
}
