package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"kube2014/pkg/etcd"
	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd3"
)

// storeOptions are where objects are kept on etcd.
type storeOptions struct {
	options.EtcdOptions
	machines []string
}

func storesOf(o *options.ServerRunOptions) storeOptions {
	return storeOptions{o.Etcd, o.Generic.Machines}
}

// decorators are put around the layers of a store on etcd.
type decorators struct {
	etcd2 func(registry.EtcdClient) registry.EtcdClient
	etcd3 func(etcd3.Client) etcd3.Client
	store func(storage.Interface) storage.Interface
}

// etcdClients are clients of both APIs of an etcd.
type etcdClients struct {
	v2     *etcd.Client
	v3     *etcd.V3
	prefix string // of the keys of the v3 API
}

// etcdRegistries puts the registries on the etcd that the flags name. If it does not
// answer yet, that is no error: requests are answered with 503 until it does. The error
// names a flag.
func (o storeOptions) etcdRegistries(d decorators) (registries, error) {
	clients := etcdClients{prefix: o.Prefix}
	var err error
	if clients.v2, err = newEtcdClient(o.Config); err == nil {
		clients.v3, err = newEtcd3Client(o.Config)
	}
	if err != nil {
		return registries{}, inFlags(err)
	}
	backend, err := o.Backend, error(nil)
	switch backend {
	case options.Etcd2:
		err = clients.v2.CheckKey(options.DefaultEtcdPrefix)
	case options.Etcd3:
		err = clients.v3.Check(context.Background(), clients.prefix+"/")
	default:
		backend, err = clients.choose(context.Background())
	}
	if needsUser(err) {
		clients.close()
		return registries{}, inFlags(err)
	}
	if err != nil {
		log.Printf("etcd does not answer yet; requests are answered with 503 until it does: %v", err)
	}
	if backend == "" {
		return o.undecidedRegistries(clients, d), nil
	}
	stores := o.registriesOnEtcd(backend, clients, d)
	if err == nil && backend == options.Etcd3 {
		var layout *etcd3.LayoutError
		if _, err := stores.objects.Version(); errors.As(err, &layout) {
			stores.close()
			return registries{}, inFlags(layout)
		}
	}
	return stores, nil
}

func (o storeOptions) registriesOnEtcd(backend string, clients etcdClients, d decorators) registries {
	if backend == options.Etcd2 {
		clients.v3.Close()
		onEtcd := makeEtcdRegistry(d.etcd2(clients.v2), o.machines)
		onEtcd.Decorate(d.store)
		return registriesOn2(onEtcd, clients.v2.Close, o.Servers)
	}
	clients.v2.Close()
	return registriesOn3(d.etcd3(clients.v3), clients.v3.Close, o.Servers, o.Prefix, d.store)
}

func (c etcdClients) close() {
	c.v2.Close()
	c.v3.Close()
}

// undecidableError tells that nobody but the user can say which backend to use.
type undecidableError struct{ why string }

// Error returns why, and which flag decides.
func (e *undecidableError) Error() string { return e.why }

// needsUser tells whether an error stays until the user does something about it.
func needsUser(err error) bool {
	var unusable *etcd.UnusableError
	var undecidable *undecidableError
	return errors.As(err, &unusable) || errors.As(err, &undecidable)
}

// choose returns the backend that an etcd is for: the one that holds objects; or, if there
// are none yet, etcd2 if it is served. June 2014's programs read only that one. It returns
// soon after the context has ended.
func (c etcdClients) choose(ctx context.Context) (backend string, err error) {
	v2, v3, err := etcd.Served(ctx, c.v2, c.v3, c.prefix+"/")
	if err != nil {
		return "", err
	}
	v2 = v2 && c.prefix == options.DefaultEtcdPrefix // its keys are June 2014's
	switch {
	case !v2 && !v3:
		return "", &undecidableError{"the etcd serves only its v2 API, whose keys begin with " + options.DefaultEtcdPrefix + ": leave -etcd_prefix out"}
	case !v3:
		return options.Etcd2, nil
	case !v2:
		return options.Etcd3, nil
	}
	in2, err := c.v2.Holds(ctx, options.DefaultEtcdPrefix)
	if err != nil {
		return "", err
	}
	in3, err := c.v3.Holds(ctx, c.prefix+"/")
	switch {
	case err != nil:
		return "", err
	case in2 && in3:
		return "", &undecidableError{"the etcd holds objects for etcd2 and for etcd3: say -storage_backend etcd2 or -storage_backend etcd3"}
	case in3:
		return options.Etcd3, nil
	}
	return options.Etcd2, nil
}

// flagOf has the flag of each field of an etcd.Config.
var flagOf = map[string]string{
	"Servers": "-etcd_servers", "CAFile": "-etcd_cafile", "CertFile": "-etcd_certfile", "KeyFile": "-etcd_keyfile",
	"Username": "-etcd_username", "Password": "-etcd_password_file",
}

// inFlags returns an error that begins with the flag that is wrong.
func inFlags(err error) error {
	var wrong *etcd.ConfigError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s: %w", flagOf[wrong.Field], wrong.Err)
	}
	var layout *etcd3.LayoutError
	if errors.As(err, &layout) {
		return fmt.Errorf("-etcd_prefix: %w", err)
	}
	var undecidable *undecidableError
	if errors.As(err, &undecidable) {
		return fmt.Errorf("-storage_backend: %w", err)
	}
	return fmt.Errorf("-etcd_servers: %w", err)
}

// registriesOn2 puts the registries on etcd's v2 API.
func registriesOn2(onEtcd *registry.EtcdRegistry, closeClient func(), servers []string) registries {
	stores := registriesOver(onEtcd.Registry, "etcd2 at "+strings.Join(servers, ","))
	stores.healthz, stores.reconcile, stores.follow, stores.close = onEtcd.Healthz, onEtcd.Reconcile, onEtcd.Follow, closeClient
	return stores
}

// registriesOn3 puts the registries on etcd's v3 API.
func registriesOn3(etcdClient etcd3.Client, closeClient func(), servers []string, prefix string, decorate func(storage.Interface) storage.Interface) registries {
	store := makeEtcd3Store(etcdClient, prefix)
	name := "etcd3 at " + strings.Join(servers, ",")
	if prefix != options.DefaultEtcdPrefix {
		name += " below " + prefix
	}
	stores := registriesOver(registry.MakeRegistry(decorate(store)), name)
	stores.healthz, stores.reconcile = store.Healthz, store.Reconcile
	stores.close = func() {
		store.Close()
		closeClient()
	}
	return stores
}
