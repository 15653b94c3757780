package job_test

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kube2014/pkg/master/controllertest"
	"kube2014/pkg/master/servertest"
)

// The controller is killed after each of its writes, with the answer lost; the next one goes on.
func TestAControllerThatIsKilledAtAnyWriteLosesAndDoublesNothing(t *testing.T) {
	for write := 1; write <= 25; write++ {
		t.Run(strconv.Itoa(write), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				killed := make(chan struct{})
				b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
					if number == write {
						defer close(killed)
						controllertest.LoseAnswer(w, req, next)
					}
					next.ServeHTTP(w, req)
				})
				stop := b.run()
				go func() {
					<-killed
					stop()
					b.Intercept(nil)
					b.run()
				}()
				b.create("pi", counts(4, 2))
				b.Settle(5 * time.Second)
				b.fail("pi-1")
				b.Settle(15 * time.Second)
				b.succeed("pi-2")
				b.Settle(time.Second)
				for len(conditions(b.get("pi"))) == 0 {
					require.LessOrEqual(t, len(b.activeNames()), 2)
					b.succeed(b.activeNames()...)
					b.Settle(30 * time.Second)
				}
				status := b.get("pi").Status
				assert.Equal(t, []int32{4, 1, 0}, []int32{status.Succeeded, status.Failed, status.Active})
				assert.Equal(t, []string{"pi-1", "pi-2", "pi-3", "pi-4", "pi-5"}, b.PodNames())
				assert.Empty(t, b.tracked())
				select {
				case <-killed:
				default:
					close(killed)
				}
			})
		})
	}
}

func TestALostAnswerMakesNoSecondPod(t *testing.T) {
	for name, lose := range controllertest.Losses {
		for mode, change := range map[string]func(*batchv1.JobSpec){"indexed": indexed, "not indexed": func(*batchv1.JobSpec) {}} {
			t.Run(name+", "+mode, func(t *testing.T) {
				withBench(t, func(t *testing.T, b *bench) {
					b.InterceptWrites("", func(number int, w http.ResponseWriter, req *http.Request, next http.Handler) {
						if number%2 == 1 && number < 20 {
							lose(w, req, next)
							return
						}
						next.ServeHTTP(w, req)
					})
					b.run()
					b.create("pi", counts(5, 5), change)
					b.Settle(5 * time.Minute)
					assert.Len(t, b.PodNames(), 5)
					assert.Equal(t, int32(5), b.get("pi").Status.Active)
				})
			})
		}
	}
}

// A lower name becomes free while the pod of the lost answer is not seen yet.
func TestWhatHadNoAnswerIsAskedForAgainBeforeLowerNames(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		_, err := b.API.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pi-1"}, Spec: newJob("x").Spec.Template.Spec})
		require.NoError(t, err)
		gate := make(chan struct{}, 1) // full while the watch is held up
		creates := 0
		var mu sync.Mutex
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			isCreate := controllertest.IsControllers(req, http.MethodPost)
			if controllertest.IsWatch(req, "/pods") {
				w = controllertest.Hold(w, func() {
					gate <- struct{}{}
					<-gate
				})
			}
			if isCreate {
				mu.Lock()
				creates++
				first := creates == 1
				mu.Unlock()
				if first {
					b.DeletePod("pi-1")
					time.Sleep(time.Second) // the copy has that
					gate <- struct{}{}
					controllertest.LoseAnswer(w, req, next)
				}
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi")
		b.Settle(10 * time.Second)
		<-gate
		b.Settle(time.Minute)
		assert.Equal(t, []string{"pi-2"}, b.PodNames())
		for _, event := range b.TakeEvents() {
			assert.NotContains(t, event, "Deleted", "there were never two")
		}
	})
}

// Another controller has counted a pod that this one never saw.
func TestNoPodIsCreatedFromAStaleCopyOfTheJob(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		gate := make(chan struct{}, 1) // full while the watch is held up
		var mu sync.Mutex
		refuses := true
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			mu.Lock()
			isRefused := refuses && controllertest.IsControllers(req, http.MethodPost)
			mu.Unlock()
			if isRefused {
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			if controllertest.IsWatch(req, "/jobs") {
				w = controllertest.Hold(w, func() {
					gate <- struct{}{}
					<-gate
				})
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi")
		b.Settle(time.Second)
		gate <- struct{}{}
		counted := b.get("pi")
		counted.Status.Succeeded = 1
		_, err := b.API.Jobs().UpdateStatus(t.Context(), counted)
		require.NoError(t, err)
		mu.Lock()
		refuses = false
		mu.Unlock()
		b.Settle(2 * time.Minute)
		<-gate
		b.Settle(time.Minute)
		assert.Contains(t, conditions(b.get("pi")), "Complete CompletionsReached: "+reached)
		for _, event := range b.TakeEvents() {
			assert.NotContains(t, event, "SuccessfulCreate")
		}
	})
}

func TestARefusedCreateIsToldAndTriedAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		refused := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if controllertest.IsControllers(req, http.MethodPost) && refused < 3 {
				refused++
				controllertest.Refuse(w, http.StatusForbidden, "Forbidden", "exceeded quota: pods")
				return
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"pi-1"}, b.PodNames())
		assert.Equal(t, "pi Warning FailedCreate: Error creating: exceeded quota: pods", b.TakeEvents()[0])
	})
}

// One that took over has a copy of the pods that is older than the status of the job.
func TestAPodThatIsCountedAlreadyIsNotCountedAgainFromAStaleCopy(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		stopFirst := b.run()
		b.create("pi", counts(3, 1))
		b.Settle(time.Second)
		b.fail("pi-1")
		b.Settle(2 * time.Second)
		require.Equal(t, int32(1), b.get("pi").Status.Failed)
		stopFirst()

		// Make the pod as it was, for the copy, and let the watch tell nothing until it is gone again.
		restore := func(finalizers ...string) {
			_, err := b.API.Pods().Change(t.Context(), "pi-1", func(pod *corev1.Pod) error { pod.Finalizers = finalizers; return nil })
			require.NoError(t, err)
		}
		restore(batchv1.JobTrackingFinalizer)
		held := make(chan struct{})
		lists := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if controllertest.IsWatch(req, "/pods") {
				<-held
			}
			next.ServeHTTP(w, req)
			if req.UserAgent() != "test" && !controllertest.IsWatch(req, "") && req.URL.Path == "/api/v1/pods" && lists == 0 {
				lists++
				restore()
				_, err := b.API.Jobs().Change(t.Context(), "pi", func(job *batchv1.Job) error { job.Annotations = map[string]string{"newer": "yes"}; return nil })
				require.NoError(t, err)
			}
		})
		b.run()
		b.Settle(30 * time.Second)
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
		close(held)
		b.Settle(time.Minute)
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
		assert.Equal(t, []string{"pi-2"}, b.activeNames())
	})
}

// Its pods have random names. One is recorded and has its finalizer, one is recorded and has none any
// more, one is recorded and gone, and one has ended since.
func TestAJobIsTakenOverFromTodaysControllerInTheMiddle(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		job := b.create("pi", counts(5, 4))
		uids := map[string]types.UID{}
		for _, name := range []string{"pi-x2b7k", "pi-k8d4f", "pi-zz9qp", "pi-m5c6v"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "pi-", Labels: job.Spec.Template.Labels,
				Finalizers:      []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}}, Spec: job.Spec.Template.Spec}
			created, err := b.API.Pods().Create(t.Context(), pod)
			require.NoError(t, err)
			uids[name] = created.UID
		}
		b.succeed("pi-x2b7k", "pi-k8d4f", "pi-m5c6v")
		b.fail("pi-zz9qp")
		job.Status = batchv1.JobStatus{StartTime: new(metav1.Now()), Active: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{
			Succeeded: []types.UID{uids["pi-x2b7k"], uids["pi-k8d4f"]}, Failed: []types.UID{uids["pi-zz9qp"]}}}
		_, err := b.API.Jobs().UpdateStatus(t.Context(), job)
		require.NoError(t, err)
		for _, name := range []string{"pi-k8d4f", "pi-zz9qp"} {
			_, err := b.API.Pods().Change(t.Context(), name, func(pod *corev1.Pod) error { pod.Finalizers = nil; return nil })
			require.NoError(t, err)
		}
		b.DeletePod("pi-zz9qp")
		b.run()
		b.Settle(time.Second)
		status := b.get("pi").Status
		assert.Equal(t, []int32{3, 1}, []int32{status.Succeeded, status.Failed})
		assert.Equal(t, &batchv1.UncountedTerminatedPods{}, status.UncountedTerminatedPods)
		assert.Equal(t, []string{"pi-1", "pi-2"}, b.tracked())
		assert.Equal(t, []string{"pi-1", "pi-2"}, b.activeNames())
	})
}

// The copy does not show yet that the pod has succeeded when the job is suspended.
func TestAPodThatSucceedsWhileItIsRemovedIsCounted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		gate := make(chan struct{}, 1) // full while the watch is held up
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if controllertest.IsWatch(req, "/pods") {
				w = controllertest.Hold(w, func() {
					gate <- struct{}{}
					<-gate
				})
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi", counts(2, 2))
		b.Settle(time.Second)
		gate <- struct{}{}
		b.succeed("pi-1")
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Suspend = new(true) })
		b.Settle(10 * time.Second)
		<-gate
		b.Settle(time.Minute)
		assert.Equal(t, int32(1), b.get("pi").Status.Succeeded)
		assert.Equal(t, []string{"pi-1"}, b.PodNames())
	})
}

func TestPodsAreNotListedAsLongAsTheCopyIsGoodEnough(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		lists := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if controllertest.IsControllers(req, http.MethodGet) && req.URL.Path == "/api/v1/namespaces/default/pods" {
				mu.Lock()
				lists++
				mu.Unlock()
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi", counts(6, 3))
		b.Settle(time.Second)
		for range 6 { // one after the other: the copy may miss what changes while the job is counted
			b.succeed(b.activeNames()[0])
			b.Settle(time.Second)
		}
		assert.Len(t, conditions(b.get("pi")), 2)
		assert.Zero(t, lists)
	})
}

func TestNoMorePodsAreCreatedWhenTheJobChangesMeanwhile(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		creates := 0
		b.InterceptWrites("", func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.Method == http.MethodPost {
				if creates++; creates == 5 {
					b.change("pi", func(spec *batchv1.JobSpec) { spec.Suspend = new(true) })
					time.Sleep(time.Second) // the copy has that
				}
			}
			next.ServeHTTP(w, req)
		})
		b.run()
		b.create("pi", counts(50, 50))
		b.Settle(time.Minute)
		assert.Equal(t, 5, creates)
		assert.Empty(t, b.PodNames())
	})
}

func TestMoreThan500PodsAreCountedInSteps(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		most := 0
		b.Intercept(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
			if req.UserAgent() != "test" && strings.HasSuffix(req.URL.Path, "/status") {
				servertest.Edit(t, req, func(sent *batchv1.Job) { most = max(most, len(sent.Status.UncountedTerminatedPods.Succeeded)) })
			}
			next.ServeHTTP(w, req)
		})
		stop := b.run()
		b.create("many", counts(600, 600))
		b.Settle(time.Second)
		require.Len(t, b.PodNames(), 600)
		stop()
		b.succeed(b.PodNames()...)
		b.run()
		b.Settle(time.Second)
		assert.Equal(t, int32(600), b.get("many").Status.Succeeded)
		assert.Len(t, conditions(b.get("many")), 2)
		assert.Equal(t, 500, most)
	})
}

// Whatever goes wrong, each pod is counted once.
func TestEachPodIsCountedOnceWhateverGoesWrong(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				random := controllertest.NewRandom(seed, 2)
				b.Intercept(random.Faults(25))
				changes := []func(*batchv1.JobSpec){counts(30, 4), backoffLimit(1000)}
				if seed%2 == 1 {
					changes = append(changes, indexed)
				}
				b.create("pi", changes...)
				stop := b.run()
				succeeded, failed := map[string]bool{}, map[string]bool{} // by uid
				for range 400 {
					switch pods := b.Pods(); {
					case random.IntN(25) == 0:
						stop()
						synctest.Wait()
						stop = b.run()
					case len(pods) > 0:
						pod := pods[random.IntN(len(pods))]
						if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil {
							_ = b.API.Pods().Delete(t.Context(), pod.Name, metav1.DeleteOptions{}) // it may be gone
							break
						}
						code := int32(random.IntN(2))
						exits(code)(&pod.Status)
						if _, err := b.API.Pods().UpdateStatus(t.Context(), pod); err != nil {
							break // the controller was faster
						}
						if code == 0 {
							succeeded[string(pod.UID)] = true
						} else {
							failed[string(pod.UID)] = true
						}
					}
					time.Sleep(random.Milliseconds(5000))
				}
				b.Intercept(nil)
				for i := 0; len(conditions(b.get("pi"))) < 2 && i < 100; i++ {
					b.Settle(11 * time.Minute)
					for _, pod := range b.Pods() {
						if pod.Status.Phase == corev1.PodPending || pod.Status.Phase == "" {
							b.succeed(pod.Name)
							succeeded[string(pod.UID)] = true
						}
					}
				}
				status := b.get("pi").Status
				assert.Contains(t, conditions(b.get("pi")), "Complete CompletionsReached: "+reached)
				assert.Equal(t, int32(30), status.Succeeded)
				assert.Len(t, succeeded, 30, "there were no more than needed")
				assert.Equal(t, len(failed), int(status.Failed))
				assert.Empty(t, b.tracked())
				stop()
				b.Settle(time.Minute) // for watches that are held
			})
		})
	}
}
