package cronjob_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/controller/cronjob"
	"kube2014/pkg/master/controllertest"
)

const resync = 10 * time.Second // as in the controller manager

// bench is a server with a cron job controller, and what that says.
type bench struct{ *controllertest.Bench }

// withBench runs a test in a bubble, whose clock begins at midnight, UTC, on January 1, 2000.
func withBench(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	controllertest.InBubble(t, func(t *testing.T, shared *controllertest.Bench) { test(t, &bench{shared}) })
}

// run runs a new controller. What it returns ends it, and waits for that.
func (b *bench) run() (stop func()) {
	return controllertest.Run(b.Bench, resync, cronjob.NewCronJobController)
}

func (b *bench) create(schedule string, changes ...func(spec *batchv1.CronJobSpec)) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "tick"}, Spec: batchv1.CronJobSpec{Schedule: schedule, JobTemplate: batchv1.JobTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "tick"}, Annotations: map[string]string{"note": "kept"}},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "c", Image: "i"}}}}},
	}}}
	for _, change := range changes {
		change(&c.Spec)
	}
	return controllertest.Create(b.T, b.API.CronJobs(), c)
}

func (b *bench) get() *batchv1.CronJob { return controllertest.Get(b.T, b.API.CronJobs(), "tick") }

func (b *bench) change(change func(spec *batchv1.CronJobSpec)) {
	controllertest.Change(b.T, b.API.CronJobs(), "tick", func(c *batchv1.CronJob) { change(&c.Spec) })
}

func (b *bench) jobs() []*batchv1.Job { return controllertest.List(b.T, b.API.Jobs()) }

// names returns the names of all jobs, sorted.
func (b *bench) names() []string { return controllertest.Names(b.jobs()) }

// named returns the names of the jobs of some minutes of the bubble.
func named(minutes ...int) (names []string) {
	for _, minute := range minutes {
		names = append(names, fmt.Sprintf("tick-%d", 15778080+minute))
	}
	return names
}

// activeNames returns the names of the jobs that the status says run.
func (b *bench) activeNames() (names []string) {
	b.T.Helper()
	for _, active := range b.get().Status.Active {
		names = append(names, active.Name)
	}
	return names
}

// finish lets a job end, as its controller would.
func (b *bench) finish(name string, conditions ...batchv1.JobConditionType) {
	b.T.Helper()
	job := controllertest.Get(b.T, b.API.Jobs(), name)
	job.Status.StartTime = &job.CreationTimestamp
	for _, condition := range conditions {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	if slices.Contains(conditions, batchv1.JobComplete) {
		job.Status.CompletionTime = new(metav1.Now())
	}
	_, err := b.API.Jobs().UpdateStatus(b.T.Context(), job)
	require.NoError(b.T, err)
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
		b.Settle(5 * time.Minute)
		assert.Empty(t, b.names())
		b.Settle(time.Second)
		require.Equal(t, named(5), b.names())
		job := b.jobs()[0]
		assert.Equal(t, map[string]string{"app": "tick"}, job.Labels)
		assert.Equal(t, map[string]string{"note": "kept", "batch.kubernetes.io/cronjob-scheduled-timestamp": "2000-01-01T00:05:00Z"}, job.Annotations)
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "tick", UID: c.UID, Controller: new(true), BlockOwnerDeletion: new(true)}}, job.OwnerReferences)
		status := b.get().Status
		assert.Equal(t, "2000-01-01T00:05:00Z", status.LastScheduleTime.UTC().Format(time.RFC3339))
		assert.Equal(t, []corev1.ObjectReference{{Kind: "Job", APIVersion: "batch/v1", Namespace: "default", Name: job.Name, UID: job.UID, ResourceVersion: job.ResourceVersion}}, status.Active)
		b.Settle(5 * time.Minute)
		assert.Equal(t, named(5, 10), b.names())
		assert.Equal(t, []string{"tick Normal SuccessfulCreate: Created job " + named(5)[0], "tick Normal SuccessfulCreate: Created job " + named(10)[0]}, b.TakeEvents())
	})
}

func TestAnEndedJobLeavesTheStatus(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *")
		b.Settle(3*time.Minute + time.Second)
		require.Len(t, b.activeNames(), 3)
		b.TakeEvents()
		b.succeed(named(1)...)
		b.Settle(time.Second)
		assert.Equal(t, named(2, 3), b.activeNames())
		assert.Equal(t, "2000-01-01T00:03:01Z", b.get().Status.LastSuccessfulTime.UTC().Format(time.RFC3339))
		b.fail(named(2)...)
		require.NoError(t, b.API.Jobs().Delete(t.Context(), named(3)[0], metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		b.Settle(time.Second)
		assert.Empty(t, b.activeNames())
		assert.ElementsMatch(t, []string{"tick Normal SawCompletedJob: Saw completed job: " + named(1)[0] + ", condition: Complete",
			"tick Normal SawCompletedJob: Saw completed job: " + named(2)[0] + ", condition: Failed", "tick Normal MissingJob: Active job went missing: " + named(3)[0]}, b.TakeEvents())
		b.Settle(50 * time.Second)
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
				b.Settle(3*time.Minute + time.Second)
				var names []string
				for _, job := range b.jobs() {
					if job.DeletionTimestamp == nil {
						names = append(names, job.Name)
					}
				}
				assert.Equal(t, expected, names)
				assert.Equal(t, expected, b.activeNames())
				events := b.TakeEvents()
				switch policy {
				case batchv1.ForbidConcurrent:
					assert.Contains(t, events, "tick Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid")
					b.succeed(named(1)...)
					b.Settle(time.Second)
					assert.Equal(t, named(3), b.activeNames(), "the last time is made good")
				case batchv1.ReplaceConcurrent:
					assert.Contains(t, events, "tick Normal SuccessfulDelete: Deleted job "+named(1)[0])
					assert.NotContains(t, events, "tick Normal MissingJob: Active job went missing: "+named(1)[0])
				}
			})
		})
	}
}

func TestASuspendedCronJobStartsNothing(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *", suspended(true))
		b.Settle(150 * time.Second)
		assert.Empty(t, b.names())
		b.change(suspended(false))
		b.Settle(time.Second)
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
				b.Settle(test.missed)
				b.run()
				b.Settle(time.Second)
				assert.Equal(t, test.expected, b.names())
				assert.Equal(t, test.warns, slices.Contains(b.TakeEvents(), "tick Warning TooManyMissedTimes: too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"))
			})
		})
	}
}

func TestATimeZoneMovesTheTimes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("30 5 * * *", func(spec *batchv1.CronJobSpec) { spec.TimeZone = new("Asia/Kolkata") })
		b.Settle(24*time.Hour + time.Second)
		require.Equal(t, named(24*60), b.names())
		assert.Equal(t, "2000-01-02T05:30:00+05:30", b.jobs()[0].Annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"])
		assert.Equal(t, int64(946771200), b.get().Status.LastScheduleTime.Unix())
	})
}

func TestAChangedScheduleStartsNothingAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*batchv1.CronJobSpec)
		later  []string
	}{
		"schedule":  {func(spec *batchv1.CronJobSpec) { spec.Schedule = "0 6 * * *" }, named(8*60, 30*60)},
		"time zone": {func(spec *batchv1.CronJobSpec) { spec.TimeZone = new("America/Sao_Paulo") }, named(8 * 60)}, // 8:00 there is 10:00, in summer
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("0 8 * * *")
				b.Settle(15 * time.Hour)
				require.Equal(t, named(8*60), b.names())
				b.change(test.change)
				b.Settle(time.Hour)
				assert.Equal(t, named(8*60), b.names(), "6:00 and 10:00 were not missed")
				b.Settle(15 * time.Hour)
				assert.Equal(t, test.later, b.names())
			})
		})
	}
}

// K111.
func TestAScheduleWithoutAnyTimeIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("0 0 31 2 *")
		b.Settle(time.Hour)
		assert.Equal(t, []string{"tick Warning InvalidSchedule: invalid schedule: 0 0 31 2 * : it has no time within five years"}, b.TakeEvents())
		b.change(func(spec *batchv1.CronJobSpec) { spec.Schedule = "* * * * *" })
		b.Settle(time.Minute + time.Second)
		assert.NotEmpty(t, b.names())
	})
}

func TestOnlyTheLastEndedJobsAreKept(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("* * * * *", history(2, 1))
		b.Settle(7*time.Minute + time.Second)
		require.Len(t, b.names(), 7)
		b.change(suspended(true))
		b.TakeEvents()
		b.succeed(named(1, 3, 5)...)
		b.fail(named(2, 4)...)
		b.Settle(time.Second)
		assert.Equal(t, named(3, 4, 5, 6, 7), b.names())
		assert.Subset(t, b.TakeEvents(), []string{"tick Normal SuccessfulDelete: Deleted job " + named(1)[0], "tick Normal SuccessfulDelete: Deleted job " + named(2)[0]})
		b.change(history(0, 0))
		b.Settle(time.Second)
		assert.Equal(t, named(6, 7), b.names())
	})
}

func TestAJobThatMayNotBeDeletedKeepsNeitherOthersNorNewOnes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.RefuseDeletes("/jobs/" + named(1)[0])
		b.run()
		b.create("* * * * *", history(0, 0))
		b.Settle(2*time.Minute + time.Second)
		b.succeed(named(1, 2)...)
		b.Settle(time.Minute)
		assert.Equal(t, named(1, 3), b.names())
	})
}

func TestAJobOfSomebodyElseIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		c := b.create("0 0 1 1 *")
		manual := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "manual", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(c, batchv1.SchemeGroupVersion.WithKind("CronJob"))}}, Spec: c.Spec.JobTemplate.Spec}
		_, err := b.API.Jobs().Create(t.Context(), manual)
		require.NoError(t, err)
		b.Settle(time.Second)
		assert.Empty(t, b.activeNames())
		assert.Equal(t, "tick Warning UnexpectedJob: Saw a job that the controller did not create or forgot: manual", b.TakeEvents()[0])
		b.Settle(3 * resync)
		assert.Empty(t, b.TakeEvents(), "a resync tells nothing again")
	})
}

// K111.
func TestATakenNameIsTold(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		c := b.create("* * * * *")
		_, err := b.API.Jobs().Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: named(1)[0]}, Spec: c.Spec.JobTemplate.Spec})
		require.NoError(t, err)
		b.Settle(time.Minute + time.Second)
		assert.Empty(t, b.activeNames())
		assert.Equal(t, []string{"tick Warning FailedCreate: Error creating job: the job " + named(1)[0] + " exists, and is not of this cron job"}, b.TakeEvents())
		b.Settle(time.Minute)
		assert.Equal(t, named(2), b.activeNames())
	})
}

// The first writes all lose their answers; the jobs end, and are deleted, at once.
func TestThereIsOneJobForATimeWhateverGetsLost(t *testing.T) {
	for _, keep := range []int32{0, 3} {
		for lost := range 6 {
			t.Run(fmt.Sprintf("%d kept, after %d writes", keep, lost), func(t *testing.T) {
				withBench(t, func(t *testing.T, b *bench) {
					var made []string
					b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
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
					b.Settle(40 * time.Minute)
					assert.Len(t, made, 1)
					assert.Equal(t, "2000-01-01T00:30:00Z", b.get().Status.LastScheduleTime.UTC().Format(time.RFC3339))
				})
			})
		}
	}
}

func TestAJobWhoseAnswerWasLostIsInTheStatus(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if number == 1 {
				next.ServeHTTP(httptest.NewRecorder(), req)
				time.Sleep(time.Second) // the copy has that
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("30 * * * *")
		b.Settle(31 * time.Minute)
		assert.Equal(t, named(30), b.activeNames())
		assert.Empty(t, b.TakeEvents(), "the job is expected")
	})
}

// The answer to the create is the last that the controller hears of the job.
func TestAJobThatIsGoneAtOnceIsNotMadeAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.InterceptWrites("", func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method != http.MethodPost {
				next.ServeHTTP(w, req)
				return
			}
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, req)
			assert.NoError(t, b.API.Jobs().Delete(t.Context(), named(30)[0], metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
			time.Sleep(time.Second) // the copy has that
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(answer.Body.Bytes())
		})
		b.run()
		b.create("30 * * * *")
		b.Settle(40 * time.Minute)
		assert.Empty(t, b.names())
		assert.Equal(t, []string{"tick Normal SuccessfulCreate: Created job " + named(30)[0], "tick Normal MissingJob: Active job went missing: " + named(30)[0]}, b.TakeEvents())
	})
}

func TestTwoManagersMakeOneJobForATime(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.run()
		b.create("* * * * *")
		b.Settle(5*time.Minute + 10*time.Second)
		assert.Equal(t, named(1, 2, 3, 4, 5), b.names())
		assert.Equal(t, named(1, 2, 3, 4, 5), b.activeNames())
		for _, event := range b.TakeEvents() {
			assert.Contains(t, event, "SuccessfulCreate")
		}
	})
}
