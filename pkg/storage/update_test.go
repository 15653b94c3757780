package storage

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// lostRace is a store in which others always win, and each call takes a while.
type lostRace struct {
	Interface
	takes   time.Duration
	commit  error
	get     error
	commits int
}

func (s *lostRace) Get(key api.Key) (*Object, error) {
	time.Sleep(s.takes)
	if s.get != nil {
		return nil, s.get
	}
	return NewObject(&api.Service{JSONBase: api.JSONBase{ID: key.ID}}, 5, 1), nil
}

func (s *lostRace) Commit(...Change) ([]*Object, error) {
	s.commits++
	time.Sleep(s.takes)
	return nil, s.commit
}

func same(stored *Object) (api.Object, error) {
	return &api.Service{JSONBase: api.JSONBase{ID: "x"}}, nil
}

func TestAnUpdateGivesUpAfterItsTime(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{
		"others change the object": api.NewConflict("it has changed"),
		"others create the object": api.NewAlreadyExists(api.ServiceKind, "x"),
		"others delete the object": api.NewNotFound(api.ServiceKind, "x"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &lostRace{takes: 100 * time.Millisecond, commit: lost}
				began := time.Now()
				written, err := GuaranteedUpdate(store, api.DefaultKey(api.ServiceKind, "x"), same)
				assert.Nil(t, written)
				assert.Equal(t, api.NewConflict(`service "x" is changed by too many others at once`), err)
				assert.Greater(t, time.Since(began), updateTime)
				assert.LessOrEqual(t, time.Since(began), updateTime+2*store.takes, "no attempt begins later")
				assert.Equal(t, int(updateTime/(2*store.takes))+1, store.commits)
			})
		})
	}
}

func TestAnUpdateIsTriedAtLeastOnceHoweverSlowTheStoreIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &lostRace{takes: 10 * updateTime, commit: api.NewConflict("it has changed")}
		_, err := GuaranteedUpdate(store, api.DefaultKey(api.ServiceKind, "x"), same)
		assert.Equal(t, api.Conflict, api.KindOf(err))
		assert.Equal(t, 1, store.commits)
	})
}

// firstLoses is a store in which others win once. It tells when the requests of its changes began.
type firstLoses struct {
	lostRace
	began []time.Time
}

func (s *firstLoses) Commit(changes ...Change) ([]*Object, error) {
	s.began = append(s.began, changes[0].Began)
	if len(s.began) == 1 {
		return s.lostRace.Commit()
	}
	return []*Object{NewObject(changes[0].Object, 6, 1)}, nil
}

// A webhook may take longer to decide about an update than a store has to store it.
func TestTheTimeThatAChangeTakesIsNotTheStores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &firstLoses{lostRace: lostRace{takes: time.Second, commit: api.NewConflict("it has changed")}}
		began := time.Now()
		_, err := GuaranteedUpdate(store, api.DefaultKey(api.ServiceKind, "x"), func(stored *Object) (api.Object, error) {
			time.Sleep(10 * updateTime)
			return same(stored)
		})
		require.NoError(t, err)
		assert.Equal(t, []time.Time{began.Add(10 * updateTime), began.Add(20 * updateTime)}, store.began)
	})
}

func TestAnUpdateFailsAtOnceWithAnyOtherError(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{
		api.NewUnavailable("read", errors.New("no")), api.NewHostPortTaken("x", 80, "m1", "y"), errors.New("unknown"),
	} {
		writing, reading := &lostRace{commit: failure}, &lostRace{get: failure}
		_, err := GuaranteedUpdate(writing, api.DefaultKey(api.ServiceKind, "x"), same)
		assert.Equal(t, failure, err)
		assert.Equal(t, 1, writing.commits)
		_, err = GuaranteedUpdate(reading, api.DefaultKey(api.ServiceKind, "x"), func(*Object) (api.Object, error) {
			require.Fail(t, "the object is not known")
			return nil, nil
		})
		assert.Equal(t, failure, err)
		assert.Zero(t, reading.commits)
	}
}

// keeping is a store that keeps what it was given, and fails until another object has version 3.
type keeping struct {
	Interface
	given []*api.Service
}

func (s *keeping) Commit(changes ...Change) ([]*Object, error) {
	s.given = append(s.given, changes[0].Object.(*api.Service))
	if changes[1].Expected != 3 {
		return nil, api.NewConflict("it has changed")
	}
	return []*Object{NewObject(changes[0].Object, 4, 4), nil}, nil
}

func TestAChangeIsCommittedAgainWhenWhatItRequiresHasChanged(t *testing.T) {
	t.Parallel()
	store, version := &keeping{}, uint64(0)
	create := Change{Object: &api.Service{JSONBase: api.JSONBase{ID: "x"}}}
	written, err := CommitChecked(store, []Change{create}, func(fresh bool) ([]Change, error) {
		version++
		assert.Equal(t, version > 1, fresh)
		return []Change{{Expected: version, Action: Check}}, nil
	})
	require.NoError(t, err)
	assert.Len(t, written, 1, "only what was changed")
	require.Len(t, store.given, 3)
	assert.NotSame(t, store.given[0], store.given[1], "the store may have changed and kept the first one")

	_, err = CommitChecked(&keeping{}, []Change{create}, func(bool) ([]Change, error) { return []Change{{Expected: 1, Action: Check}}, nil })
	assert.Equal(t, api.NewConflict("it has changed"), err, "another change is the cause")
	refused := api.NewConflict("it is being deleted")
	_, err = CommitChecked(&keeping{}, []Change{create}, func(fresh bool) ([]Change, error) {
		if fresh {
			return nil, refused
		}
		return []Change{{Expected: 1, Action: Check}}, nil
	})
	assert.Equal(t, refused, err)
}

// timed is a store of one object whose clock a test moves.
type timed struct {
	Interface
	now     time.Time
	stored  *Object
	err     error // of Get
	commits []Change
	answer  error // of Commit
}

func (s *timed) Now() time.Time { return s.now }

func (s *timed) Get(api.Key) (*Object, error) { return s.stored, s.err }

func (s *timed) Commit(changes ...Change) ([]*Object, error) {
	s.commits = append(s.commits, changes...)
	s.now = s.now.Add(time.Second)
	return []*Object{s.stored}, s.answer
}

func TestAnUpdateThatOthersOvertakeGivesUpByTheStoresClock(t *testing.T) {
	t.Parallel()
	began := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	store := &timed{now: began, stored: NewObject(makeTask("x", nil), 7, 7), answer: api.NewConflict("it has changed")}
	_, err := GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "x"), func(stored *Object) (api.Object, error) { return stored.Object, nil })
	assert.EqualError(t, err, `task "x" is changed by too many others at once`)
	require.Len(t, store.commits, 3)
	for _, commit := range store.commits {
		assert.Equal(t, began, commit.Began, "all attempts are one request")
		assert.EqualValues(t, 7, commit.Expected)
	}
}

func TestWhatCannotBeDecodedCanBeReplaced(t *testing.T) {
	t.Parallel()
	undecodable := &api.Error{Kind: api.Internal, Message: "broken", Err: &Undecodable{Version: 7, Err: errors.New("no JSON")}}
	store := &timed{stored: nil, err: undecodable}
	change := func(stored *Object) (api.Object, error) {
		assert.Nil(t, stored)
		return makeTask("x", nil), nil
	}
	_, err := GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "x"), change)
	require.NoError(t, err)
	require.Len(t, store.commits, 1)
	assert.EqualValues(t, 7, store.commits[0].Expected)

	refuse := func(*Object) (api.Object, error) { return nil, api.NewNotFound(api.TaskKind, "x") }
	_, err = GuaranteedUpdate(store, api.DefaultKey(api.TaskKind, "x"), refuse)
	assert.Equal(t, undecodable, err, "it is there, so it is not missing")
	assert.Equal(t, "broken: no JSON", api.InFull(err))
}
