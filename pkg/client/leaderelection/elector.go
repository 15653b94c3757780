// Package leaderelection lets one of several processes act: the one that holds a lease.
package leaderelection

import (
	"context"
	"log"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/util"
	"kube2014/pkg/util/workqueue"
)

// releaseTimeout bounds how long a process that ends tries to release its lease.
const releaseTimeout = time.Second

// Config is what an Elector needs. The times are as in today's programs.
type Config struct {
	Client          *clientv1.Client
	Recorder        record.EventRecorder
	Namespace, Name string        // of the lease
	Identity        string        // of this process, which no other one has
	LeaseDuration   time.Duration // how long others wait after they have last seen the lease change
	RenewDeadline   time.Duration // how long the holder acts after it has last renewed the lease; less than LeaseDuration
	RetryPeriod     time.Duration // the pause between two requests; less than RenewDeadline
}

// Elector acquires a lease, renews it, and does work only while it holds it. Clocks of processes need not agree: each
// measures by its own how long a lease has not changed. It is safe for concurrent use.
type Elector struct {
	config   Config
	lease    *coordinationv1.Lease // as it was last seen; nil for none
	changed  time.Time             // when it was seen to change
	failure  string                // that was last logged
	overdue  *time.Timer           // ends the term
	resigned sync.WaitGroup        // the work of all terms

	mu    sync.Mutex // guards what follows
	term  *term      // nil while the lease is not held
	begun chan struct{}
}

// term is the time from acquiring a lease until it is released or lost.
type term struct {
	context.Context
	end context.CancelFunc
}

// New returns an elector that does not hold the lease. Run acquires it.
func New(config Config) *Elector { return &Elector{config: config, begun: make(chan struct{})} }

// Run acquires and renews the lease until the context ends. Then it waits for the end of the work, and releases the lease, so
// that the next process need not wait. It is called once.
func (e *Elector) Run(ctx context.Context) {
	for ctx.Err() == nil {
		e.look(ctx)
		util.Sleep(ctx, e.config.RetryPeriod)
	}
	held := e.resign()
	e.resigned.Wait()
	if !held {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := e.write(ctx, "", 1); err != nil {
		log.Printf("%s: the lease is not released: %v", e.config.Name, err)
	}
}

// Inside puts work inside the terms of this process: it waits for one. Work that is interrupted by the end of a term is done
// again in the next one.
func (e *Elector) Inside(work workqueue.Sync) workqueue.Sync {
	return func(ctx context.Context, key string) error {
		for {
			term := e.enter(ctx)
			if term == nil {
				return ctx.Err()
			}
			err := e.during(ctx, term, key, work)
			if term.Err() == nil || ctx.Err() != nil {
				return err
			}
		}
	}
}

// enter waits for a term, and returns it. The term is nil if the context ends first; else the caller must tell resigned when
// its work is done.
func (e *Elector) enter(ctx context.Context) *term {
	for {
		e.mu.Lock()
		term, begun := e.term, e.begun
		if term != nil {
			e.resigned.Add(1)
		}
		e.mu.Unlock()
		if term != nil {
			return term
		}
		select {
		case <-begun:
		case <-ctx.Done():
			return nil
		}
	}
}

func (e *Elector) during(ctx context.Context, term *term, key string, work workqueue.Sync) error {
	defer e.resigned.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(term, cancel)()
	return work(ctx, key)
}

// look acquires or renews the lease, if that is possible.
func (e *Elector) look(ctx context.Context) {
	defer util.HandleCrash()
	requested := time.Now()
	within, cancel := context.WithTimeout(ctx, e.config.RenewDeadline)
	defer cancel()
	held, err := e.try(within)
	switch {
	case held:
		e.lead(requested)
	case err == nil:
		e.resign() // another one holds it
	}
	failure := ""
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
		failure = err.Error()
	}
	if failure != "" && failure != e.failure {
		log.Printf("%s: the lease: %s", e.config.Name, failure)
	}
	e.failure = failure
}

// try reports whether this process holds the lease now.
func (e *Elector) try(ctx context.Context) (held bool, err error) {
	lease, err := e.leases().Get(ctx, e.config.Name)
	switch {
	case apierrors.IsNotFound(err):
		lease = nil
	case err != nil:
		return false, err
	}
	if lease == nil || e.lease == nil || lease.ResourceVersion != e.lease.ResourceVersion || lease.UID != e.lease.UID {
		e.changed = time.Now()
	}
	e.lease = lease
	if lease != nil && !e.mayHold(lease) {
		return false, nil
	}
	err = e.write(ctx, e.config.Identity, int32(e.config.LeaseDuration.Seconds()))
	return err == nil, err
}

func (e *Elector) mayHold(lease *coordinationv1.Lease) bool {
	holder := holderOf(lease)
	return holder == "" || holder == e.config.Identity || time.Since(e.changed) >= e.config.LeaseDuration
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// write sets the holder of the lease as it was last seen, or creates it.
func (e *Elector) write(ctx context.Context, holder string, seconds int32) (err error) {
	now, next := metav1.NowMicro(), e.lease.DeepCopy()
	if next == nil {
		next = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: e.config.Name}}
	}
	spec := &next.Spec
	if holderOf(next) != holder {
		if spec.LeaseTransitions == nil {
			spec.LeaseTransitions = new(int32)
		} else if holder != "" {
			*spec.LeaseTransitions++
		}
		spec.AcquireTime = &now
	}
	spec.HolderIdentity, spec.LeaseDurationSeconds, spec.RenewTime = &holder, &seconds, &now
	if e.lease == nil {
		next, err = e.leases().Create(ctx, next)
	} else {
		next, err = e.leases().Update(ctx, next)
	}
	if err == nil {
		e.lease, e.changed = next, time.Now()
	}
	return err
}

func (e *Elector) leases() clientv1.Resource[*coordinationv1.Lease] {
	return e.config.Client.In(e.config.Namespace).Leases()
}

// lead begins a term, or prolongs the present one. It lasts as long as a renewal, from when that was requested.
func (e *Elector) lead(requested time.Time) {
	left := time.Until(requested.Add(e.config.RenewDeadline))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil && e.overdue.Stop() {
		e.overdue.Reset(left)
		return
	}
	e.endLocked()
	ctx, end := context.WithCancel(context.Background())
	e.term = &term{ctx, end}
	e.overdue = time.AfterFunc(left, func() { e.resign() })
	close(e.begun)
	log.Printf("%s: %s holds the lease", e.config.Name, e.config.Identity)
	e.config.Recorder.Eventf(e.lease, corev1.EventTypeNormal, "LeaderElection", "%s became leader", e.config.Identity)
}

// resign ends the term. It reports whether there was one.
func (e *Elector) resign() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.endLocked()
}

func (e *Elector) endLocked() bool {
	if e.term == nil {
		return false
	}
	e.overdue.Stop()
	e.term.end()
	e.term, e.begun = nil, make(chan struct{})
	log.Printf("%s: %s does not hold the lease any more", e.config.Name, e.config.Identity)
	return true
}
