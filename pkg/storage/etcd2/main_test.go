package etcd2_test

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
)

// The tests of this package share one real etcd; each has a directory of its
// own in it.
var (
	sharedEtcd    func() (*etcdtest.Server, error)
	sharedStarted atomic.Pointer[etcdtest.Server]
	directories   atomic.Int32
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "kube2014-etcd-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	sharedEtcd = sync.OnceValues(func() (*etcdtest.Server, error) {
		server, err := etcdtest.Start(dir)
		sharedStarted.Store(server)
		return server, err
	})
	code := m.Run()
	if server := sharedStarted.Load(); server != nil {
		_ = server.Kill() // the process ends here anyway
	}
	_ = os.RemoveAll(dir) // as above
	os.Exit(code)
}

// etcds makes an empty etcd of each kind.
var etcds = map[string]func(t *testing.T) etcdtest.Client{
	"fake etcd": func(*testing.T) etcdtest.Client { return etcdtest.NewFake() },
	"etcd": func(t *testing.T) etcdtest.Client {
		server, err := sharedEtcd()
		require.NoError(t, err)
		client, err := etcd.New([]string{server.URL})
		require.NoError(t, err)
		t.Cleanup(client.Close)
		client.SetTimeout(10 * time.Minute) // it does not hang, however slow the machine is
		return etcdtest.Below(client, fmt.Sprintf("/test-%d", directories.Add(1)))
	},
}
