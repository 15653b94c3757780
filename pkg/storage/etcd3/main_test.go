package etcd3_test

import (
	"testing"

	"kube2014/pkg/etcd/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }
