package etcd2_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/storage/etcd2"
)

// act is a request for the subject, and its answer.
type act struct {
	verb    string
	version string        // of a create or update; of a read: what it found
	kind    api.ErrorKind // "" for success
}

// subjectModel is the model of one object. A request that ended with Unavailable
// may or may not have taken effect.
var subjectModel = porcupine.NondeterministicModel{
	Init: func() []interface{} { return []interface{}{"", "old"} }, // whether it is there at first is the operation's
	Step: func(state, input, _ interface{}) []interface{} {
		version, a := state.(string), input.(act)
		there := version != ""
		after, possible := version, !there // of success
		switch a.verb {
		case "create":
			after = a.version
		case "update":
			after, possible = a.version, there
		case "delete":
			after, possible = "", there
		case "read":
			possible = a.version == version
		}
		refusal := api.AlreadyExists
		if a.verb != "create" {
			refusal = api.NotFound
		}
		switch {
		case a.kind == "" && possible:
			return []interface{}{after}
		case a.kind == refusal && !possible, a.kind == api.HostPortTaken, a.kind == api.Conflict:
			return []interface{}{version}
		case a.kind == api.Unavailable && possible:
			return []interface{}{version, after}
		case a.kind == api.Unavailable:
			return []interface{}{version}
		}
		return nil
	},
}

// history records what two actors did, one in the middle of the other.
type history struct {
	t    *testing.T
	time int64
	acts []porcupine.Operation
}

func (h *history) now() int64 { h.time++; return h.time }

func (h *history) note(client int, call int64, a act) {
	returned := h.now()
	if a.kind == api.Unavailable {
		returned = math.MaxInt64 // it may take effect later
	}
	h.acts = append(h.acts, porcupine.Operation{ClientId: client, Input: a, Call: call, Return: returned})
}

// versioned is the subject with a host port and a version.
func versioned(version string, port int) api.Task {
	return labelled(makeTask("subject", port), map[string]string{"version": version})
}

// versionedPod is the subject as a pod, on a machine or, if that is "", on none.
func versionedPod(machine, version string, port int) api.Task {
	return on(machine, asPod(versioned(version, port)))
}

// actor is another apiserver, and what it does in its turn.
type actor struct {
	h        *history
	registry *etcdRegistry
	clock    *clock
	finish   func() // completes what the actor has begun; nil for nothing
}

// beginCreate runs a create up to the call that makes the subject exist, which
// finish lets through.
func (a *actor) beginCreate(task api.Task) {
	reached, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	registry := onClockOf(a.registry, &etcdtest.Around{Client: a.registry.client(), Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if method == "Create" && (key == taskKey(task.CurrentState.Host, "subject") || key == podKey("subject")) {
			reached <- struct{}{}
			<-goOn
		}
		return call()
	}})
	call, version := a.h.now(), task.Labels["version"]
	var err error
	go func() {
		defer close(done)
		err = registry.CreateTask(task.CurrentState.Host, task)
	}()
	select {
	case <-reached:
		a.finish = func() {
			close(goOn)
			<-done
			a.h.note(3, call, act{"create", version, api.KindOf(err)})
		}
	case <-done:
		a.h.note(3, call, act{"create", version, api.KindOf(err)})
	}
}

// half runs a request that crashes before one of some calls to etcd.
func (a *actor) half(request act, run func(*etcdRegistry) error, before ...string) {
	dying := onClockOf(a.registry, &etcdtest.Around{Client: a.registry.client(), Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if slices.Contains(before, method+" "+key) {
			return nil, etcdtest.ErrLost
		}
		return call()
	}})
	call := a.h.now()
	request.kind = api.KindOf(run(dying))
	a.h.note(2, call, request)
}

// third is one more apiserver.
func (a *actor) third() *actor {
	registry := onClockOf(a.registry, a.registry.client())
	return &actor{h: a.h, registry: registry, clock: a.clock}
}

func (a *actor) create(machine, version string, port int) {
	a.make(on(machine, versioned(version, port)))
}

func (a *actor) createPod(machine, version string, port int) {
	a.make(versionedPod(machine, version, port))
}

func (a *actor) make(task api.Task) {
	call := a.h.now()
	err := a.registry.CreateTask(task.CurrentState.Host, task)
	a.h.note(2, call, act{"create", task.Labels["version"], api.KindOf(err)})
}

func (a *actor) bind(machine, version string, port int) {
	call := a.h.now()
	err := bindAs(a.registry, versionedPod(machine, version, port))
	a.h.note(2, call, act{"update", version, api.KindOf(err)})
}

func (a *actor) update(version string, port int) {
	call := a.h.now()
	err := a.registry.UpdateTask(versioned(version, port))
	a.h.note(2, call, act{"update", version, api.KindOf(err)})
}

func (a *actor) delete() {
	call := a.h.now()
	a.h.note(2, call, act{"delete", "", api.KindOf(a.registry.DeleteTask("subject"))})
}

func (a *actor) read() {
	call := a.h.now()
	task, err := a.registry.GetTask("subject")
	version := ""
	if err == nil {
		version = task.Labels["version"]
	} else {
		requireKind(a.h.t, api.NotFound, err)
	}
	a.h.note(2, call, act{verb: "read", version: version})
}

// halfUpdate is an update that crashes between its two writes.
func (a *actor) halfUpdate(version string, port int) {
	a.half(act{verb: "update", version: version}, func(r *etcdRegistry) error { return r.UpdateTask(versioned(version, port)) },
		"CompareAndSwap "+taskKey("m", "subject"), "CompareAndSwap "+podKey("subject"))
}

func (a *actor) halfBind(machine, version string, port int) {
	a.half(act{verb: "update", version: version}, func(r *etcdRegistry) error { return bindAs(r, versionedPod(machine, version, port)) },
		"CompareAndSwap "+podKey("subject"))
}

func (a *actor) halfCreate(version string, port int) {
	a.half(act{verb: "create", version: version}, func(r *etcdRegistry) error { return r.CreateTask("m", versioned(version, port)) },
		"Create "+taskKey("m", "subject"))
}

func (a *actor) halfCreatePod(machine, version string, port int) {
	a.half(act{verb: "create", version: version}, func(r *etcdRegistry) error { return r.CreateTask(machine, versionedPod(machine, version, port)) },
		"Create "+podKey("subject"))
}

func (a *actor) halfDelete() {
	a.half(act{verb: "delete"}, func(r *etcdRegistry) error { return r.DeleteTask("subject") }, "CompareAndSwap "+kubeletKey("m"))
}

func (a *actor) thieves() {
	for _, port := range []int{80, 82, 83, 84} {
		err := a.registry.CreateTask("m", makeTask(fmt.Sprintf("thief-%d", port), port))
		if err != nil && api.KindOf(err) != api.AlreadyExists {
			requireKind(a.h.t, api.HostPortTaken, err)
		}
	}
}

func (a *actor) reconcile() {
	_ = a.registry.Reconcile() // what it cannot repair now it repairs later
	a.clock.time = a.clock.time.Add(etcd2.Grace)
	_ = a.registry.Reconcile() // as above
}

var turns = map[string]func(*actor){
	"create":                             func(a *actor) { a.create("m", "2", 83) },
	"create elsewhere":                   func(a *actor) { a.create("m2", "2", 83) },
	"update":                             func(a *actor) { a.update("2", 83) },
	"update of the labels":               func(a *actor) { a.update("2", 80) },
	"update to the same":                 func(a *actor) { a.update("2", 82) },
	"delete":                             func(a *actor) { a.delete() },
	"delete and create":                  func(a *actor) { a.delete(); a.create("m", "2", 83) },
	"delete and create elsewhere":        func(a *actor) { a.delete(); a.create("m2", "2", 82) },
	"thieves of its ports":               func(a *actor) { a.thieves() },
	"update, thieves":                    func(a *actor) { a.update("2", 83); a.thieves() },
	"half an update, thieves":            func(a *actor) { a.halfUpdate("2", 83); a.thieves() },
	"half an update, update, thieves":    func(a *actor) { a.halfUpdate("2", 83); a.update("3", 84); a.thieves() },
	"delete, thieves":                    func(a *actor) { a.delete(); a.thieves() },
	"delete, create, thieves":            func(a *actor) { a.delete(); a.create("m", "2", 83); a.thieves() },
	"reconcile, thieves":                 func(a *actor) { a.reconcile(); a.thieves() },
	"half an update, reconcile, thieves": func(a *actor) { a.halfUpdate("2", 83); a.reconcile(); a.thieves() },
	"reconcile, delete, create":          func(a *actor) { a.reconcile(); a.delete(); a.create("m", "2", 83) },
	"reconcile, create, thieves":         func(a *actor) { a.reconcile(); a.create("m", "2", 83); a.thieves() },
	"reconcile, create elsewhere":        func(a *actor) { a.reconcile(); a.create("m2", "2", 83); a.thieves() },
	"reconcile, a create at work":        func(a *actor) { a.reconcile(); a.beginCreate(on("m", versioned("2", 83))) },
	"reconcile, a create at work there":  func(a *actor) { a.reconcile(); a.beginCreate(on("m2", versioned("2", 83))) },
	"a reader":                           func(a *actor) { a.read() },
	"reconcile":                          func(a *actor) { a.reconcile() },
	"a third creates":                    func(a *actor) { a.third().create("m", "9", 86) },
	"a third creates elsewhere":          func(a *actor) { a.third().create("m2", "9", 86) },
	"half a create":                      func(a *actor) { a.halfCreate("5", 83) },
	"half a delete, create":              func(a *actor) { a.halfDelete(); a.create("m", "6", 83) },
	"half a create, delete":              func(a *actor) { a.halfCreate("5", 83); a.delete() },
	"half a create, reconcile, update":   func(a *actor) { a.halfCreate("5", 83); a.reconcile(); a.update("6", 83) },
	"half an update, delete, create":     func(a *actor) { a.halfUpdate("5", 83); a.delete(); a.create("m", "6", 84) },

	"bind":                                func(a *actor) { a.bind("m", "2", 83); a.thieves() },
	"bind only":                           func(a *actor) { a.bind("m", "2", 80); a.thieves() },
	"bind to the same":                    func(a *actor) { a.bind("m", "2", 82) },
	"bind elsewhere, thieves":             func(a *actor) { a.bind("m2", "2", 82); a.thieves() },
	"bind, update, thieves":               func(a *actor) { a.bind("m", "2", 83); a.update("3", 84); a.thieves() },
	"update, bind":                        func(a *actor) { a.update("2", 83); a.bind("m", "3", 84); a.thieves() },
	"bind, delete":                        func(a *actor) { a.bind("m", "2", 83); a.delete(); a.thieves() },
	"half a bind, thieves":                func(a *actor) { a.halfBind("m", "2", 83); a.thieves() },
	"half a bind to the same, thieves":    func(a *actor) { a.halfBind("m", "2", 82); a.thieves() },
	"half a bind, bind, thieves":          func(a *actor) { a.halfBind("m", "2", 83); a.bind("m", "3", 84); a.thieves() },
	"half a bind, bind elsewhere":         func(a *actor) { a.halfBind("m", "2", 83); a.bind("m2", "3", 84); a.thieves() },
	"half a bind, delete, create":         func(a *actor) { a.halfBind("m", "2", 83); a.delete(); a.create("m", "3", 84) },
	"half a bind, delete, create pod":     func(a *actor) { a.halfBind("m", "2", 83); a.delete(); a.createPod("", "3", 84); a.bind("m", "4", 83) },
	"half a bind, reconcile, thieves":     func(a *actor) { a.halfBind("m", "2", 83); a.reconcile(); a.thieves() },
	"half a bind, reconcile, bind":        func(a *actor) { a.halfBind("m", "2", 83); a.reconcile(); a.bind("m", "3", 84) },
	"create a pod":                        func(a *actor) { a.createPod("m", "2", 83); a.thieves() },
	"create a pod elsewhere":              func(a *actor) { a.createPod("m2", "2", 83) },
	"create an unbound pod":               func(a *actor) { a.createPod("", "2", 83) },
	"create a pod, bind":                  func(a *actor) { a.createPod("", "2", 83); a.bind("m", "3", 84); a.thieves() },
	"delete, create a pod":                func(a *actor) { a.delete(); a.createPod("m", "2", 83); a.thieves() },
	"delete, create a pod, bind":          func(a *actor) { a.delete(); a.createPod("", "2", 83); a.bind("m", "3", 82); a.thieves() },
	"half of a pod's creation":            func(a *actor) { a.halfCreatePod("m", "5", 83) },
	"half of an unbound pod's":            func(a *actor) { a.halfCreatePod("", "5", 83) },
	"half of an unbound pod's, create":    func(a *actor) { a.halfCreatePod("", "5", 83); a.create("m", "6", 83) },
	"delete, a pod's create at work":      func(a *actor) { a.delete(); a.beginCreate(versionedPod("m", "2", 83)) },
	"reconcile, a pod's create at work":   func(a *actor) { a.reconcile(); a.beginCreate(versionedPod("m", "2", 83)) },
	"reconcile, an unbound pod's at work": func(a *actor) { a.reconcile(); a.beginCreate(versionedPod("", "2", 83)) },
}

// middle is a request, or a Reconcile, of the first apiserver, during which
// another apiserver acts.
type middle struct {
	act               // verb is "" for a Reconcile
	there   *api.Task // the subject at the beginning; nil for none
	prepare func(*actor)
	run     func(*etcdRegistry) error
	// heldUp marks a request that must not be delayed until Reconcile takes it
	// for abandoned: docs/reliability.md says what may happen then.
	heldUp bool
}

func middles() map[string]middle {
	task, pod, unbound := on("m", versioned("old", 80)), versionedPod("m", "old", 80), versionedPod("", "old", 80)
	creates := func(task api.Task) middle {
		return middle{act: act{verb: "create", version: "1"}, heldUp: true, run: func(r *etcdRegistry) error { return r.CreateTask(task.CurrentState.Host, task) }}
	}
	updates := func(there api.Task) middle {
		return middle{act: act{verb: "update", version: "1"}, there: &there, run: func(r *etcdRegistry) error { return r.UpdateTask(versioned("1", 82)) }}
	}
	binds := middle{act: act{verb: "update", version: "1"}, there: &unbound, run: func(r *etcdRegistry) error { return bindAs(r, versionedPod("m", "1", 82)) }}
	deletes := func(there api.Task) middle {
		return middle{act: act{verb: "delete"}, there: &there, run: func(r *etcdRegistry) error { return r.DeleteTask("subject") }}
	}
	after := func(m middle, prepare func(*actor)) middle {
		m.prepare = prepare
		return m
	}
	reconcile := func(there *api.Task, prepare func(*actor)) middle { return middle{there: there, prepare: prepare} }
	halfUpdate := func(a *actor) { a.halfUpdate("1", 82) }
	halfBind := func(a *actor) { a.halfBind("m", "1", 82) }
	halfDelete := func(a *actor) { a.halfDelete() }
	unindexed := func(a *actor) {
		_, err := a.registry.client().Delete(indexEntryKey("subject"), false)
		require.NoError(a.h.t, err)
	}
	unlisted := func(a *actor) { put(a.h.t, a.registry.client(), kubeletKey("m"), []api.ContainerManifest{}) }
	return map[string]middle{
		"create":                    creates(on("m", versioned("1", 82))),
		"update":                    updates(task),
		"update that was half done": after(updates(task), halfUpdate),
		"delete":                    deletes(task),
		"reconcile a half create":   reconcile(nil, func(a *actor) { a.halfCreate("1", 82) }),
		"reconcile a half update":   reconcile(&task, halfUpdate),
		"reconcile a half delete":   reconcile(&task, halfDelete),
		"reconcile a foreign task":  reconcile(&task, unindexed),
		"reconcile an unlisted one": reconcile(&task, unlisted),

		"create a pod":                       creates(versionedPod("m", "1", 82)),
		"create an unbound pod":              creates(versionedPod("", "1", 82)),
		"update a pod":                       updates(pod),
		"update a pod that was half updated": after(updates(pod), halfUpdate),
		"update an unbound pod":              updates(unbound),
		"bind":                               binds,
		"bind a pod that was half bound":     after(binds, halfBind),
		"bind a pod that was so elsewhere":   after(binds, func(a *actor) { a.halfBind("m2", "1", 82) }),
		"bind a pod that was so otherwise":   after(binds, func(a *actor) { a.halfBind("m", "1", 83) }),
		"delete a pod":                       deletes(pod),
		"delete an unbound pod":              deletes(unbound),
		"delete a pod that was half bound":   after(deletes(unbound), halfBind),
		"reconcile half of a pod's creation": reconcile(nil, func(a *actor) { a.halfCreatePod("m", "1", 82) }),
		"reconcile half of an unbound pod's": reconcile(nil, func(a *actor) { a.halfCreatePod("", "1", 82) }),
		"reconcile a half update of a pod":   reconcile(&pod, halfUpdate),
		"reconcile a half bind":              reconcile(&unbound, halfBind),
		"reconcile a half bind, only that":   reconcile(&unbound, func(a *actor) { a.halfBind("m", "1", 80) }),
		"reconcile a half delete of a pod":   reconcile(&pod, halfDelete),
		"reconcile a foreign pod":            reconcile(&pod, unindexed),
		"reconcile a foreign unbound pod":    reconcile(&unbound, unindexed),
		"reconcile an unlisted pod":          reconcile(&pod, unlisted),
	}
}

// Between any two calls to etcd of a create, an update, a delete or a Reconcile
// another apiserver may do anything. The answers of both fit one order of the
// requests, and in the end nothing is inconsistent and no host port is shared.
func TestAnotherApiserverMayActBetweenAnyTwoCalls(t *testing.T) {
	t.Parallel()
	for name, m := range middles() {
		for turn := range turns {
			if m.heldUp && strings.Contains(turn, "reconcile") {
				continue
			}
			for k := 1; ; k++ {
				reached := false
				t.Run(fmt.Sprintf("%s; before its call %d: %s", name, k, turn), func(t *testing.T) { reached = comeBetween(t, m, k, turns[turn]) })
				if !reached {
					break
				}
			}
		}
	}
}

// The same with several turns at once, of which there are too many to try all.
func TestOthersMayActInAnyOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2014, 6))
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(turns)), func(name string) bool { return strings.Contains(name, "at work") })
	all := middles()
	kinds := slices.Sorted(maps.Keys(all))
	for range 3000 {
		kind, k := kinds[random.IntN(len(kinds))], 1+random.IntN(9)
		var some []string
		for range 1 + random.IntN(3) {
			some = append(some, names[random.IntN(len(names))])
		}
		name := strings.Join(some, "; ")
		if all[kind].heldUp && strings.Contains(name, "reconcile") {
			continue
		}
		t.Run(fmt.Sprintf("%s; before its call %d: %s", kind, k, name), func(t *testing.T) {
			comeBetween(t, all[kind], k, func(a *actor) {
				for _, turn := range some {
					turns[turn](a)
				}
			})
		})
	}
}

// A create may hang before its last call for longer than others wait for its
// claim. One of them gets the id, and no host port is shared.
func TestACreateWhoseLastCallIsDelayed(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]func(b *etcdRegistry) []error{
		"the id with another port": func(b *etcdRegistry) []error {
			return []error{b.CreateTask("m", versioned("B", 83)), b.CreateTask("m", makeTask("thief", 82))}
		},
		"the id where its port is taken": func(b *etcdRegistry) []error { return []error{b.CreateTask("m2", versioned("B", 80))} },
		"the id elsewhere, deleted, and again": func(b *etcdRegistry) []error {
			return []error{b.CreateTask("m2", versioned("B", 84)), b.DeleteTask("subject"), b.CreateTask("m3", versioned("C", 85))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := etcdtest.NewFake()
			b, clock := patientless(fake)
			require.NoError(t, b.CreateTask("m", makeTask("owner", 80)))
			var answers []error
			a, _ := patientless(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
				if method == "Create" && key == taskKey("m", "subject") {
					answers = others(b)
				}
				return call()
			}})
			require.NoError(t, a.CreateTask("m", versioned("A", 81)))
			requireKind(t, api.Unavailable, answers[0])
			reconcile(t, b, clock)
			requireConsistent(t, fake)
			found, err := b.GetTask("subject")
			require.NoError(t, err)
			require.Equal(t, on("m", versioned("A", 81)), *bare(found))
		})
	}
}

// A create that is delayed before it writes the list does not overwrite the list
// of the request that has taken over its claim.
func TestACreateThatIsDelayedBeforeItsListGivesUp(t *testing.T) {
	t.Parallel()
	fake := etcdtest.NewFake()
	b, bClock := patientless(fake)
	require.NoError(t, b.CreateTask("m", makeTask("beside", 90)))
	second := &actor{h: &history{t: t}, registry: b, clock: bClock}
	swaps := 0
	var a *etcdRegistry
	var aClock *clock
	a, aClock = patientless(&etcdtest.Around{Client: fake, Do: func(method, key string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		switch {
		case method == "Create" && key == indexEntryKey("subject"):
			defer func() { aClock.time = aClock.time.Add(2300 * time.Millisecond) }()
		case method == "CompareAndSwap" && key == kubeletKey("m"):
			if swaps++; swaps == 1 {
				aClock.time = aClock.time.Add(400 * time.Millisecond)
				second.beginCreate(on("m", versioned("B", 83)))
			}
		}
		return call()
	}})
	requireKind(t, api.Unavailable, a.CreateTask("m", versioned("A", 82)))
	require.Equal(t, 1, swaps)
	requireKind(t, api.HostPortTaken, b.CreateTask("m", makeTask("thief", 83)))
	second.finish()
	reconcile(t, b, bClock)
	requireConsistent(t, fake)
}

// comeBetween lets the other apiserver act before the k-th call; it returns
// false when there are fewer calls.
func comeBetween(t *testing.T, m middle, k int, turn func(*actor)) (reached bool) {
	fake := etcdtest.NewFake()
	other, clock := patientless(fake) // all share the clock
	h := &history{t: t}
	second := &actor{h: h, registry: other, clock: clock}
	if m.there != nil {
		require.NoError(t, other.CreateTask(m.there.CurrentState.Host, *m.there))
	}
	second.read()
	if m.prepare != nil {
		m.prepare(second)
	}
	second.read()
	calls, counting := 0, false
	first := onClockOf(other, &etcdtest.Around{Client: fake, Do: func(_, _ string, call func() (*etcd.Response, error)) (*etcd.Response, error) {
		if counting {
			calls++
		}
		if counting && calls == k {
			reached = true
			turn(second)
			second.read()
		}
		return call()
	}})
	if m.run == nil {
		require.NoError(t, first.Reconcile())
		clock.time = clock.time.Add(etcd2.Grace)
		m.run = (*etcdRegistry).Reconcile
	}
	counting = true
	call := h.now()
	err := m.run(first)
	counting = false
	if m.verb != "" {
		m.kind = api.KindOf(err)
		h.note(1, call, m.act)
	}
	if second.finish != nil { // others may use what is not finished
		second.thieves()
		second.create("m3", "3", 85)
		second.finish()
	}
	second.read()
	second.reconcile()
	second.reconcile()
	second.read()
	require.True(t, porcupine.CheckOperations(subjectModel.ToModel(), h.acts), "%+v", h.acts)
	requireConsistent(t, fake)
	return reached
}

// The order of the writes is what docs/etcd.md says.
func TestD37TheOrderOfTheWrites(t *testing.T) {
	t.Parallel()
	want := map[string][]string{
		"create":                {"Create " + indexEntryKey("subject"), "CompareAndSwap " + kubeletKey("m"), "Create " + taskKey("m", "subject")},
		"update":                {"CompareAndSwap " + kubeletKey("m"), "CompareAndSwap " + taskKey("m", "subject")},
		"delete":                {"CompareAndDelete " + taskKey("m", "subject"), "CompareAndSwap " + kubeletKey("m"), "CompareAndDelete " + indexEntryKey("subject")},
		"create a pod":          {"Create " + indexEntryKey("subject"), "CompareAndSwap " + kubeletKey("m"), "Create " + podKey("subject")},
		"update a pod":          {"CompareAndSwap " + kubeletKey("m"), "CompareAndSwap " + podKey("subject")},
		"delete a pod":          {"CompareAndDelete " + podKey("subject"), "CompareAndSwap " + kubeletKey("m"), "CompareAndDelete " + indexEntryKey("subject")},
		"create an unbound pod": {"Create " + indexEntryKey("subject"), "Create " + podKey("subject")},
		"update an unbound pod": {"CompareAndSwap " + podKey("subject")},
		"delete an unbound pod": {"CompareAndDelete " + podKey("subject"), "CompareAndDelete " + indexEntryKey("subject")},
		"bind":                  {"CompareAndSwap " + kubeletKey("m"), "CompareAndSwap " + podKey("subject")},
		"bind and update":       {"CompareAndSwap " + kubeletKey("m"), "CompareAndSwap " + podKey("subject")},
	}
	for name, op := range operations() {
		faults := stage(t, op)
		faults.Heal()
		require.NoError(t, op.run(unhurried(faults)))
		var writes []string
		for _, call := range faults.Calls() {
			if call[:4] != "Get " {
				writes = append(writes, call)
			}
		}
		require.Equal(t, want[name], writes, name)
	}
}
