package etcd2

import (
	"cmp"
	"time"

	"github.com/coreos/go-etcd/etcd"

	"kube2014/pkg/api"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2/mirror"
)

// checkUnclaimed returns an error if another program has written a task with this
// id, on any machine, without an index key.
func (s *Store) checkUnclaimed(taskID string) error {
	for _, one := range s.mirror.Copies(api.DefaultKey(api.TaskKind, taskID)) {
		if err := s.checkAbsent(one.Place); err != nil {
			return err
		}
	}
	return nil
}

// checkAbsent returns an api.AlreadyExists error if the place holds a task.
func (s *Store) checkAbsent(p mirror.Place) error {
	node, _, err := s.mirror.Read(p.Key(), false)
	if err == nil && node != nil {
		return api.NewAlreadyExists(api.TaskKind, p.ID)
	}
	return mirror.Failed("create task", err)
}

// claim writes a task's index key. It returns the key's version, and the budget of
// the request's further steps, which other requests rely on. If the key and its task
// exist, the id is taken. If only the key exists, another request is creating or
// deleting the task, and claim waits for the outcome. It takes over an orphaned
// claim, unless the write of its task may be in flight.
func (s *Store) claim(task *api.Task, budget budget) (uint64, budget, error) {
	began := budget.began
	timeIsUp := func() bool { return s.clock.now().Sub(began) >= maxClaimTime }
	own, value := &mirror.Change{Key: mirror.IndexKeyOf(task.ID)}, mirror.PlaceFor(task).IndexValue(task.CurrentState.Host)
	var theirs *etcd.Node
	var since time.Time
	for wait := 2 * time.Millisecond; !timeIsUp(); wait = min(2*wait, 200*time.Millisecond) {
		budget.began = s.clock.now()
		err := s.mirror.Put(own, value, storage.Absent)
		if err == nil || !mirror.HasCode(err, mirror.AlreadyExists) {
			return own.Version, budget, mirror.Failed("create task", err)
		}
		if timeIsUp() {
			break
		}
		node, _, err := s.mirror.Read(own.Key, false)
		if err != nil {
			return 0, budget, mirror.Failed("create task", err)
		}
		if node == nil || timeIsUp() {
			continue
		}
		if p, _, ok := mirror.Indexed(task.ID, node.Value); ok {
			if err := s.checkAbsent(p); err != nil {
				return 0, budget, err
			}
		}
		if theirs == nil || theirs.ModifiedIndex != node.ModifiedIndex {
			theirs, since = node, s.clock.now()
		}
		if s.clock.now().Sub(since) < claimPatience {
			s.clock.sleep(wait)
			continue
		}
		if inFlight, err := s.mayBeInFlight(node.Value, task.ID); err != nil || inFlight || timeIsUp() {
			return 0, budget, cmp.Or(err, claimedByOther(task.ID))
		}
		budget.began = s.clock.now()
		err = s.mirror.Put(own, value, node.ModifiedIndex)
		if err == nil || !mirror.HasCode(err, mirror.CompareFailed, mirror.NotFound) {
			return own.Version, budget, mirror.Failed("create task", err)
		}
	}
	return 0, budget, claimedByOther(task.ID)
}

func claimedByOther(taskID string) error {
	return &api.Error{Kind: api.Unavailable, Message: "task " + api.Quote(taskID) +
		" is being created or deleted by another request that has not finished; try again in 20 seconds"}
}

// mayBeInFlight reports whether a call in flight may still create the task of an orphaned
// claim: there is such a call only if the manifest is in the list, or if the task is a
// pod without a machine. The claim is then left to Reconcile, which waits until etcd has
// abandoned the call.
func (s *Store) mayBeInFlight(claim, taskID string) (bool, error) {
	_, machine, ok := mirror.Indexed(taskID, claim)
	if !ok || machine == "" {
		return ok, nil
	}
	m, err := s.mirror.ReadMachine(machine)
	return err == nil && (m.Broken != nil || m.Manifest(taskID) != nil), err
}

// releaseClaim deletes an index key. If that fails, Reconcile does it later.
func (s *Store) releaseClaim(taskID string, version uint64) {
	_ = s.deleteUnchanged("create task", mirror.IndexKeyOf(taskID), version)
}
