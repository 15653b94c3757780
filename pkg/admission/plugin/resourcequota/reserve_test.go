package resourcequota

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// K49.
func TestAReservationOfAServerThatHasEndedEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(1)
		s, ended := newServer(t, store, few("q", `{"pods":"2"}`)), newServer(t, store, few("q", `{"pods":"2"}`))
		s.Now, ended.Now = time.Now, time.Now
		_, err := ended.reserve(t.Context(), "lost")
		require.NoError(t, err)
		require.NoError(t, s.create(t.Context(), "x"))
		time.Sleep(lifetime - time.Nanosecond)
		assert.EqualError(t, s.create(t.Context(), "y"), `pods "y" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`)
		time.Sleep(time.Nanosecond)
		assert.NoError(t, s.create(t.Context(), "y"))
		assert.Equal(t, []string{"x", "y"}, idsIn(t, store))
		assert.Zero(t, reservations(t, store), "nothing of it is left")
	})
}

func TestAReservationStaysWhileNobodyKnowsWhetherTheObjectIsStored(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		outcome error
		stays   bool
	}{
		"success":                   {nil, false},
		"it exists":                 {rest.StatusError(api.NewAlreadyExists(api.TaskKind, "x"), pods, "x"), false},
		"invalid":                   {apierrors.NewBadRequest("x"), false},
		"refused by another plugin": {apierrors.NewForbidden(pods, "x", errors.New("no")), false},
		"a conflict":                {rest.StatusError(api.NewConflict("x"), pods, "x"), false},
		"no store":                  {rest.StatusError(api.NewUnavailable("create task", nil), pods, "x"), true},
		"out of time":               {apierrors.NewTimeoutError("x", 0), true},
		"a mistake in the server":   {errors.New("x"), true},
		"no status":                 {&apierrors.StatusError{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memory.New(1)
			s := newServer(t, store, few("q", tenPods))
			request, err := s.reserve(t.Context(), "x")
			require.NoError(t, err)
			require.Equal(t, 1, reservations(t, store))
			request.End(row.outcome)
			assert.Equal(t, row.stays, reservations(t, store) == 1)
		})
	}
}

func TestADryRunTakesNoPlace(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", `{"pods":"1"}`))
	try := func(id string) error {
		r := s.begin(t.Context(), admission.Attributes{Operation: admission.Create, DryRun: true})
		defer r.End(nil)
		return r.Validate(objectNamed(id), nil)
	}
	before, err := store.Version()
	require.NoError(t, err)
	assert.NoError(t, try("x"))
	after, err := store.Version()
	require.NoError(t, err)
	assert.Equal(t, before, after)
	require.NoError(t, s.create(t.Context(), "x"))
	assert.EqualError(t, try("y"), `pods "y" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`)
	assert.NoError(t, try("x"), "that it exists is for others to tell")

	s.objects = disturbed{Interface: unreachable{store}}
	assert.True(t, apierrors.IsServiceUnavailable(try("y")))
}

// unreachable is a store that does not answer.
type unreachable struct{ storage.Interface }

func (unreachable) Get(api.Key) (*storage.Object, error) {
	return nil, api.NewUnavailable("get", nil)
}

func TestAnUpdateThatMayCreateTakesAPlace(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", `{"pods":"1"}`))
	require.NoError(t, s.create(t.Context(), "x"))
	update := func(id string, mayCreate bool, old admission.Object) (*admission.Request, error) {
		r := s.begin(t.Context(), admission.Attributes{Operation: admission.Update, MayCreate: mayCreate})
		return r, r.Validate(objectNamed(id), old)
	}
	_, err := update("x", false, objectNamed("x"))
	assert.NoError(t, err)
	assert.Zero(t, reservations(t, store), "it cannot create")
	_, err = update("y", false, nil)
	assert.True(t, apierrors.IsForbidden(err), "it is a create")

	request, err := update("x", true, objectNamed("x"))
	require.NoError(t, err, "there is one already")
	require.NoError(t, s.delete("x"))
	assert.True(t, apierrors.IsForbidden(s.create(t.Context(), "y")), "it may be created anew")
	request.End(nil)
	assert.NoError(t, s.create(t.Context(), "y"))
}

func TestARequestThatGeneratesAnotherNameHasOneReservation(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", `{"pods":"2"}`))
	require.NoError(t, s.create(t.Context(), "taken"))
	r := s.begin(t.Context(), admission.Attributes{Operation: admission.Create})
	for _, id := range []string{"y", "z"} {
		require.NoError(t, r.Validate(objectNamed(id), nil))
		assert.Equal(t, 1, reservations(t, store))
	}
	require.NoError(t, s.delete("taken"))
	require.NoError(t, s.create(t.Context(), "w"))
	r.End(nil)
	assert.Zero(t, reservations(t, store))
}

// Who reserved first has stored the object meanwhile, and its time has passed while the objects were
// listed: it is not in the list, so its reservation still counts.
func TestTheTimeIsTakenBeforeTheListOfTheObjects(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", `{"pods":"1"}`))
	clock := now()
	s.Now = func() time.Time { return clock }
	_, err := s.reserve(t.Context(), "x")
	require.NoError(t, err)
	clock = clock.Add(lifetime - 1)
	s.objects = disturbed{Interface: store, list: func() { clock = clock.Add(time.Hour) }}
	_, err = s.reserve(t.Context(), "y")
	assert.True(t, apierrors.IsForbidden(err))
	_, err = s.reserve(t.Context(), "y")
	assert.NoError(t, err)
}

// It was reserved, stored, and its reservation removed between the two reads of somebody else.
func TestWhatIsCreatedWhileTheObjectsAreListedCounts(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	other, s := newServer(t, store, few("q", `{"pods":"1"}`)), newServer(t, store, few("q", `{"pods":"1"}`))
	once := false
	s.objects = disturbed{Interface: store, list: func() {
		if !once {
			once = true
			require.NoError(t, other.create(t.Context(), "x"))
		}
	}}
	_, err := s.reserve(t.Context(), "y")
	assert.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestTheClockOfAServerMayBeBehind(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	ahead, behind := newServer(t, store, few("q", `{"pods":"1"}`)), newServer(t, store, few("q", `{"pods":"1"}`))
	behind.Now = func() time.Time { return now().Add(-lifetime / 2) }
	_, err := behind.reserve(t.Context(), "x")
	require.NoError(t, err)
	_, err = ahead.reserve(t.Context(), "y")
	assert.True(t, apierrors.IsForbidden(err))
}

func TestWhoWaitsTooLongForItsTurnIsToldToTryAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		store := memory.New(1)
		s := newServer(t, disturbed{Interface: store, get: func() { <-hangs }}, few("q", tenPods))
		done := make(chan error)
		s.patience = maxWait
		go func() { done <- s.create(t.Context(), "slow") }()
		synctest.Wait()
		began := time.Now()
		r, err := s.reserve(t.Context(), "x")
		assert.EqualError(t, err, "too many requests use the quota q at once; please try again later")
		assert.True(t, apierrors.IsTooManyRequests(err))
		seconds, wait := apierrors.SuggestsClientDelay(err)
		assert.True(t, wait)
		assert.Equal(t, 1, seconds)
		assert.Equal(t, maxWait, time.Since(began))
		r.End(err)
		assert.Equal(t, maxWait, time.Since(began), "there is nothing to remove")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.reserve(ctx, "x")
		assert.True(t, apierrors.IsTimeout(err), "%v", err)
		close(hangs)
		require.NoError(t, <-done)
	})
}

// The first door has 10 seconds, and etcd may be away.
func TestWhoHasLittleTimeWaitsLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		s := newServer(t, disturbed{Interface: memory.New(1), get: func() { <-hangs }}, few("q", tenPods))
		done := make(chan error)
		s.patience = maxWait
		go func() { done <- s.create(t.Context(), "slow") }()
		synctest.Wait()
		for has, want := range map[time.Duration]time.Duration{storeTime + time.Second: time.Second, storeTime - time.Second: 0, time.Hour: maxWait} {
			ctx, cancel := context.WithTimeout(t.Context(), has)
			began := time.Now()
			_, err := s.reserve(ctx, "x")
			cancel()
			assert.True(t, apierrors.IsTooManyRequests(err), "%v", err)
			assert.Equal(t, want, time.Since(began))
		}
		close(hangs)
		require.NoError(t, <-done)
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			assert.NoError(t, s.create(ctx, "y"), "nobody waits")
			cancel()
			require.NoError(t, s.delete("y"))
		}
	})
}

func TestWhereTheStoreCannotBeReadNothingIsRemoved(t *testing.T) {
	t.Parallel()
	reads := 0
	store := memory.New(1)
	s := newServer(t, store, few("q", tenPods))
	s.objects = unreadable{store, &reads}
	r, err := s.reserve(t.Context(), "x")
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	r.End(err)
	assert.Equal(t, 1, reads)
}

// unreadable is a store that is away. It counts the reads.
type unreadable struct {
	storage.Interface
	reads *int
}

func (u unreadable) Get(api.Key) (*storage.Object, error) {
	*u.reads++
	return nil, api.NewUnavailable("get quota", nil)
}

func TestAServerThatAlwaysLosesAgainstOthersIsToldToTryAgain(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", tenPods))
	s.objects = disturbed{Interface: store, ticks: new(atomic.Int64), commit: func(storage.Change) error { return api.NewConflict("x") }}
	r, err := s.reserve(t.Context(), "x")
	assert.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	r.End(err)
	assert.Zero(t, reservations(t, store))
}

// The reservation is stored, but its answer is lost: nothing else is stored then.
func TestAPlaceIsFreeIfTheReservationFails(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	lost := false
	s := newServer(t, store, few("q", tenPods))
	s.objects = disturbed{Interface: store, commit: func(change storage.Change) error {
		if lost {
			return nil
		}
		lost = true
		_, err := store.Commit(change)
		require.NoError(t, err)
		return api.NewUnavailable("update quota", nil)
	}}
	r, err := s.reserve(t.Context(), "x")
	assert.True(t, apierrors.IsServiceUnavailable(err), "%v", err)
	assert.Equal(t, 1, reservations(t, store))
	r.End(err)
	assert.Zero(t, reservations(t, store))
}

func TestWhatCannotBeRemovedEndsByItself(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", tenPods))
	r, err := s.reserve(t.Context(), "x")
	require.NoError(t, err)
	s.objects = disturbed{Interface: store, commit: func(storage.Change) error { return api.NewUnavailable("update quota", nil) }}
	r.End(nil)
	assert.Equal(t, 1, reservations(t, store))
}

func TestWhatAnotherProgramHasMadeOfTheReservationsIsNone(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	_, err := store.Commit(storage.Create(&api.Any{Kind: "quotas", ID: "pods", ObjectMeta: api.ObjectMeta{Namespace: "default", Remainder: `"x"`}}))
	require.NoError(t, err)
	assert.NoError(t, newServer(t, store, few("q", tenPods)).create(t.Context(), "x"))
}
