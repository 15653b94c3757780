package etcd2_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/etcd2"
)

// operation is a change of the task "subject", and what a reader may find before
// and after it: nil for no task.
type operation struct {
	run           func(*etcdRegistry) error
	before, after *api.Task
	// doneAlready is the error of a retry after the operation took effect.
	doneAlready api.ErrorKind
}

func operations() map[string]operation {
	old := on("m", labelled(makeTask("subject", 80), map[string]string{"rev": "1"}))
	next := on("m", labelled(makeTask("subject", 82), map[string]string{"rev": "2"}))
	oldPod, nextPod := asPod(old), asPod(next)
	unbound, nextUnbound := on("", oldPod), on("", nextPod)
	create := func(task api.Task) operation {
		return operation{
			run:         func(r *etcdRegistry) error { return r.CreateTask(task.CurrentState.Host, task) },
			after:       &task,
			doneAlready: api.AlreadyExists,
		}
	}
	update := func(before, after api.Task) operation {
		return operation{run: func(r *etcdRegistry) error { return r.UpdateTask(after) }, before: &before, after: &after}
	}
	remove := func(before api.Task) operation {
		return operation{run: func(r *etcdRegistry) error { return r.DeleteTask("subject") }, before: &before, doneAlready: api.NotFound}
	}
	return map[string]operation{
		"create":                create(next),
		"update":                update(old, next),
		"delete":                remove(old),
		"create a pod":          create(nextPod),
		"update a pod":          update(oldPod, nextPod),
		"delete a pod":          remove(oldPod),
		"create an unbound pod": create(nextUnbound),
		"update an unbound pod": update(unbound, nextUnbound),
		"delete an unbound pod": remove(unbound),
		"bind": {
			run:         func(r *etcdRegistry) error { return bind(r, "m") },
			before:      &unbound,
			after:       &oldPod,
			doneAlready: api.Conflict,
		},
		"bind and update": {
			run:         func(r *etcdRegistry) error { return bindAs(r, nextPod) },
			before:      &unbound,
			after:       &nextPod,
			doneAlready: api.Conflict,
		},
	}
}

// bind gives the pod "subject" a machine, unless it has one.
func bind(r *etcdRegistry, machine string) error {
	return bindTo(r, machine, func(stored api.Task) api.Task { return stored })
}

// bindAs makes another version of the pod "subject", which has a machine, unless it has
// one already.
func bindAs(r *etcdRegistry, pod api.Task) error {
	return bindTo(r, pod.CurrentState.Host, func(api.Task) api.Task { return pod })
}

func bindTo(r *etcdRegistry, machine string, change func(api.Task) api.Task) error {
	_, err := storage.GuaranteedUpdate(r.store, api.DefaultKey(api.TaskKind, "subject"), func(stored *storage.Object) (api.Object, error) {
		if stored == nil {
			return nil, api.NewNotFound(api.TaskKind, "subject")
		}
		before := stored.Object.(*api.Task)
		if before.CurrentState.Host != "" || !before.IsPod {
			return nil, api.NewConflict("it has a machine")
		}
		next := on(machine, change(before.DeepCopy()))
		return &next, nil
	})
	return err
}

// stage returns an etcd that is ready for an operation, with a service and
// another task in it.
func stage(t *testing.T, op operation) *etcdtest.Faults {
	faults := etcdtest.NewFaults(etcdtest.NewFake())
	registry := unhurried(faults)
	require.NoError(t, registry.CreateService(makeService("s", 1)))
	require.NoError(t, registry.CreateTask("m", makeTask("beside", 90)))
	if op.before != nil {
		require.NoError(t, registry.CreateTask(op.before.CurrentState.Host, *op.before))
	}
	return faults
}

// subject returns the task that a reader finds, and checks that all ways to read
// it agree.
func subject(t *testing.T, registry *etcdRegistry) *api.Task {
	t.Helper()
	found, err := registry.GetTask("subject")
	if err != nil {
		requireKind(t, api.NotFound, err)
	}
	found = bare(found)
	tasks, err := registry.ListTasks(nil)
	require.NoError(t, err)
	want := []api.Task{on("m", makeTask("beside", 90))}
	if found != nil {
		want = append(want, *found)
	}
	require.Equal(t, want, bareTasks(tasks), "no other task is touched, and a list says what GET says")
	return found
}

// requireNoSharedPorts checks that no other task can take the ports of an
// existing task, whatever the state of its list.
func requireNoSharedPorts(t *testing.T, registry *etcdRegistry, task *api.Task) {
	t.Helper()
	if task != nil && task.CurrentState.Host != "" {
		thief := *task
		thief.ID = "thief"
		requireKind(t, api.HostPortTaken, registry.CreateTask("m", thief))
	}
}

// If any call to etcd of a create, update or delete fails, before or after it
// took effect, or the process stops there, nothing stays half done.
func TestAnyCallToEtcdMayFail(t *testing.T) {
	t.Parallel()
	fates := []etcdtest.Fate{etcdtest.LostBefore, etcdtest.LostAfter, etcdtest.StopsBefore, etcdtest.StopsAfter}
	for name, op := range operations() {
		for _, fate := range fates {
			covered := 0
			for k := 1; ; k++ {
				faults := stage(t, op)
				faults.FailAt(k, fate)
				err := op.run(unhurried(faults))
				calls := faults.Calls()
				if len(calls) < k {
					assert.NoError(t, err)
					break
				}
				covered++
				t.Run(fmt.Sprintf("%s, call %d (%s): %s", name, k, calls[k-1], fate), func(t *testing.T) {
					faults.Heal()
					checkAfterFault(t, op, err, faults)
				})
			}
			assert.GreaterOrEqual(t, covered, 2, "%s: the calls are covered", name)
		}
	}
}

func checkAfterFault(t *testing.T, op operation, err error, client etcdtest.Client) {
	registry, time := patientless(client) // as after a restart
	found := subject(t, registry)
	if err == nil {
		require.Equal(t, op.after, found, "an acknowledged change is there")
	} else {
		requireKind(t, api.Unavailable, err)
		require.Contains(t, []*api.Task{op.before, op.after}, found, "what was not acknowledged is there or not, whole")
	}
	requireNoSharedPorts(t, registry, found)

	// A retry at once succeeds, or is told that it was done, or that it is not
	// yet possible.
	switch again := op.run(registry); api.KindOf(again) {
	case api.Unavailable:
		require.Equal(t, found, subject(t, registry))
	default:
		if again != nil {
			requireKind(t, op.doneAlready, again)
			require.Equal(t, op.after, found)
		}
		found = op.after
		require.Equal(t, found, subject(t, registry))
	}

	reconcile(t, registry, time)
	requireConsistent(t, client)
	require.Equal(t, found, subject(t, registry), "reconciling changes no task")
	requireNoSharedPorts(t, registry, found)
	requireConsistent(t, client)

	// A retry after that is possible.
	if again := op.run(registry); again != nil {
		requireKind(t, op.doneAlready, again)
		require.Equal(t, op.after, found)
	}
	require.Equal(t, op.after, subject(t, registry))
	requireConsistent(t, client)
	require.NoError(t, registry.Reconcile())
}

// calls counts an operation's calls to etcd.
func calls(t *testing.T, op operation) int {
	faults := stage(t, op)
	faults.FailAt(math.MaxInt, etcdtest.LostBefore)
	require.NoError(t, op.run(unhurried(faults)))
	return len(faults.Calls())
}

// Reconcile may fail at any call too, and is called again.
func TestAnyCallOfReconcileMayFail(t *testing.T) {
	t.Parallel()
	for name, op := range operations() {
		for step := 2; step <= calls(t, op); step++ { // how far the operation got
			for k := 1; ; k++ {
				faults := stage(t, op)
				faults.FailAt(step, etcdtest.StopsBefore)
				requireKind(t, api.Unavailable, op.run(unhurried(faults)))
				faults.Heal()
				registry, time := patientless(faults)
				require.NoError(t, registry.Reconcile())
				time.time = time.time.Add(etcd2.Grace)
				faults.FailAt(k, etcdtest.LostAfter)
				err := registry.Reconcile()
				if len(faults.Calls()) < k {
					require.NoError(t, err)
					break
				}
				require.Error(t, err, "%s stopped at %d, reconcile failed at %d", name, step, k)
				faults.Heal()
				reconcile(t, registry, time)
				requireConsistent(t, faults)
			}
		}
	}
}

// The same for services and controllers: one write each, but for the endpoints.
func TestAnyCallForAServiceOrControllerMayFail(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*etcdRegistry) error{
		"create service":    func(r *etcdRegistry) error { return r.CreateService(makeService("new", 1)) },
		"update service":    func(r *etcdRegistry) error { return r.UpdateService(makeService("s", 2)) },
		"delete service":    func(r *etcdRegistry) error { return r.DeleteService("s") },
		"create controller": func(r *etcdRegistry) error { return r.CreateController(makeController("new", 1)) },
		"update controller": func(r *etcdRegistry) error { return r.UpdateController(makeController("c", 2)) },
		"delete controller": func(r *etcdRegistry) error { return r.DeleteController("c") },
	} {
		for _, fate := range []etcdtest.Fate{etcdtest.LostBefore, etcdtest.LostAfter, etcdtest.StopsBefore, etcdtest.StopsAfter} {
			for k := 1; ; k++ {
				faults := etcdtest.NewFaults(etcdtest.NewFake())
				registry, time := patientless(faults)
				require.NoError(t, registry.CreateService(makeService("s", 1)))
				require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "s"}))
				require.NoError(t, registry.CreateController(makeController("c", 1)))
				faults.FailAt(k, fate)
				err := run(registry)
				if len(faults.Calls()) < k {
					require.NoError(t, err)
					break
				}
				requireKind(t, api.Unavailable, err)
				faults.Heal()
				reconcile(t, registry, time)
				requireConsistent(t, faults)
				if err := run(registry); err != nil {
					assert.Contains(t, []api.ErrorKind{api.AlreadyExists, api.NotFound}, api.KindOf(err), name)
				}
				reconcile(t, registry, time)
				requireConsistent(t, faults)
			}
		}
	}
}

func TestAHalfDeletedServiceIsRepaired(t *testing.T) {
	t.Parallel()
	faults := etcdtest.NewFaults(etcdtest.NewFake())
	registry, time := patientless(faults)
	require.NoError(t, registry.CreateService(makeService("s", 1)))
	require.NoError(t, registry.UpdateEndpoints(api.Endpoints{Name: "s"}))
	faults.FailAt(2, etcdtest.LostBefore)
	requireKind(t, api.Unavailable, registry.DeleteService("s"))
	faults.Heal()
	requireKind(t, api.NotFound, registry.DeleteService("s"))
	reconcile(t, registry, time)
	assert.Empty(t, keysOf(t, faults, servicesKey))
}
