package leaderelection_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/leaderelection"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/master/servertest"
)

// electionBench is a server, electors of it, and what their work says.
type electionBench struct {
	*servertest.Server
	t      *testing.T
	client *clientv1.Client

	mu   sync.Mutex // guards what follows
	said []string
}

func withElectionBench(t *testing.T, test func(t *testing.T, b *electionBench)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		test(t, &electionBench{Server: server, t: t, client: server.Client(t, "test")})
	})
}

func (b *electionBench) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, fmt.Sprintf(format, args...))
}

func (b *electionBench) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// Eventf implements record.EventRecorder.
func (b *electionBench) Eventf(about clientv1.Object, _, reason, message string, args ...any) {
	b.say("%s %s: %s", about.GetName(), reason, fmt.Sprintf(message, args...))
}

// run runs an elector, and returns it with what ends it, and waits for that.
func (b *electionBench) run(identity string) (e *leaderelection.Elector, stop func()) {
	e = leaderelection.New(leaderelection.Config{Client: b.Server.Client(b.t, identity), Recorder: b, Namespace: "kube-system", Name: "manager", Identity: identity,
		LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second})
	return e, servertest.Run(b.t, e.Run)
}

// works works inside the terms of an elector until its context ends. It says when that begins and when it ends.
func (b *electionBench) works(identity string) (stop func()) {
	e, end := b.run(identity)
	work := e.Inside(func(ctx context.Context, key string) error {
		b.say("%s begins %s", identity, key)
		<-ctx.Done()
		b.say("%s ends", identity)
		return ctx.Err()
	})
	servertest.Run(b.t, func(ctx context.Context) { _ = work(ctx, "work") })
	return end
}

func (b *electionBench) lease() *coordinationv1.Lease {
	lease, err := b.client.In("kube-system").Leases().Get(b.t.Context(), "manager")
	require.NoError(b.t, err)
	return lease
}

// settle lets time pass.
func settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

// cut lets the requests of a client fail, and no others.
func (b *electionBench) cut(identity string) {
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.UserAgent() == identity {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, req)
	})
}

func TestOnlyTheHolderOfTheLeaseWorks(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		b.works("one")
		settle(time.Second)
		b.works("two")
		settle(10 * time.Minute)
		assert.Equal(t, []string{"manager LeaderElection: one became leader", "one begins work"}, b.take())
		lease := b.lease()
		assert.Equal(t, "one", *lease.Spec.HolderIdentity)
		assert.Equal(t, int32(15), *lease.Spec.LeaseDurationSeconds)
		assert.Equal(t, int32(0), *lease.Spec.LeaseTransitions)
		assert.WithinDuration(t, time.Now(), lease.Spec.RenewTime.Time, 2*time.Second+time.Millisecond, "of the clock of the bubble")
		assert.WithinDuration(t, time.Now().Add(-10*time.Minute), lease.Spec.AcquireTime.Time, 2*time.Second)
	})
}

// K78.
func TestAProcessThatEndsReleasesTheLeaseAfterItsWork(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		stop := b.works("one")
		settle(time.Second)
		b.works("two")
		settle(time.Second)
		b.take()
		stop()
		settle(2 * time.Second)
		assert.Equal(t, []string{"one ends", "manager LeaderElection: two became leader", "two begins work"}, b.take())
		assert.Equal(t, int32(1), *b.lease().Spec.LeaseTransitions)
	})
}

func TestWorkOfALostTermEndsBeforeAnotherProcessBegins(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		b.works("one")
		settle(time.Second)
		b.works("two")
		settle(time.Minute)
		b.take()
		b.cut("one")
		settle(10 * time.Second)
		assert.Equal(t, []string{"one ends"}, b.take(), "it ends before others take the lease")
		settle(2 * time.Second)
		assert.Empty(t, b.take())
		settle(6 * time.Second)
		assert.Equal(t, []string{"manager LeaderElection: two became leader", "two begins work"}, b.take())
		b.Intercept(nil)
		settle(10 * time.Minute)
		assert.Empty(t, b.take(), "the first one waits")
	})
}

func TestInterruptedWorkIsDoneAgainInTheNextTerm(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		b.works("one")
		settle(time.Second)
		b.take()
		b.Stop()
		settle(time.Minute)
		assert.Equal(t, []string{"one ends"}, b.take())
		b.Restart()
		settle(20 * time.Second)
		assert.Equal(t, []string{"manager LeaderElection: one became leader", "one begins work"}, b.take())
	})
}

func TestWorkThatHasFailedIsNotDoneAgainHere(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		e, _ := b.run("one")
		failure := fmt.Errorf("no")
		calls := 0
		work := e.Inside(func(context.Context, string) error {
			calls++
			return failure
		})
		assert.Equal(t, failure, work(t.Context(), "key"))
		assert.Equal(t, 1, calls)
	})
}

func TestLostAnswersEndNoTerm(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		var mu sync.Mutex
		count := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			mu.Lock()
			count++
			lost := count%3 == 0
			mu.Unlock()
			next.ServeHTTP(w, req)
			if lost && req.UserAgent() == "one" {
				panic(http.ErrAbortHandler)
			}
		})
		b.works("one")
		settle(time.Second)
		b.works("two")
		settle(10 * time.Minute)
		assert.Equal(t, []string{"manager LeaderElection: one became leader", "one begins work"}, b.take())
	})
}

// Whoever writes to the lease at the same time: the holder stays.
func TestAConflictEndsNoTerm(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		b.works("one")
		settle(time.Second)
		b.take()
		var mu sync.Mutex
		count := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			mu.Lock()
			isSecond := req.Method == http.MethodPut && req.UserAgent() == "one"
			if isSecond {
				count++
			}
			isSecond = isSecond && count%2 == 1
			mu.Unlock()
			if isSecond {
				_, err := b.client.In("kube-system").Leases().Change(b.t.Context(), "manager", func(lease *coordinationv1.Lease) error {
					lease.Annotations = map[string]string{"at": time.Now().String()}
					return nil
				})
				assert.NoError(b.t, err)
			}
			next.ServeHTTP(w, req)
		})
		settle(time.Minute)
		b.Intercept(nil)
		assert.Empty(t, b.take())
	})
}

func TestADeletedLeaseIsMadeAgainByItsHolder(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		b.works("one")
		settle(time.Minute)
		b.take()
		require.NoError(t, b.client.In("kube-system").Leases().Delete(t.Context(), "manager", metav1.DeleteOptions{}))
		settle(time.Minute)
		assert.Empty(t, b.take())
		assert.Equal(t, "one", *b.lease().Spec.HolderIdentity)
	})
}

// Whatever fails: of many processes, one works at a time, and in the end there is one.
func TestWhateverIsCutNeverTwoWork(t *testing.T) {
	withElectionBench(t, func(t *testing.T, b *electionBench) {
		names := []string{"one", "two", "three"}
		var mu sync.Mutex
		working, most := 0, 0
		for i, name := range names {
			e, _ := b.run(name)
			work := e.Inside(func(ctx context.Context, _ string) error {
				mu.Lock()
				working++
				most = max(most, working)
				mu.Unlock()
				<-ctx.Done()
				mu.Lock()
				working--
				mu.Unlock()
				return ctx.Err()
			})
			servertest.Run(t, func(ctx context.Context) { _ = work(ctx, "work") })
			settle(time.Duration(i) * 700 * time.Millisecond)
		}
		for range 8 {
			for _, name := range names {
				b.cut(name)
				settle(11 * time.Second)
			}
			b.Intercept(nil)
			settle(time.Minute)
			mu.Lock()
			assert.Equal(t, 1, working)
			mu.Unlock()
		}
		assert.Equal(t, 1, most)
		assert.True(t, slices.Contains(names, *b.lease().Spec.HolderIdentity))
	})
}
