package cronjob_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/servertest"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/cronjob"
)

// bench is a server with a cron job controller, and what that says.
type bench struct {
	*servertest.Server
	t      testing.TB
	client *clientv1.Client

	mu     sync.Mutex // guards what follows
	events []string
}

// Eventf implements record.EventRecorder.
func (b *bench) Eventf(_ clientv1.Object, eventType, reason, message string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, fmt.Sprintf("%s %s: %s", eventType, reason, fmt.Sprintf(message, args...)))
}

// takeEvents returns the events so far, and forgets them.
func (b *bench) takeEvents() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// withBench runs a test in a bubble, whose clock begins at midnight, UTC, on January 1, 2000.
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
	client := b.Server.Client(b.t, "cronjob-controller")
	shared := informers.New(client, 0)
	controller := cronjob.NewCronJobController(cronjob.Config{Client: client, Informers: shared, Recorder: b})
	return servertest.Run(b.t, func(ctx context.Context) {
		shared.Run(ctx)
		controller.Run(ctx, 2)
	})
}

func (b *bench) settle(while time.Duration) {
	time.Sleep(while)
	synctest.Wait()
}

func (b *bench) create(schedule string, changes ...func(spec *batchv1.CronJobSpec)) *batchv1.CronJob {
	b.t.Helper()
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick"}, Spec: batchv1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "tick"}, Annotations: map[string]string{"note": "kept"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}}}
	for _, change := range changes {
		change(&c.Spec)
	}
	c, err := b.client.CronJobs().Create(b.t.Context(), c)
	require.NoError(b.t, err)
	return c
}

func (b *bench) get() *batchv1.CronJob {
	b.t.Helper()
	c, err := b.client.CronJobs().Get(b.t.Context(), "tick")
	require.NoError(b.t, err)
	return c
}

func (b *bench) change(change func(spec *batchv1.CronJobSpec)) {
	b.t.Helper()
	_, err := b.client.CronJobs().Change(b.t.Context(), "tick", func(c *batchv1.CronJob) error { change(&c.Spec); return nil })
	require.NoError(b.t, err)
}

func (b *bench) jobs() (jobs []*batchv1.Job) {
	b.t.Helper()
	list, err := b.client.Jobs().List(b.t.Context(), metav1.ListOptions{})
	require.NoError(b.t, err)
	return list.Items
}

// names returns the names of all jobs, sorted.
func (b *bench) names() (names []string) {
	b.t.Helper()
	for _, job := range b.jobs() {
		names = append(names, job.Name)
	}
	slices.Sort(names)
	return names
}

// named returns the names of the jobs of some minutes of the bubble.
func named(minutes ...int) (names []string) {
	for _, minute := range minutes {
		names = append(names, fmt.Sprintf("tick-%d", 15778080+minute))
	}
	return names
}

// activeNames returns the names of the jobs that the status says run.
func (b *bench) activeNames() (names []string) {
	b.t.Helper()
	for _, active := range b.get().Status.Active {
		names = append(names, active.Name)
	}
	return names
}

// finish lets a job end, as its controller would.
func (b *bench) finish(name string, conditions ...batchv1.JobConditionType) {
	b.t.Helper()
	job, err := b.client.Jobs().Get(b.t.Context(), name)
	require.NoError(b.t, err)
	job.Status.StartTime = &job.CreationTimestamp
	for _, condition := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	if slices.Contains(conditions, batchv1.JobComplete) {
		job.Status.CompletionTime = new(metav1.Now())
	}
	_, err = b.client.Jobs().UpdateStatus(b.t.Context(), job)
	require.NoError(b.t, err)
}

func (b *bench) succeed(names ...string) {
	for _, name := range names {
		b.finish(name, batchv1.JobSuccessCriteriaMet, batchv1.JobComplete)
	}
}

func (b *bench) fail(names ...string) {
	for _, name := range names {
		b.finish(name, batchv1.JobFailureTarget, batchv1.JobFailed)
	}
}

func concurrency(policy batchv1.ConcurrencyPolicy) func(*batchv1.CronJobSpec) {
	return func(spec *batchv1.CronJobSpec) { spec.ConcurrencyPolicy = policy }
}

func suspended(yes bool) func(*batchv1.CronJobSpec) {
	return func(spec *batchv1.CronJobSpec) { spec.Suspend = &yes }
}

func deadline(seconds int64) func(*batchv1.CronJobSpec) {
	return func(spec *batchv1.CronJobSpec) { spec.StartingDeadlineSeconds = &seconds }
}

func history(succeeded, failed int32) func(*batchv1.CronJobSpec) {
	return func(spec *batchv1.CronJobSpec) {
		spec.SuccessfulJobsHistoryLimit, spec.FailedJobsHistoryLimit = &succeeded, &failed
	}
}

func TestACronJobStartsAJobAtEachTime(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		c := b.create("*/5 * * * *")
		b.settle(5 * time.Minute)
		assert.Empty(t, b.names())
		b.settle(time.Second)
		require.Equal(t, named(5), b.names())
		job := b.jobs()[0]
		assert.Equal(t, map[string]string{"app": "tick"}, job.Labels)
		assert.Equal(t, map[string]string{"note": "kept", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2000-01-01T00:05:00Z"}, job.Annotations)
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "tick", UID: c.UID, Controller: new(true), BlockOwnerDeletion: new(true)}}, job.OwnerReferences)
		status := b.get().Status
		assert.Equal(t, "2000-01-01T00:05:00Z", status.LastScheduleTime.UTC().Format(time.RFC3339))
		assert.Equal(t, []corev1.ObjectReference{{Kind: "Job", APIVersion: "batch/v1", Namespace: "default", Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion}}, status.Active)
		b.settle(5 * time.Minute)
		assert.Equal(t, named(5, 10), b.names())
		assert.Equal(t, []string{"Normal SuccessfulCreate: Created job " + named(5)[0], "Normal SuccessfulCreate: Created job " + named(10)[0]}, b.takeEvents())
	})
}

func TestAnEndedJobLeavesTheStatus(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *")
		b.settle(3*time.Minute + time.Second)
		require.Len(t, b.activeNames(), 3)
		b.takeEvents()
		b.succeed(named(1)...)
		b.settle(time.Second)
		assert.Equal(t, named(2, 3), b.activeNames())
		assert.Equal(t, "2000-01-01T00:03:01Z", b.get().Status.LastSuccessfulTime.UTC().Format(time.RFC3339))
		b.fail(named(2)...)
		require.NoError(t, b.client.Jobs().Delete(t.Context(), named(3)[0], metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		b.settle(time.Second)
		assert.Empty(t, b.activeNames())
		assert.ElementsMatch(t, []string{"Normal SawCompletedJob: Saw completed job: " + named(1)[0] + ", condition: Complete",
			"Normal SawCompletedJob: Saw completed job: " + named(2)[0] + ", condition: Failed", "Normal MissingJob: Active job went missing: " + named(3)[0]}, b.takeEvents())
		b.settle(50 * time.Second)
		assert.Equal(t, named(1, 2), b.names(), "a deleted job is not made again")
	})
}

func TestAJobThatStillRunsIsWaitedForOrReplacedOrNeither(t *testing.T) {
	for policy, expected := range map[batchv1.ConcurrencyPolicy][]string{
		batchv1.AllowConcurrent: named(1, 2, 3), batchv1.ForbidConcurrent: named(1), batchv1.ReplaceConcurrent: named(3),
	} {
		t.Run(string(policy), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("* * * * *", concurrency(policy))
				b.settle(3*time.Minute + time.Second)
				var names []string
				for _, job := range b.jobs() {
					if job.DeletionTimestamp == nil {
						names = append(names, job.Name)
					}
				}
				assert.Equal(t, expected, names)
				assert.Equal(t, expected, b.activeNames())
				events := b.takeEvents()
				switch policy {
				case batchv1.ForbidConcurrent:
					assert.Contains(t, events, "Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid")
					b.succeed(named(1)...)
					b.settle(time.Second)
					assert.Equal(t, named(3), b.activeNames(), "the last time is made good")
				case batchv1.ReplaceConcurrent:
					assert.Contains(t, events, "Normal SuccessfulDelete: Deleted job "+named(1)[0])
					assert.NotContains(t, events, "Normal MissingJob: Active job went missing: "+named(1)[0])
				}
			})
		})
	}
}

func TestASuspendedCronJobStartsNothing(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *", suspended(true))
		b.settle(150 * time.Second)
		assert.Empty(t, b.names())
		b.change(suspended(false))
		b.settle(time.Second)
		assert.Equal(t, named(2), b.names(), "only the last of the missed times")
	})
}

func TestMissedTimesAreMadeGoodWithinADeadline(t *testing.T) {
	for name, test := range map[string]struct {
		schedule string
		missed   time.Duration
		change   func(*batchv1.CronJobSpec)
		expected []string
		warns    bool
	}{
		"a few":                    {"*/10 * * * *", 65 * time.Minute, deadline(100_000), named(60), false},
		"before the deadline":      {"*/10 * * * *", 65 * time.Minute, deadline(301), named(60), false},
		"after the deadline":       {"*/10 * * * *", 65 * time.Minute, deadline(299), nil, false},
		"very many":                {"* * * * *", 1000*time.Minute + 5*time.Second, deadline(10_000_000), named(1000), true},
		"many, but not since then": {"* * * * *", 1000*time.Minute + 5*time.Second, deadline(300), named(1000), false},
		"in a pattern":             {"*/2 8-9 * * 1-5", 30 * 24 * time.Hour, deadline(10_000_000), named(27*24*60 + 9*60 + 58), true}, // Friday, January 28
		"every so often":           {"@every 7m", 1000 * time.Minute, deadline(10_000_000), named(994), true},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.create(test.schedule, test.change)
				b.settle(test.missed)
				b.run()
				b.settle(time.Second)
				assert.Equal(t, test.expected, b.names())
				assert.Equal(t, test.warns, slices.Contains(b.takeEvents(), "Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"))
			})
		})
	}
}

func TestATimeZoneMovesTheTimes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("30 5 * * *", func(spec *batchv1.CronJobSpec) { spec.TimeZone = new("Asia/Kolkata") })
		b.settle(24*time.Hour + time.Second)
		require.Equal(t, named(24*60), b.names())
		assert.Equal(t, "2000-01-02T05:30:00+05:30", b.jobs()[0].Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"])
		assert.Equal(t, int64(946771200), b.get().Status.LastScheduleTime.Unix())
	})
}

// K111.
func TestAScheduleWithoutAnyTimeIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("0 0 31 2 *")
		b.settle(time.Hour)
		assert.Equal(t, []string{"Warning InvalidSchedule: invalid schedule: 0 0 31 2 * : it has no time within five years"}, b.takeEvents())
		b.change(func(spec *batchv1.CronJobSpec) { spec.Schedule = "* * * * *" })
		b.settle(time.Minute)
		assert.NotEmpty(t, b.names())
	})
}

func TestOnlyTheLastEndedJobsAreKept(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *", history(2, 1))
		b.settle(7*time.Minute + time.Second)
		require.Len(t, b.names(), 7)
		b.change(suspended(true))
		b.takeEvents()
		b.succeed(named(1, 3, 5)...)
		b.fail(named(2, 4)...)
		b.settle(time.Second)
		assert.Equal(t, named(3, 4, 5, 6, 7), b.names())
		assert.Subset(t, b.takeEvents(), []string{"Normal SuccessfulDelete: Deleted job " + named(1)[0], "Normal SuccessfulDelete: Deleted job " + named(2)[0]})
		b.change(history(0, 0))
		b.settle(time.Second)
		assert.Equal(t, named(6, 7), b.names())
	})
}

func TestAJobOfSomebodyElseIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		c := b.create("0 0 1 1 *")
		manual := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "manual", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(c, batchv1.SchemeGroupVersion.WithKind("CronJob"))}}, Spec: c.Spec.JobTemplate.Spec}
		_, err := b.client.Jobs().Create(t.Context(), manual)
		require.NoError(t, err)
		b.settle(time.Second)
		assert.Empty(t, b.activeNames())
		assert.Equal(t, "Warning UnexpectedJob: Saw a job that the controller did not create or forgot: manual", b.takeEvents()[0])
	})
}

// K111.
func TestATakenNameIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		c := b.create("* * * * *")
		_, err := b.client.Jobs().Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: named(1)[0]}, Spec: c.Spec.JobTemplate.Spec})
		require.NoError(t, err)
		b.settle(time.Minute + time.Second)
		assert.Empty(t, b.activeNames())
		assert.Equal(t, []string{"Warning FailedCreate: Error creating job: the job " + named(1)[0] + " exists, and is not of this cron job"}, b.takeEvents())
		b.settle(time.Minute)
		assert.Equal(t, named(2), b.activeNames())
	})
}

// interceptWrites lets a function see each write of the controllers, counted from 1.
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

// The first writes all lose their answers; the jobs end, and are deleted, at once.
func TestThereIsOneJobForATimeWhateverGetsLost(t *testing.T) {
	for _, keep := range []int32{0, 3} {
		for lost := range 6 {
			t.Run(fmt.Sprintf("%d kept, after %d writes", keep, lost), func(t *testing.T) {
				withBench(t, func(t *testing.T, b *bench) {
					var made []string
					b.interceptWrites(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
						isCreate := req.Method == http.MethodPost
						if number <= lost || number == lost+1 {
							recorder := httptest.NewRecorder()
							next.ServeHTTP(recorder, req)
							if isCreate && recorder.Code == http.StatusCreated {
								made = append(made, "one")
								b.succeed(b.names()...)
								time.Sleep(time.Second) // the copy has that
							}
							panic(http.ErrAbortHandler)
						}
						recorder := httptest.NewRecorder()
						next.ServeHTTP(recorder, req)
						if isCreate && recorder.Code == http.StatusCreated {
							made = append(made, "one")
						}
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(recorder.Code)
						_, _ = w.Write(recorder.Body.Bytes())
					})
					b.run()
					b.create("30 * * * *", history(keep, keep))
					b.settle(40 * time.Minute)
					assert.Len(t, made, 1)
					assert.Equal(t, "2000-01-01T00:30:00Z", b.get().Status.LastScheduleTime.UTC().Format(time.RFC3339))
				})
			})
		}
	}
}

func TestAJobWhoseAnswerWasLostIsInTheStatus(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.interceptWrites(func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				next.ServeHTTP(httptest.NewRecorder(), req)
				time.Sleep(time.Second) // the copy has that
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("30 * * * *")
		b.settle(31 * time.Minute)
		assert.Equal(t, named(30), b.activeNames())
		assert.Empty(t, b.takeEvents(), "the job is expected")
	})
}

// The answer to the create is the last that the controller hears of the job.
func TestAJobThatIsGoneAtOnceIsNotMadeAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.interceptWrites(func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodPost {
				next.ServeHTTP(w, req)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, req)
			assert.NoError(t, b.client.Jobs().Delete(t.Context(), named(30)[0], metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
			time.Sleep(time.Second) // the copy has that
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
		b.run()
		b.create("30 * * * *")
		b.settle(40 * time.Minute)
		assert.Empty(t, b.names())
		assert.Equal(t, []string{"Normal SuccessfulCreate: Created job " + named(30)[0], "Normal MissingJob: Active job went missing: " + named(30)[0]}, b.takeEvents())
	})
}

func TestTwoManagersMakeOneJobForATime(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.run()
		b.create("* * * * *")
		b.settle(5*time.Minute + 10*time.Second)
		assert.Equal(t, named(1, 2, 3, 4, 5), b.names())
		assert.Equal(t, named(1, 2, 3, 4, 5), b.activeNames())
		for _, event := range b.takeEvents() {
			assert.Contains(t, event, "SuccessfulCreate")
		}
	})
}
