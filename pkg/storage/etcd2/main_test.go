package etcd2_test

import (
	"testing"

	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }

// onEachEtcd runs a test on a fake etcd and on a real one.
func onEachEtcd(t *testing.T, test func(t *testing.T, client etcdtest.Client)) {
	t.Parallel()
	etcdtest.OnEach(t, etcd.New, test)
}
