package master

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"kube2014/pkg/etcd"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/storage/etcd3"
)

// onEtcd creates registries on an etcd, by a client of each of its APIs.
type onEtcd struct {
	config *Config
	o      *options.ServerRunOptions
	d      Decorators
	v2     *etcd.Client
	v3     *etcd.V3
}

// NewEtcdRegistries returns the registries on the etcd of the flags. It is no error if etcd
// does not answer yet: requests are answered with 503 until it does. The error names a flag.
func (c *Config) NewEtcdRegistries(o *options.ServerRunOptions, d Decorators) (Registries, error) {
	e := onEtcd{config: c, o: o, d: d}
	var err error
	if e.v2, err = c.NewEtcdClient(o.Etcd.Config); err == nil {
		e.v3, err = c.NewEtcd3Client(o.Etcd.Config)
	}
	if err != nil {
		return Registries{}, inFlags(err)
	}
	backend := o.Etcd.Backend
	switch backend {
	case genericoptions.Etcd2:
		if err = e.suitsEtcd2(); err == nil {
			err = e.v2.CheckKey(genericoptions.DefaultEtcdPrefix)
		}
	case genericoptions.Etcd3:
		err = e.v3.Check(context.Background(), o.Etcd.Prefix+"/")
	default:
		backend, err = e.choose(context.Background())
	}
	if needsUser(err) {
		e.close()
		return Registries{}, inFlags(err)
	}
	if err != nil {
		log.Printf("etcd does not answer yet; requests are answered with 503 until it does: %v", err)
	}
	if backend == "" {
		return e.late(inFlags(err).Error()), nil
	}
	stores := e.open(backend)
	if err == nil && backend == genericoptions.Etcd3 {
		var layout *etcd3.LayoutError
		if _, err := stores.Objects.Version(); errors.As(err, &layout) {
			stores.Close()
			return Registries{}, fmt.Errorf("-etcd_prefix: %w", layout)
		}
	}
	return stores, nil
}

// suitsEtcd2 returns an error if etcd2 cannot do what the flags want.
func (e onEtcd) suitsEtcd2() error {
	if e.o.Services.Ranges.Given() {
		return &etcd.ConfigError{Field: "Ranges", Err: errors.New("etcd2 has no transactions, which addresses of services need: say -storage_backend etcd3, or leave the range out")}
	}
	return nil
}

// open returns the registries on one API of the etcd.
func (e onEtcd) open(backend string) Registries {
	place := " at " + strings.Join(e.o.Etcd.Servers, ",")
	if backend == genericoptions.Etcd2 {
		e.v3.Close()
		on2 := e.config.MakeEtcdRegistry(e.d.Etcd2(e.v2), e.o.Generic.Machines)
		on2.Decorate(e.d.Store)
		stores := newRegistries(on2.Registry, "etcd2"+place)
		stores.Healthz, stores.Reconcile, stores.Follow, stores.Close = on2.Healthz, on2.Reconcile, on2.Follow, e.v2.Close
		return stores
	}
	e.v2.Close()
	if e.o.Etcd.Prefix != genericoptions.DefaultEtcdPrefix {
		place += " below " + e.o.Etcd.Prefix
	}
	store := e.config.MakeEtcd3Store(e.d.Etcd3(e.v3), e.o.Etcd.Prefix)
	stores := newRegistries(registry.MakeRegistry(e.d.Store(store)), "etcd3"+place)
	stores.Healthz, stores.Reconcile = store.Healthz, store.Reconcile
	stores.Close = func() {
		store.Close()
		e.v3.Close()
	}
	return stores
}

func (e onEtcd) close() {
	e.v2.Close()
	e.v3.Close()
}

// needsUser reports whether only the user can fix an error.
func needsUser(err error) bool {
	_, isUnusable := errors.AsType[*etcd.UnusableError](err)
	_, isWrong := errors.AsType[*etcd.ConfigError](err)
	return isUnusable || isWrong
}

// inDoubt is the error for an etcd whose backend only the user can choose.
func inDoubt(why string) error { return &etcd.ConfigError{Field: "Backend", Err: errors.New(why)} }

// choose returns the backend for an etcd: the one with objects; or, if there are no objects yet,
// etcd2 if it is served, because June 2014's programs read only that one. It returns soon after
// the context has ended.
func (e onEtcd) choose(ctx context.Context) (backend string, err error) {
	v2, v3, err := etcd.Served(ctx, e.v2, e.v3, e.o.Etcd.Prefix+"/")
	ours := e.o.Etcd.Prefix == genericoptions.DefaultEtcdPrefix // the keys of etcd2 are June 2014's
	switch {
	case err != nil:
		return "", err
	case ours && v2.Holds && v3.Holds:
		return "", inDoubt("the etcd holds objects for etcd2 and for etcd3: say -storage_backend etcd2 or -storage_backend etcd3")
	case ours && v2.Served && !v3.Holds:
		return genericoptions.Etcd2, e.suitsEtcd2()
	case v3.Served:
		return genericoptions.Etcd3, nil
	}
	return "", inDoubt("the etcd serves only its v2 API, whose keys begin with " + genericoptions.DefaultEtcdPrefix + ": leave -etcd_prefix out")
}

// flagOf has the flags of the fields in an etcd.ConfigError.
var flagOf = map[string]string{
	"Servers": "-etcd_servers", "CAFile": "-etcd_cafile", "CertFile": "-etcd_certfile", "KeyFile": "-etcd_keyfile",
	"Username": "-etcd_username", "Password": "-etcd_password_file", "Backend": "-storage_backend", "Ranges": "-service_cluster_ip_range",
}

// inFlags returns an error that begins with the flag that caused it.
func inFlags(err error) error {
	if wrong, ok := errors.AsType[*etcd.ConfigError](err); ok {
		return fmt.Errorf("%s: %w", flagOf[wrong.Field], wrong.Err)
	}
	return fmt.Errorf("-etcd_servers: %w", err)
}
