package lifecycle

import (
	"testing"
	"time"

	"kube2014/pkg/kubelet/cri"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

func TestAPlanStartsAndStopsWhatIsToRun(t *testing.T) {
	t.Parallel()
	now := time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	initOf := func(v View) View { v.Kind = InitContainer; return v }
	sideOf := func(v View) View { v.Kind = Sidecar; return v }
	mainOf := func(v View) View { v.Kind = MainContainer; return v }
	debugOf := func(v View) View { v.Kind = EphemeralContainer; return v }
	none, created, running := View{}, View{Phase: cri.Created}, View{Phase: cri.Running, Started: true}
	done, failed := View{Phase: cri.Exited}, View{Phase: cri.Exited, Failed: true}
	again := func(at time.Time) View { return View{Phase: cri.Exited, Failed: true, Restarts: true, Due: at} }
	for name, test := range map[string]struct {
		views []View
		want  Plan
		phase corev1.PodPhase
	}{
		"all containers start at once":  {[]View{mainOf(none), mainOf(none)}, Plan{Start: []int{0, 1}, Initialized: true}, corev1.PodPending},
		"one that starts is waited for": {[]View{mainOf(created), mainOf(running)}, Plan{Initialized: true}, corev1.PodPending},
		"one that runs runs on":         {[]View{mainOf(running)}, Plan{Initialized: true}, corev1.PodRunning},
		"one that has ended for good":   {[]View{mainOf(done)}, Plan{Initialized: true, Terminated: true}, corev1.PodSucceeded},
		"one of two that has ended":     {[]View{mainOf(failed), mainOf(running)}, Plan{Initialized: true}, corev1.PodRunning},
		"two that have ended":           {[]View{mainOf(failed), mainOf(done)}, Plan{Initialized: true, Terminated: true}, corev1.PodFailed},
		"one that is due again":         {[]View{mainOf(again(now))}, Plan{Start: []int{0}, Initialized: true}, corev1.PodRunning},
		"one that is not due yet":       {[]View{mainOf(again(later)), mainOf(again(later.Add(1)))}, Plan{Wake: later, Initialized: true}, corev1.PodRunning},

		"the first init container goes first":      {[]View{initOf(none), initOf(none), mainOf(none)}, Plan{Start: []int{0}}, corev1.PodPending},
		"the next one waits for it":                {[]View{initOf(running), initOf(none), mainOf(none)}, Plan{}, corev1.PodPending},
		"it goes when it is done":                  {[]View{initOf(done), initOf(none), mainOf(none)}, Plan{Start: []int{1}}, corev1.PodPending},
		"the others go when all are":               {[]View{initOf(done), mainOf(none)}, Plan{Start: []int{1}, Initialized: true}, corev1.PodPending},
		"an init container that fails for good":    {[]View{initOf(failed), mainOf(none)}, Plan{Terminated: true}, corev1.PodFailed},
		"an init container that is tried again":    {[]View{initOf(again(later)), mainOf(none)}, Plan{Wake: later}, corev1.PodPending},
		"an init container is done once for all":   {[]View{initOf(failed), mainOf(running)}, Plan{Initialized: true}, corev1.PodRunning},
		"a sidecar is waited for until it started": {[]View{sideOf(View{Phase: cri.Running}), mainOf(none)}, Plan{}, corev1.PodPending},
		"a sidecar that has started":               {[]View{sideOf(running), mainOf(none)}, Plan{Start: []int{1}, Initialized: true}, corev1.PodPending},
		"a sidecar runs again beside the others":   {[]View{sideOf(again(now)), mainOf(running)}, Plan{Start: []int{0}, Initialized: true}, corev1.PodRunning},
		"a sidecar ends after the others":          {[]View{sideOf(running), mainOf(done)}, Plan{Stop: []int{0}, Initialized: true}, corev1.PodRunning},
		"a sidecar does not start again then":      {[]View{sideOf(again(now)), mainOf(done)}, Plan{Initialized: true, Terminated: true}, corev1.PodSucceeded},
		"a sidecar ends when an init fails":        {[]View{sideOf(running), initOf(failed), mainOf(none)}, Plan{Stop: []int{0}}, corev1.PodPending},

		"an ephemeral container waits for none":  {[]View{initOf(running), mainOf(none), debugOf(none)}, Plan{Start: []int{2}}, corev1.PodPending},
		"an ephemeral container runs once":       {[]View{mainOf(running), debugOf(failed)}, Plan{Initialized: true}, corev1.PodRunning},
		"an ephemeral container ends with a pod": {[]View{mainOf(done), debugOf(running), debugOf(none)}, Plan{Stop: []int{1}, Initialized: true}, corev1.PodRunning},
		"an ephemeral container fails no pod":    {[]View{mainOf(done), debugOf(failed), debugOf(none)}, Plan{Initialized: true, Terminated: true}, corev1.PodSucceeded},
	} {
		p := MakePlan(test.views, now)
		assert.Equal(t, test.want, p, name)
		assert.Equal(t, test.phase, PodPhase(test.views, p), name)
	}
	assert.Equal(t, Plan{Stop: []int{1}, Initialized: true}, EndPlan([]View{mainOf(done), mainOf(running), mainOf(none)}))
	assert.Equal(t, Plan{Terminated: true}, EndPlan([]View{initOf(none), mainOf(none)}))
}

func TestWhatRestarts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy                     corev1.RestartPolicy
		of                         Kind
		afterSuccess, afterFailure bool
	}{
		{corev1.RestartPolicyAlways, MainContainer, true, true},
		{corev1.RestartPolicyOnFailure, MainContainer, false, true},
		{corev1.RestartPolicyNever, MainContainer, false, false},
		{corev1.RestartPolicyAlways, InitContainer, false, true},
		{corev1.RestartPolicyOnFailure, InitContainer, false, true},
		{corev1.RestartPolicyNever, InitContainer, false, false},
		{corev1.RestartPolicyNever, Sidecar, true, true},
		{corev1.RestartPolicyAlways, EphemeralContainer, false, false},
	} {
		assert.Equal(t, test.afterSuccess, RestartsAfter(test.policy, test.of, false), test)
		assert.Equal(t, test.afterFailure, RestartsAfter(test.policy, test.of, true), test)
	}
}
