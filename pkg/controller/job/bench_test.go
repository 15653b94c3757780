package job_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/servertest"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/job"
)

// resync is how often the handlers see all objects again.
const resync = 10 * time.Second

// bench is a server with a job controller, and what that says.
type bench struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client

	mu     sync.Mutex // guards what follows
	events []string
}

// Eventf implements record.EventRecorder.
func (b *bench) Eventf(about clientv1.Object, eventType, reason, message string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s %s: %s", about.GetName(), eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, and forgets them.
func (b *bench) takeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

func withBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t)
		test(t, &bench{Server: server, t: t, client: server.Client(t, "test")})
	})
}

// run runs a new controller, with informers of its own. What it returns ends them, and waits for that.
func (b *bench) run() (stop func()) {
	client := b.Server.Client(b.t, "job-controller")
	shared := informers.New(client, resync)
	controller := job.NewJobController(job.Config{Client: client, Informers: shared, Recorder: b})
	return servertest.Run(b.t, func(ctx context.Context) {
		shared.Run(ctx)
		controller.Run(ctx, 2)
	})
}

// settle lets time pass.
func (b *bench) settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

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
	b.t.Helper()
	created, err := b.client.Jobs().Create(b.t.Context(), newJob(name, changes...))
	require.NoError(b.t, err)
	return created
}

func (b *bench) get(name string) *batchv1.Job {
	b.t.Helper()
	got, err := b.client.Jobs().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return got
}

func (b *bench) change(name string, change func(spec *batchv1.JobSpec)) {
	b.t.Helper()
	_, err := b.client.Jobs().Change(b.t.Context(), name, func(job *batchv1.Job) error { change(&job.Spec); return nil })
	require.NoError(b.t, err)
}

func (b *bench) pods() []*corev1.Pod {
	b.t.Helper()
	list, err := b.client.Pods().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	return list.Items
}

func (b *bench) pod(name string) *corev1.Pod {
	b.t.Helper()
	pod, err := b.client.Pods().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	return pod
}

// names returns the names of all pods, sorted.
func (b *bench) names() (names []string) {
	b.t.Helper()
	for _, pod := range b.pods() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// activeNames returns the names of the pods that run, or will.
func (b *bench) activeNames() (names []string) {
	b.t.Helper()
	for _, pod := range b.pods() {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// setStatus changes the status of a pod, as its kubelet would.
func (b *bench) setStatus(name string, set func(status *corev1.PodStatus)) {
	b.t.Helper()
	pod := b.pod(name)
	set(&pod.Status)
	_, err := b.client.Pods().UpdateStatus(b.t.Context(), pod)
	require.NoError(b.t, err)
}

func runs(status *corev1.PodStatus) {
	status.Phase = corev1.PodRunning
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
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
	b.t.Helper()
	for _, name := range names {
		b.setStatus(name, exits(0))
	}
}

func (b *bench) fail(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.setStatus(name, exits(1))
	}
}

func (b *bench) deletePod(name string) {
	b.t.Helper()
	require.NoError(b.t, b.client.Pods().Delete(b.t.Context(), name, metav1.DeleteOptions{}))
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
func (b *bench) tracked() (names []string) {
	b.t.Helper()
	for _, pod := range b.pods() {
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

// interceptWrites lets a function see each write of the controller, counted from 1.
func (b *bench) interceptWrites(between func(number int, w http.ResponseWriter, req *http.Request, next http.Handler)) {
	var mu sync.Mutex
	count := 0
	b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodGet || req.UserAgent() == "test" {
			next.ServeHTTP(w, req)
			return
		}
		mu.Lock()
		count++
		number := count
		mu.Unlock()
		between(number, w, req, next)
	})
}

// isWatch reports whether a request is a watch of the controller's.
func isWatch(req *http.Request) bool {
	return req.UserAgent() != "test" && req.URL.Query().Get("watch") != ""
}

// heldWriter waits before it writes.
type heldWriter struct {
	http.ResponseWriter
	wait func()
}

func (w heldWriter) Write(data []byte) (int, error) {
	w.wait()
	return w.ResponseWriter.Write(data)
}

// Unwrap is for an http.ResponseController.
func (w heldWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w heldWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

// loseAnswer lets the server do what is asked, and cuts the connection then.
func loseAnswer(req *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), req)
	panic(http.ErrAbortHandler)
}

func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
}
