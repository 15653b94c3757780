package printers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parts of pods, of which the tests put pods together.
const (
	ready     = `"ready":true,"state":{"running":{}}`
	completed = `"state":{"terminated":{"exitCode":0,"reason":"Completed"}}`
	failed    = `"state":{"terminated":{"exitCode":1,"reason":"Error"}}`
	sidecar   = `{"name":"s","restartPolicy":"Always"}`
	lately    = `"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-11-21T08:31:21Z"}}`
	earlier   = `"lastState":{"terminated":{"exitCode":1,"finishedAt":"2026-11-20T08:31:21Z"}}`
	isReady   = `"conditions":[{"type":"Ready","status":"True"}]`
	deleted   = `"metadata":{"deletionTimestamp":"2026-11-21T08:34:20Z"}`
)

func TestThePodThatRunsIsAsRecorded(t *testing.T) {
	t.Parallel()
	pod := object(t, &corev1.Pod{}, `{"metadata":{"name":"one","creationTimestamp":"2026-11-21T08:34:11Z"},"spec":{"containers":[{"name":"c"}]},
		"status":{"phase":"Running","podIP":"10.1.1.1","containerStatuses":[{"name":"c","restartCount":1,`+ready+`}]}}`)
	assert.Equal(t, []any{"one", "1/1", "Running", "1", "10s", "10.1.1.1", "<none>", "<none>", "<none>"}, rowAt(t, Pods, pod, now).Cells)
}

func TestTheStatusOfAPodIsThatOfTheContainerWhichHoldsItUp(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ pod, expected, ready string }{
		"the phase, if nothing else is known": {`"spec":{"containers":[{},{}]},"status":{"phase":"Pending"}`, "Pending", "0/2"},
		"the reason of the pod":               {`"status":{"phase":"Failed","reason":"Evicted"}`, "Evicted", "0/0"},
		"a gate, if the scheduler waits for it": {
			`"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated"}]}`, "SchedulingGated", "0/0"},
		"what a container waits for": {
			`"status":{"phase":"Running","containerStatuses":[{"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}`, "CrashLoopBackOff", "0/0"},
		"the phase, if it waits without a reason": {`"status":{"phase":"Pending","containerStatuses":[{"state":{"waiting":{}}}]}`, "Pending", "0/0"},
		"the first container that waits": {
			`"status":{"containerStatuses":[{"state":{"waiting":{"reason":"A"}}},{"state":{"waiting":{"reason":"B"}}}]}`, "A", "0/0"},
		"the reason of an end":              {`"status":{"containerStatuses":[{` + failed + `}]}`, "Error", "0/0"},
		"else its signal":                   {`"status":{"containerStatuses":[{"state":{"terminated":{"exitCode":137,"signal":9}}}]}`, "Signal:9", "0/0"},
		"else its exit code":                {`"status":{"containerStatuses":[{"state":{"terminated":{"exitCode":2}}}]}`, "ExitCode:2", "0/0"},
		"all completed":                     {`"spec":{"containers":[{}]},"status":{"phase":"Succeeded","containerStatuses":[{` + completed + `}]}`, "Completed", "0/1"},
		"one completed, the pod is ready":   {`"spec":{"containers":[{},{}]},"status":{"containerStatuses":[{` + completed + `},{` + ready + `}],` + isReady + `}`, "Running", "1/2"},
		"one completed, it is not ready":    {`"spec":{"containers":[{},{}]},"status":{"containerStatuses":[{` + completed + `},{` + ready + `}]}`, "NotReady", "1/2"},
		"one completed, a later one failed": {`"status":{"containerStatuses":[{` + completed + `},{` + failed + `}]}`, "Error", "0/0"},
		"one runs, but is not ready":        {`"spec":{"containers":[{}]},"status":{"phase":"Running","containerStatuses":[{"state":{"running":{}}}]}`, "Running", "0/1"},
		"one is ready, but does not run":    {`"spec":{"containers":[{}]},"status":{"phase":"Running","containerStatuses":[{"ready":true}]}`, "Running", "0/1"},

		"it is deleted":                            {deleted + `,"status":{"phase":"Running"}`, "Terminating", "0/0"},
		"it is deleted, but has ended":             {deleted + `,"status":{"phase":"Succeeded"}`, "Succeeded", "0/0"},
		"it is deleted, but has failed":            {deleted + `,"status":{"phase":"Failed"}`, "Failed", "0/0"},
		"its node is gone":                         {`"status":{"phase":"Running","reason":"NodeLost"}`, "NodeLost", "0/0"},
		"it is deleted and its node is gone":       {deleted + `,"status":{"phase":"Running","reason":"NodeLost"}`, "Unknown", "0/0"},
		"it is deleted when its containers failed": {deleted + `,"status":{"phase":"Running","containerStatuses":[{` + failed + `}]}`, "Terminating", "0/0"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pod := object(t, &corev1.Pod{}, `{`+test.pod+`}`)
			contains(t, map[string]any{"Status": test.expected, "Ready": test.ready}, cells(t, Pods, pod))
		})
	}
}

func TestInitContainersComeBeforeTheOthers(t *testing.T) {
	t.Parallel()
	const two = `"initContainers":[{"name":"a"},{"name":"b"}]`
	for sentence, test := range map[string]struct{ spec, status, expected, ready string }{
		"none has started": {two, `"initContainerStatuses":[{"name":"a"},{"name":"b"}]`, "Init:0/2", "0/1"},
		"the first is done": {two, `"initContainerStatuses":[{"name":"a",` + completed + `},{"name":"b","state":{"running":{}}}]`,
			"Init:1/2", "0/1"},
		"one is only initializing": {two, `"initContainerStatuses":[{"name":"a","state":{"waiting":{"reason":"PodInitializing"}}}]`, "Init:0/2", "0/1"},
		"one waits":                {two, `"initContainerStatuses":[{"name":"a","state":{"waiting":{"reason":"ErrImagePull"}}}]`, "Init:ErrImagePull", "0/1"},
		"one failed":               {two, `"initContainerStatuses":[{"name":"a",` + failed + `},{"name":"b"}]`, "Init:Error", "0/1"},
		"one was killed":           {two, `"initContainerStatuses":[{"name":"a","state":{"terminated":{"exitCode":137,"signal":9}}}]`, "Init:Signal:9", "0/1"},
		"one ended with a code":    {two, `"initContainerStatuses":[{"name":"a","state":{"terminated":{"exitCode":3}}}]`, "Init:ExitCode:3", "0/1"},
		"the others do not count until all are done": {two,
			`"initContainerStatuses":[{"name":"a"}],"containerStatuses":[{` + failed + `}]`, "Init:0/2", "0/1"},
		"unless the pod was initialized before": {two,
			`"initContainerStatuses":[{"name":"a"}],"containerStatuses":[{` + failed + `}],"conditions":[{"type":"Initialized","status":"True"}]`, "Error", "0/1"},
		"all are done": {two,
			`"phase":"Running","initContainerStatuses":[{"name":"a",` + completed + `},{"name":"b",` + completed + `}],"containerStatuses":[{` + ready + `}]`, "Running", "1/1"},
		"a sidecar counts as a container": {`"initContainers":[` + sidecar + `]`,
			`"phase":"Running","initContainerStatuses":[{"name":"s","started":true,` + ready + `}],"containerStatuses":[{` + ready + `}]`, "Running", "2/2"},
		"a sidecar has started, but is not ready": {`"initContainers":[` + sidecar + `]`,
			`"phase":"Running","initContainerStatuses":[{"name":"s","started":true}],"containerStatuses":[{` + ready + `}]`, "Running", "1/2"},
		"a sidecar has not started": {`"initContainers":[` + sidecar + `,{"name":"b"}]`,
			`"initContainerStatuses":[{"name":"s","started":false,"state":{"running":{}}}]`, "Init:0/2", "0/2"},
		"what has started and is no sidecar is not done": {two,
			`"initContainerStatuses":[{"name":"a","started":true,` + ready + `}]`, "Init:0/2", "0/1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pod := object(t, &corev1.Pod{}, `{"spec":{"containers":[{"name":"c"}],`+test.spec+`},"status":{`+test.status+`}}`)
			contains(t, map[string]any{"Status": test.expected, "Ready": test.ready}, cells(t, Pods, pod))
		})
	}
}

func TestRestartsAreThoseOfContainersWithTheTimeOfTheLast(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct{ initContainers, status, expected string }{
		"none":                           {``, ``, "0"},
		"no time is known":               {``, `"containerStatuses":[{"restartCount":2},{"restartCount":1}]`, "3"},
		"the last of two times":          {``, `"containerStatuses":[{"restartCount":2,` + lately + `},{"restartCount":1,` + earlier + `}]`, "3 (3m ago)"},
		"an end that is no restart":      {``, `"containerStatuses":[{"restartCount":0,` + lately + `}]`, "0"},
		"while it is initialized":        {`{"name":"a"}`, `"initContainerStatuses":[{"name":"a","restartCount":4,` + lately + `}],"containerStatuses":[{"restartCount":1}]`, "4 (3m ago)"},
		"those of init containers ended": {`{"name":"a"}`, `"initContainerStatuses":[{"name":"a","restartCount":4,` + completed + `,` + lately + `}],"containerStatuses":[{"restartCount":1}]`, "1"},
		"those of sidecars go on":        {sidecar, `"initContainerStatuses":[{"name":"s","restartCount":4,"started":true,` + lately + `}],"containerStatuses":[{"restartCount":1,` + earlier + `}]`, "5 (3m ago)"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			pod := object(t, &corev1.Pod{}, `{"spec":{"initContainers":[`+test.initContainers+`]},"status":{`+test.status+`}}`)
			contains(t, map[string]any{"Restarts": test.expected}, cells(t, Pods, pod))
		})
	}
}

func TestWideColumnsOfAPodSayWhereItIs(t *testing.T) {
	t.Parallel()
	contains(t, map[string]any{"IP": "<none>", "Node": "<none>", "Nominated Node": "<none>", "Readiness Gates": "<none>"},
		cells(t, Pods, &corev1.Pod{}))
	contains(t, map[string]any{"IP": "10.0.0.1", "Node": "n", "Nominated Node": "m", "Readiness Gates": "1/3"},
		cells(t, Pods, object(t, &corev1.Pod{}, `{
			"spec":{"nodeName":"n","readinessGates":[{"conditionType":"a"},{"conditionType":"b"},{"conditionType":"c"}]},
			"status":{"podIPs":[{"ip":"10.0.0.1"},{"ip":"::1"}],"nominatedNodeName":"m",
				"conditions":[{"type":"a","status":"True"},{"type":"b","status":"False"}]}}`)))
}

func TestTheRowOfAPodThatHasEndedSaysSo(t *testing.T) {
	t.Parallel()
	for phase, message := range map[corev1.PodPhase]string{
		corev1.PodSucceeded: "The pod has completed successfully.",
		corev1.PodFailed:    "The pod failed.",
		corev1.PodRunning:   "",
		"":                  "",
	} {
		conditions := rowAt(t, Pods, &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}, now).Conditions
		var expected []metav1.TableRowCondition
		if message != "" {
			expected = []metav1.TableRowCondition{{Type: "Completed", Status: "True", Reason: string(phase), Message: message}}
		}
		assert.Equal(t, expected, conditions, "%q", phase)
	}
}
