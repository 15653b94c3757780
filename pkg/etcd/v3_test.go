package etcd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// newV3 is a client of members that answer.
func newV3(t *testing.T, config Config) *V3 {
	client, err := NewV3(config)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	client.SetTimeout(10 * time.Minute) // nobody hangs here, however slow the machine is
	return client
}

func put(t *testing.T, client *V3, key, value string) int64 {
	t.Helper()
	resp, err := client.Do(t.Context(), clientv3.OpPut(key, value))
	require.NoError(t, err)
	return resp.Put().Header.Revision
}

// keysOf returns the keys of the next n events.
func keysOf(t *testing.T, events clientv3.WatchChan, n int) (keys []string) {
	t.Helper()
	for len(keys) < n {
		resp, open := <-events
		require.True(t, open)
		require.NoError(t, resp.Err())
		require.NotEmpty(t, resp.Events, "it tells of progress")
		for _, event := range resp.Events {
			keys = append(keys, string(event.Kv.Key))
		}
	}
	return keys
}

func TestAKeyEndsWithItsLease(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{realEtcd(t).URL}})
	granted, err := client.Grant(t.Context(), 1)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, granted.TTL, int64(1))
	events, _ := client.Watch(t.Context(), "/x", 1)
	_, err = client.Do(t.Context(), clientv3.OpPut("/x", "1", clientv3.WithLease(granted.ID)))
	require.NoError(t, err)
	assert.Equal(t, []string{"/x", "/x"}, keysOf(t, events, 2))
	resp, err := client.Do(t.Context(), aGet)
	require.NoError(t, err)
	assert.Empty(t, resp.Get().Kvs)
}

func TestAWatchTellsWhatIsWritten(t *testing.T) {
	t.Parallel()
	client := newV3(t, Config{Servers: []string{realEtcd(t).URL}})
	first := put(t, client, "/dir/a", "1")
	put(t, client, "/other", "2")
	events, progress := client.Watch(t.Context(), "/dir/", first)
	last := put(t, client, "/dir/b", "3")
	assert.Equal(t, []string{"/dir/a", "/dir/b"}, keysOf(t, events, 2))
	require.NoError(t, progress(t.Context()))
	resp := <-events
	require.NoError(t, resp.Err())
	assert.True(t, resp.IsProgressNotify())
	assert.GreaterOrEqual(t, resp.Header.Revision, last)
	assert.NoError(t, client.Check(t.Context(), "/dir/"))
}
