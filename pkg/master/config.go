package master

import (
	"time"

	"kube2014/pkg/auth/authenticator"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/etcd"
	"kube2014/pkg/master/parts"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage/etcd3"
	"kube2014/pkg/trace"
	"kube2014/pkg/util"
)

const (
	// SyncPeriod is the period of the loops of a server.
	SyncPeriod = 10 * time.Second
	syncPause  = time.Second
)

// Config is the part of a server's configuration without flags. Tests replace fields before its first
// use: longer timeouts for slow machines, and loops on demand. After that it is immutable, and safe for
// concurrent use.
type Config struct {
	Version        string
	RequestTimeout time.Duration // to read a request, and to answer it
	DrainTimeout   time.Duration // to finish the requests in flight
	TokenCacheTTL  time.Duration // a revoked token may be good for so long
	Network        Network

	NewEtcdClient    func(etcd.Config) (*etcd.Client, error)
	NewEtcd3Client   func(etcd.Config) (*etcd.V3, error)
	MakeEtcdRegistry func(client registry.EtcdClient, machines []string) *registry.EtcdRegistry
	MakeEtcd3Store   func(client etcd3.Client, prefix string) *etcd3.Store
	Forever          func(f func(), period time.Duration) // runs a loop until it ends its goroutine
}

// NewConfig returns the default configuration of a version of the program.
func NewConfig(version string) *Config {
	return &Config{
		Version: version, RequestTimeout: 10 * time.Second, DrainTimeout: 10 * time.Second, TokenCacheTTL: authenticator.DefaultCacheTTL, Network: hostNetwork,
		NewEtcdClient: etcd.NewClient, NewEtcd3Client: etcd.NewV3,
		MakeEtcdRegistry: registry.MakeEtcdRegistry, MakeEtcd3Store: etcd3.New, Forever: util.Forever,
	}
}

// NewParts creates the parts that the flags name, as clients of a server. The tracer is nil for none. The error names a flag.
func (c *Config) NewParts(o *options.ServerRunOptions, connect func(userAgent string) (*clientv1.Client, error), tracer *trace.Tracer) (*parts.Parts, error) {
	return parts.New(parts.Config{Options: o, Version: c.Version, Listen: c.Network.Listen, Dial: c.Network.Dial, Connect: connect, Tracer: tracer})
}
