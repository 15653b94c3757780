package master

import (
	"context"
	"log"
	"strings"
	"sync/atomic"

	"kube2014/pkg/api"
	"kube2014/pkg/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/util"
)

// late returns the registries on an etcd that did not answer when the program started. The backend is
// chosen when etcd answers. Until then the store is unavailable. Why has been logged.
func (e onEtcd) late(why string) Registries {
	now := &atomic.Pointer[Registries]{}
	now.Store(&Registries{
		Objects:   unavailable{func(operation string) (storage.Reader, error) { return nil, api.NewUnavailable(operation, nil) }},
		Healthz:   func() ([]string, error) { return nil, api.NewUnavailable("health check", nil) },
		Reconcile: func() error { return nil }, // each request reports that etcd does not answer
		Close:     e.close,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{}) // closed when the registries are open, or will never be
	go func() {
		defer close(ended)
		if opened := await(ctx, why, e.choose, e.open); opened != nil {
			now.Store(opened)
			log.Printf("etcd answers: registry %s", opened.Name)
		}
	}()
	stores := newRegistries(registry.MakeRegistry(lateStore{func(string) (storage.Reader, error) { return now.Load().Objects, nil }, now}), "etcd at "+strings.Join(e.o.Etcd.Servers, ","))
	stores.Healthz = func() ([]string, error) { return now.Load().Healthz() }
	stores.Reconcile = func() error { return now.Load().Reconcile() }
	stores.Follow = func(ctx context.Context) {
		select {
		case <-ended:
		case <-ctx.Done():
		}
		if follow := now.Load().Follow; follow != nil {
			follow(ctx)
		}
	}
	stores.Close = func() {
		cancel()
		<-ended
		now.Load().Close()
	}
	return stores
}

// await chooses a backend, and tries again until that succeeds. It returns the registries on the backend, or
// nil when the context ends. Repeated errors are logged once; the last one that was logged is given.
func await(ctx context.Context, logged string, choose func(context.Context) (backend string, err error), open func(backend string) Registries) *Registries {
	for {
		backend, err := choose(ctx)
		if err == nil {
			opened := open(backend)
			return &opened
		}
		if why := inFlags(err).Error(); why != logged && ctx.Err() == nil {
			log.Print(why)
			logged = why
		}
		if !util.Sleep(ctx, syncPause) {
			return nil
		}
	}
}

// unavailable is a store that is unavailable.
type unavailable struct{ storage.ReaderFunc }

func (u unavailable) Cached() storage.Reader { return u.ReaderFunc }

func (unavailable) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	return nil, api.NewUnavailable(changes[0].InWords(), nil)
}

// lateStore implements storage.Interface. It forwards to the store of the present registries.
type lateStore struct {
	storage.ReaderFunc
	now *atomic.Pointer[Registries]
}

func (s lateStore) Cached() storage.Reader {
	return storage.ReaderFunc(func(string) (storage.Reader, error) { return s.now.Load().Objects.Cached(), nil })
}

func (s lateStore) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	return s.now.Load().Objects.Commit(changes...)
}
