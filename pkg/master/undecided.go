package master

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

const (
	// An etcd that has not answered yet is asked again after this time which APIs it serves.
	decisionPause = 250 * time.Millisecond
	// So is one that waits for the user to do something. Each time it may check a password,
	// which is a lot of work.
	refusalPause = 5 * time.Second
)

// undecided is a store on an etcd that did not answer when the program started: which of
// its APIs is used is decided when it does. Until then it is unavailable.
type undecided struct {
	storage.ReaderFunc
	chosen atomic.Pointer[Registries] // nil until then
}

var _ storage.Interface = (*undecided)(nil)

func newUndecided() *undecided {
	u := &undecided{}
	u.ReaderFunc = u.reader(func(store storage.Interface) storage.Reader { return store })
	return u
}

// reader returns a reader of the chosen store.
func (u *undecided) reader(of func(storage.Interface) storage.Reader) storage.ReaderFunc {
	return func(operation string) (storage.Reader, error) {
		if chosen := u.chosen.Load(); chosen != nil {
			return of(chosen.Objects), nil
		}
		return nil, api.NewUnavailable(operation, nil)
	}
}

// undecided puts the registries on an etcd of which nobody knows yet what it
// serves.
func (e onEtcd) undecided() Registries {
	u := newUndecided()
	ctx, cancel := context.WithCancel(context.Background())
	decided := make(chan struct{}) // closed when it is decided, or will not be
	go func() {
		defer close(decided)
		u.decide(ctx, e.choose, e.open)
	}()
	stores := newRegistries(registry.MakeRegistry(u), "etcd at "+strings.Join(e.o.Etcd.Servers, ","))
	stores.Healthz, stores.Reconcile = u.healthz, u.reconcile
	stores.Follow = func(ctx context.Context) {
		select {
		case <-decided:
		case <-ctx.Done():
		}
		if chosen := u.chosen.Load(); chosen != nil && chosen.Follow != nil {
			chosen.Follow(ctx)
		}
	}
	stores.Close = func() {
		cancel()
		<-decided
		if chosen := u.chosen.Load(); chosen != nil {
			chosen.Close()
		} else {
			e.close()
		}
	}
	return stores
}

// decide asks the etcd which APIs it serves until it is clear which to use, or until the
// context ends.
func (u *undecided) decide(ctx context.Context, choose func(context.Context) (backend string, err error), open func(backend string) Registries) {
	logged := ""
	for {
		backend, err := choose(ctx)
		switch {
		case err == nil:
			chosen := open(backend)
			u.chosen.Store(&chosen)
			log.Printf("etcd answers: registry %s", chosen.Name)
			return
		case ctx.Err() != nil:
			return
		}
		if why := inFlags(err).Error(); why != logged {
			log.Print(why)
			logged = why
		}
		pause := decisionPause
		if needsUser(err) {
			pause = refusalPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (u *undecided) healthz() ([]string, error) {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.Healthz()
	}
	return nil, api.NewUnavailable("health check", nil)
}

func (u *undecided) reconcile() error {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.Reconcile()
	}
	return nil // each request tells that etcd does not answer
}

// Cached implements storage.Interface.
func (u *undecided) Cached() storage.Reader { return u.reader(storage.Interface.Cached) }

// Commit implements storage.Interface.
func (u *undecided) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	if chosen := u.chosen.Load(); chosen != nil {
		return chosen.Objects.Commit(changes...)
	}
	return nil, api.NewUnavailable(changes[0].InWords(), nil)
}
