package job_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/controller/job"
	"kube2014/pkg/master/controllertest"
)

// resync is how often the handlers see all objects again.
const resync = 10 * time.Second

// bench is a server with a job controller, and what that says.
type bench struct{ *controllertest.Bench }

func withBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) { test(t, &bench{shared}) })
}

// run runs a new controller. What it returns ends it, and waits for that.
func (b *bench) run() (stop func()) { return controllertest.Run(b.Bench, resync, job.NewJobController) }

// newJob returns a job of a name, changed by some functions.
func newJob(name string, changes ...func(spec *batchv1.JobSpec)) *batchv1.Job {
	created := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: map[string]string{"note": "kept"}},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}}}
	for _, change := range changes {
		change(&created.Spec)
	}
	return created
}

// counts sets how many pods must succeed, and how many may run at a time.
func counts(completions, parallelism int32) func(*batchv1.JobSpec) {
	return func(spec *batchv1.JobSpec) { spec.Completions, spec.Parallelism = &completions, &parallelism }
}

func indexed(spec *batchv1.JobSpec) { spec.CompletionMode = new(batchv1.IndexedCompletion) }

func backoffLimit(limit int32) func(*batchv1.JobSpec) {
	return func(spec *batchv1.JobSpec) { spec.BackoffLimit = &limit }
}

func (b *bench) create(name string, changes ...func(*batchv1.JobSpec)) *batchv1.Job {
	return controllertest.Create(b.T, b.API.Jobs(), newJob(name, changes...))
}

func (b *bench) get(name string) *batchv1.Job { return controllertest.Get(b.T, b.API.Jobs(), name) }

func (b *bench) change(name string, change func(spec *batchv1.JobSpec)) {
	controllertest.Change(b.T, b.API.Jobs(), name, func(job *batchv1.Job) { change(&job.Spec) })
}

// namesOf returns the names of the pods of which something is true, sorted.
func (b *bench) namesOf(is func(pod *corev1.Pod) bool) []string {
	return controllertest.Names(slices.DeleteFunc(b.Pods(), func(pod *corev1.Pod) bool { return !is(pod) }))
}

// activeNames returns the names of the pods that run, or will.
func (b *bench) activeNames() []string {
	return b.namesOf(func(pod *corev1.Pod) bool {
		return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
}

// exits ends a pod's container with an exit code.
func exits(code int32) func(status *corev1.PodStatus) {
	return func(status *corev1.PodStatus) {
		status.Phase = corev1.PodFailed
		if code == 0 {
			status.Phase = corev1.PodSucceeded
		}
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
		status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}}}}
	}
}

func (b *bench) succeed(names ...string) {
	b.T.Helper()
	for _, name := range names {
		b.SetStatus(name, exits(0))
	}
}

func (b *bench) fail(names ...string) {
	b.T.Helper()
	for _, name := range names {
		b.SetStatus(name, exits(1))
	}
}

// conditions returns the true conditions of a job, with their reasons and messages.
func conditions(job *batchv1.Job) (all []string) {
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s: %s", condition.Type, condition.Reason, condition.Message)))
		}
	}
	return all
}

// tracked returns the names of the pods with the finalizer.
func (b *bench) tracked() []string {
	return b.namesOf(func(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) })
}
