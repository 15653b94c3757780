package kubelet

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestAPlanStartsAndStopsWhatIsToRun(t *testing.T) {
	t.Parallel()
	now := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	initOf := func(v view) view { v.kind = initContainer; return v }
	sideOf := func(v view) view { v.kind = sidecar; return v }
	mainOf := func(v view) view { v.kind = mainContainer; return v }
	none, created, running := view{}, view{phase: Created}, view{phase: Running, started: true}
	done, failed := view{phase: Exited}, view{phase: Exited, failed: true}
	again := func(at time.Time) view { return view{phase: Exited, failed: true, restarts: true, due: at} }
	for name, test := range map[string]struct {
		views []view
		want  plan
		phase corev1.PodPhase
	}{
		"all containers start at once":  {[]view{mainOf(none), mainOf(none)}, plan{start: []int{0, 1}, initialized: true}, corev1.PodPending},
		"one that starts is waited for": {[]view{mainOf(created), mainOf(running)}, plan{initialized: true}, corev1.PodPending},
		"one that runs runs on":         {[]view{mainOf(running)}, plan{initialized: true}, corev1.PodRunning},
		"one that has ended for good":   {[]view{mainOf(done)}, plan{initialized: true, over: true}, corev1.PodSucceeded},
		"one of two that has ended":     {[]view{mainOf(failed), mainOf(running)}, plan{initialized: true}, corev1.PodRunning},
		"two that have ended":           {[]view{mainOf(failed), mainOf(done)}, plan{initialized: true, over: true}, corev1.PodFailed},
		"one that is due again":         {[]view{mainOf(again(now))}, plan{start: []int{0}, initialized: true}, corev1.PodRunning},
		"one that is not due yet":       {[]view{mainOf(again(later)), mainOf(again(later.Add(1)))}, plan{wake: later, initialized: true}, corev1.PodRunning},

		"the first init container goes first":      {[]view{initOf(none), initOf(none), mainOf(none)}, plan{start: []int{0}}, corev1.PodPending},
		"the next one waits for it":                {[]view{initOf(running), initOf(none), mainOf(none)}, plan{}, corev1.PodPending},
		"it goes when it is done":                  {[]view{initOf(done), initOf(none), mainOf(none)}, plan{start: []int{1}}, corev1.PodPending},
		"the others go when all are":               {[]view{initOf(done), mainOf(none)}, plan{start: []int{1}, initialized: true}, corev1.PodPending},
		"an init container that fails for good":    {[]view{initOf(failed), mainOf(none)}, plan{over: true}, corev1.PodFailed},
		"an init container that is tried again":    {[]view{initOf(again(later)), mainOf(none)}, plan{wake: later}, corev1.PodPending},
		"an init container is done once for all":   {[]view{initOf(failed), mainOf(running)}, plan{initialized: true}, corev1.PodRunning},
		"a sidecar is waited for until it started": {[]view{sideOf(view{phase: Running}), mainOf(none)}, plan{}, corev1.PodPending},
		"a sidecar that has started":               {[]view{sideOf(running), mainOf(none)}, plan{start: []int{1}, initialized: true}, corev1.PodPending},
		"a sidecar runs again beside the others":   {[]view{sideOf(again(now)), mainOf(running)}, plan{start: []int{0}, initialized: true}, corev1.PodRunning},
		"a sidecar ends after the others":          {[]view{sideOf(running), mainOf(done)}, plan{stop: []int{0}, initialized: true}, corev1.PodRunning},
		"a sidecar does not start again then":      {[]view{sideOf(again(now)), mainOf(done)}, plan{initialized: true, over: true}, corev1.PodSucceeded},
		"a sidecar ends when an init fails":        {[]view{sideOf(running), initOf(failed), mainOf(none)}, plan{stop: []int{0}}, corev1.PodPending},
	} {
		p := makePlan(test.views, now)
		assert.Equal(t, test.want, p, name)
		assert.Equal(t, test.phase, podPhase(test.views, p), name)
	}
	assert.Equal(t, plan{stop: []int{1}, initialized: true}, endPlan([]view{mainOf(done), mainOf(running), mainOf(none)}))
	assert.Equal(t, plan{over: true}, endPlan([]view{initOf(none), mainOf(none)}))
}

func TestWhatRestarts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy                     corev1.RestartPolicy
		of                         kind
		afterSuccess, afterFailure bool
	}{
		{corev1.RestartPolicyAlways, mainContainer, true, true},
		{corev1.RestartPolicyOnFailure, mainContainer, false, true},
		{corev1.RestartPolicyNever, mainContainer, false, false},
		{corev1.RestartPolicyAlways, initContainer, false, true},
		{corev1.RestartPolicyOnFailure, initContainer, false, true},
		{corev1.RestartPolicyNever, initContainer, false, false},
		{corev1.RestartPolicyNever, sidecar, true, true},
	} {
		assert.Equal(t, test.afterSuccess, restartsAfter(test.policy, test.of, false), test)
		assert.Equal(t, test.afterFailure, restartsAfter(test.policy, test.of, true), test)
	}
}

func TestAddressesAreGivenFromTheLowestOneOn(t *testing.T) {
	t.Parallel()
	a := newAddresses(netip.MustParsePrefix("127.1.2.0/29"))
	var all []string
	for range 7 {
		all = append(all, a.take().String())
	}
	assert.Equal(t, []string{"127.1.2.1", "127.1.2.2", "127.1.2.3", "127.1.2.4", "127.1.2.5", "127.1.2.6", "invalid IP"}, all)
	a.giveBack(netip.MustParseAddr("127.1.2.4"))
	assert.Equal(t, "127.1.2.4", a.take().String())
	assert.False(t, newAddresses(netip.Prefix{}).take().IsValid())
	assert.False(t, newAddresses(netip.MustParsePrefix("127.1.2.3/32")).take().IsValid())
}

func TestContainersOfATaskHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range containersOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{}, {}, {Name: "web"}, {Name: "web"}}}}) {
		names = append(names, c.name)
	}
	assert.Equal(t, []string{"0", "1", "web", "web-3"}, names)
}
