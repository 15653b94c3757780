package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	genericoptions "kube2014/pkg/server/options"
)

// etcd36Variable says that the tests of etcd3 run on etcd 3.6, which has no other API.
const etcd36Variable = "KUBE2014_ETCD36"

// etcd3Setup is the etcd of the tests of etcd3.
func etcd3Setup() etcdtest.Setup {
	if os.Getenv(etcd36Variable) != "" {
		return etcdtest.Setup{Version: "3.6"}
	}
	return etcdtest.Setup{}
}

// place3 is where a test keeps objects through etcd's v3 API.
type place3 struct{ url, prefix string }

func (p place3) flags() []string {
	return []string{"-storage_backend", "etcd3", "-etcd_servers", p.url, "-etcd_prefix", p.prefix}
}

// registries are those of one apiserver.
func (p place3) registries(t *testing.T) registries {
	stores, err := registriesOn(genericoptions.Etcd3, p.prefix, []string{p.url}, nil)
	require.NoError(t, err)
	t.Cleanup(stores.Close)
	return stores
}

// key returns the key in the etcd that is this one below /registry.
func (p place3) key(key string) string {
	return p.prefix + strings.TrimPrefix(key, genericoptions.DefaultEtcdPrefix)
}

// do does what another program does.
func (p place3) do(t *testing.T, op clientv3.Op) clientv3.OpResponse {
	t.Helper()
	etcdClient, err := config.NewEtcd3Client(etcd.Config{Servers: []string{p.url}})
	require.NoError(t, err)
	defer etcdClient.Close()
	resp, err := etcdClient.Do(t.Context(), op)
	require.NoError(t, err)
	return resp
}

// keys reads all keys; they begin with /registry.
func (p place3) keys(t *testing.T) map[string]string {
	t.Helper()
	resp := p.do(t, clientv3.OpGet(p.prefix+"/", clientv3.WithPrefix()))
	keys := map[string]string{}
	for _, kv := range resp.Get().Kvs {
		keys[genericoptions.DefaultEtcdPrefix+strings.TrimPrefix(string(kv.Key), p.prefix)] = string(kv.Value)
	}
	return keys
}

// shared3 is an etcd that tests use at once, each below a prefix of its own.
type shared3 struct {
	setup  func() etcdtest.Setup
	start  sync.Once
	server *etcdtest.Server
	dir    string
	err    error
}

var (
	sharedEtcd3  = &shared3{setup: etcd3Setup}
	sharedEtcd34 = &shared3{setup: func() etcdtest.Setup { return etcdtest.Setup{Version: "3.4"} }}
	prefixes     atomic.Int32
)

// newPlace returns one that nobody else uses. The history of the etcd is for all.
func (s *shared3) newPlace(t *testing.T) place3 {
	s.start.Do(func() {
		var servers []*etcdtest.Server
		if s.dir, s.err = os.MkdirTemp("", "kube2014-etcd-"); s.err != nil {
			return
		}
		if servers, s.err = s.setup().Start(s.dir); s.err == nil {
			s.server = servers[0]
		}
	})
	require.NoError(t, s.err)
	return place3{s.server.URL, fmt.Sprint("/test-", prefixes.Add(1))}
}

// stop ends the etcd after all tests.
func (s *shared3) stop() error {
	if s.server == nil {
		return os.RemoveAll(s.dir)
	}
	return errors.Join(s.server.Kill(), os.RemoveAll(s.dir))
}
