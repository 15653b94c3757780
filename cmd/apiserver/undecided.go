package main

import (
	"context"
	"log"
	"strings"
	"sync/atomic"
	"time"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
)

// decisionPeriod is how often an etcd that has not answered yet is asked which APIs it
// serves.
const decisionPeriod = 250 * time.Millisecond

// undecided is a store on an etcd that did not answer when the program started: which of
// its APIs is used is decided when it does. Until then it is unavailable.
type undecided struct {
	laterReader
	chosen atomic.Pointer[registries] // nil until then
}

var _ storage.Interface = (*undecided)(nil)

func newUndecided() *undecided {
	u := &undecided{}
	u.laterReader = func() storage.Reader {
		if chosen := u.chosen.Load(); chosen != nil {
			return chosen.objects
		}
		return nil
	}
	return u
}

// undecidedRegistries puts the registries on an etcd of which nobody knows yet what it
// serves.
func (o *options) undecidedRegistries(clients etcdClients, a around) registries {
	u := newUndecided()
	ctx, cancel := context.WithCancel(context.Background())
	decided := make(chan struct{}) // closed when it is decided, or will not be
	go func() {
		defer close(decided)
		u.decide(ctx, clients, func(backend string) registries { return o.registriesOnEtcd(backend, clients, a) })
	}()
	stores := registriesOver(registry.MakeRegistry(u), "etcd at "+strings.Join(o.etcd.Servers, ","))
	stores.healthz, stores.reconcile = u.healthz, u.reconcile
	stores.follow = func(ctx context.Context) {
		select {
		case <-decided:
		case <-ctx.Done():
		}
		if chosen := u.chosen.Load(); chosen != nil && chosen.follow != nil {
			chosen.follow(ctx)
		}
	}
	stores.close = func() {
		cancel()
		<-decided
		if chosen := u.chosen.Load(); chosen != nil {
			chosen.close()
		} else {
			clients.close()
		}
	}
	return stores
}

// decide asks the etcd which APIs it serves until it is clear which to use, or until the
// context ends.
func (u *undecided) decide(ctx context.Context, clients etcdClients, open func(backend string) registries) {
	told := ""
	for {
		backend, err := clients.choose()
		if err == nil {
			chosen := open(backend)
			u.chosen.Store(&chosen)
			log.Printf("etcd answers: registry %s", chosen.name)
			return
		}
		if why := inFlags(err).Error(); why != told {
			log.Print(why)
			told = why
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(decisionPeriod):
		}
	}
}

func (u *undecided) healthz() ([]string, error) {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.healthz()
	}
	return nil, api.NewUnavailable("health check", nil)
}

func (u *undecided) reconcile() error {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.reconcile()
	}
	return nil // each request tells that etcd does not answer
}

// Cached implements storage.Interface.
func (u *undecided) Cached() storage.Reader {
	return laterReader(func() storage.Reader {
		if chosen := u.chosen.Load(); chosen != nil {
			return chosen.objects.Cached()
		}
		return nil
	})
}

// Commit implements storage.Interface.
func (u *undecided) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.objects.Commit(changes...)
	}
	return nil, api.NewUnavailable(changes[0].InWords(), nil)
}

// laterReader returns a reader, or nil while there is none.
type laterReader func() storage.Reader

// later reads from a reader if there is one.
func later[T any](r laterReader, operation string, read func(storage.Reader) (T, error)) (result T, err error) {
	if reader := r(); reader != nil {
		return read(reader)
	}
	return result, api.NewUnavailable(operation, nil)
}

func (r laterReader) Get(kind api.Kind, id string) (*storage.Object, error) {
	return later(r, "get "+string(kind), func(s storage.Reader) (*storage.Object, error) { return s.Get(kind, id) })
}

func (r laterReader) List(kind api.Kind, labels map[string]string) (*storage.List, error) {
	return later(r, storage.ListInWords(kind), func(s storage.Reader) (*storage.List, error) { return s.List(kind, labels) })
}

func (r laterReader) ListAt(kind api.Kind, version uint64) (*storage.List, error) {
	return later(r, storage.ListInWords(kind), func(s storage.Reader) (*storage.List, error) { return s.ListAt(kind, version) })
}

func (r laterReader) FirstFree(machines []string, task api.Task) (string, error) {
	return later(r, "place task", func(s storage.Reader) (string, error) { return s.FirstFree(machines, task) })
}

func (r laterReader) Version() (uint64, error) {
	return later(r, "get the version", storage.Reader.Version)
}

func (r laterReader) Watch(kind api.Kind, after uint64) (storage.Watcher, error) {
	return later(r, "watch", func(s storage.Reader) (storage.Watcher, error) { return s.Watch(kind, after) })
}
