package master

import (
	"time"

	"kube2014/pkg/etcd"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/util"
)

const (
	// SyncPeriod is how often the loops of a server look at everything again.
	SyncPeriod = 10 * time.Second
	syncPause  = time.Second
)

// Config is what no flag says about a server. Tests replace fields before they use it: a slow
// machine is no reason for a failure, and the loops run when they say so. It is not changed
// after that, and safe for concurrent use.
type Config struct {
	Version        string
	RequestTimeout time.Duration // to read a request, and to answer it
	DrainTimeout   time.Duration // to finish the requests in flight
	Network        Network       // where the ports are

	NewEtcdClient    func(etcd.Config) (*etcd.Client, error)
	NewEtcd3Client   func(etcd.Config) (*etcd.V3, error)
	MakeEtcdRegistry func(client registry.EtcdClient, machines []string) *registry.EtcdRegistry
	MakeEtcd3Store   func(client etcd3.Client, prefix string) *etcd3.Store
	Forever          func(f func(), period time.Duration) // runs a loop until it ends its goroutine
}

// NewConfig returns the configuration that users have, of a version of the program.
func NewConfig(version string) *Config {
	return &Config{
		Version: version, RequestTimeout: 10 * time.Second, DrainTimeout: 10 * time.Second, Network: hostNetwork,
		NewEtcdClient: etcd.NewClient, NewEtcd3Client: etcd.NewV3,
		MakeEtcdRegistry: registry.MakeEtcdRegistry, MakeEtcd3Store: etcd3.New, Forever: util.Forever,
	}
}
