package job_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/master/controllertest"
)

const reached = "Reached expected number of succeeded pods"

func TestAJobRunsItsPodToCompletion(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		created := b.create("pi")
		b.Settle(time.Second)
		require.Equal(t, []string{"pi-1"}, b.PodNames())
		pod := b.Pod("pi-1")
		assert.Equal(t, map[string]string{"app": "pi", "controller-uid": string(created.UID), "job-name": "pi",
			"batch.kubernetes.io/controller-uid": string(created.UID), "batch.kubernetes.io/job-name": "pi"}, pod.Labels)
		assert.Equal(t, map[string]string{"note": "kept"}, pod.Annotations)
		assert.Equal(t, []string{"batch.kubernetes.io/job-tracking"}, pod.Finalizers)
		assert.Equal(t, []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "pi", UID: created.UID, Controller: new(true), BlockOwnerDeletion: new(true)}}, pod.OwnerReferences)
		status := b.get("pi").Status
		assert.NotNil(t, status.StartTime)
		assert.Equal(t, batchv1.JobStatus{StartTime: status.StartTime, Active: 1, Ready: new(int32(0)), Terminating: new(int32(0)),
			UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{}}, status)

		b.SetStatus("pi-1", controllertest.Ready)
		b.Settle(time.Second)
		assert.Equal(t, new(int32(1)), b.get("pi").Status.Ready)

		b.succeed("pi-1")
		b.Settle(time.Second)
		done := b.get("pi")
		assert.Equal(t, []string{"SuccessCriteriaMet CompletionsReached: " + reached, "Complete CompletionsReached: " + reached}, conditions(done))
		assert.Equal(t, []int32{0, 1, 0}, []int32{done.Status.Active, done.Status.Succeeded, done.Status.Failed})
		assert.NotNil(t, done.Status.CompletionTime)
		assert.Empty(t, b.tracked())
		assert.Equal(t, []string{"pi Normal SuccessfulCreate: Created pod: pi-1", "pi Normal Completed: Job completed"}, b.TakeEvents())
	})
}

func TestAJobRunsAsManyPodsAtATimeAsItMay(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(5, 2))
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-1", "pi-2"}, b.activeNames())
		b.succeed("pi-1")
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-2", "pi-3"}, b.activeNames())
		b.succeed("pi-2", "pi-3")
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-4", "pi-5"}, b.activeNames())
		b.succeed("pi-4")
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-5"}, b.activeNames(), "no more than must succeed")
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Parallelism = new(int32(0)) })
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-1", "pi-2", "pi-3", "pi-4"}, b.PodNames())
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Parallelism = new(int32(7)) })
		b.Settle(time.Second)
		b.succeed(b.activeNames()...)
		b.Settle(time.Second)
		assert.Equal(t, int32(5), b.get("pi").Status.Succeeded)
		assert.Zero(t, b.get("pi").Status.Failed, "a pod that is not needed has not failed")
		assert.Len(t, conditions(b.get("pi")), 2)
	})
}

func TestAJobWithoutANumberOfCompletionsEndsWithItsPodsWhenOneHasSucceeded(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("work", func(spec *batchv1.JobSpec) { spec.Parallelism = new(int32(3)) })
		b.Settle(time.Second)
		b.succeed("work-2")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"work-1", "work-3"}, b.activeNames())
		b.fail("work-1")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"work-3"}, b.activeNames())
		b.succeed("work-3")
		b.Settle(time.Minute)
		assert.Contains(t, conditions(b.get("work")), "Complete CompletionsReached: "+reached)
		assert.Equal(t, []int32{2, 1}, []int32{b.get("work").Status.Succeeded, b.get("work").Status.Failed})
	})
}

// K110.
func TestFailedPodsAreReplacedAfterGrowingPauses(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", backoffLimit(20))
		b.Settle(time.Second)
		for _, pause := range []time.Duration{10, 20, 40, 80, 160, 320, 600, 600} {
			b.fail(b.activeNames()...)
			b.Settle(pause*time.Second - 2*time.Second)
			require.Empty(t, b.activeNames(), pause)
			b.Settle(4 * time.Second)
			require.Len(t, b.activeNames(), 1, pause)
		}
		assert.Equal(t, int32(8), b.get("pi").Status.Failed)
	})
}

func TestASuccessEndsThePausesAfterFailures(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(3, 1))
		b.Settle(time.Second)
		b.fail("pi-1")
		b.Settle(15 * time.Second)
		b.succeed("pi-2")
		b.Settle(2 * time.Second)
		assert.Equal(t, []string{"pi-3"}, b.activeNames())
		b.fail("pi-3")
		b.Settle(12 * time.Second)
		assert.Equal(t, []string{"pi-4"}, b.activeNames(), "it is the first failure again")
	})
}

func TestAJobFailsAfterTooManyFailures(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(3, 2), backoffLimit(1))
		b.Settle(time.Second)
		b.fail("pi-1")
		b.Settle(15 * time.Second)
		require.Equal(t, []string{"pi-2", "pi-3"}, b.activeNames())
		b.fail("pi-3")
		b.Settle(time.Second)
		const message = "Job has reached the specified backoff limit"
		failed := b.get("pi")
		assert.Equal(t, []string{"FailureTarget BackoffLimitExceeded: " + message, "Failed BackoffLimitExceeded: " + message}, conditions(failed))
		assert.Equal(t, []int32{0, 0, 3}, []int32{failed.Status.Active, failed.Status.Succeeded, failed.Status.Failed}, "also the one that was ended")
		assert.Equal(t, []string{"pi-1", "pi-3"}, b.PodNames())
		assert.Empty(t, b.tracked())
		assert.Equal(t, "pi Warning BackoffLimitExceeded: "+message, b.TakeEvents()[4])
	})
}

func TestRestartsOfContainersCountAsFailures(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", backoffLimit(3), func(spec *batchv1.JobSpec) { spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure })
		b.Settle(time.Second)
		restarted := func(times int32) func(*corev1.PodStatus) {
			return func(status *corev1.PodStatus) {
				controllertest.Ready(status)
				status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: times}}
			}
		}
		b.SetStatus("pi-1", restarted(2))
		b.Settle(time.Second)
		assert.Empty(t, conditions(b.get("pi")))
		b.SetStatus("pi-1", restarted(3))
		b.Settle(time.Second)
		assert.Contains(t, conditions(b.get("pi")), "Failed BackoffLimitExceeded: Job has reached the specified backoff limit")
	})
}

func TestAJobThatTakesTooLongFails(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(60)) })
		b.Settle(58 * time.Second)
		assert.Empty(t, conditions(b.get("pi")))
		b.Settle(4 * time.Second)
		assert.Contains(t, conditions(b.get("pi")), "Failed DeadlineExceeded: Job was active longer than specified deadline")
		assert.Empty(t, b.PodNames())
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
	})
}

func TestAPodThatIsEndedWithItsJobIsCountedEvenIfOnlyFailedOnesAreReplaced(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) {
			spec.ActiveDeadlineSeconds, spec.PodReplacementPolicy = new(int64(60)), new(batchv1.Failed)
		})
		b.Settle(62 * time.Second)
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
		assert.Len(t, conditions(b.get("pi")), 2)
	})
}

// Controllers before 1.36 leave the time.
func TestTheTimeOfAJobBeginsAgainWhenItIsResumed(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) { spec.Suspend = new(true) })
		b.Settle(time.Second)
		before := b.get("pi")
		before.Status.StartTime = new(metav1.Now())
		_, err := b.API.Jobs().UpdateStatus(t.Context(), before)
		require.NoError(t, err)
		b.Settle(time.Hour)
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Suspend = new(false) })
		b.Settle(time.Second)
		assert.Equal(t, time.Hour, b.get("pi").Status.StartTime.Sub(before.Status.StartTime.Time))
	})
}

func TestASuspendedJobHasNoPodsAndStartsAgain(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		suspend := func(yes bool) func(*batchv1.JobSpec) { return func(spec *batchv1.JobSpec) { spec.Suspend = &yes } }
		b.create("pi", counts(4, 2), suspend(true), func(spec *batchv1.JobSpec) { spec.ActiveDeadlineSeconds = new(int64(60)) })
		b.Settle(time.Hour)
		assert.Empty(t, b.PodNames())
		assert.Equal(t, []string{"Suspended JobSuspended: Job suspended"}, conditions(b.get("pi")))
		assert.Nil(t, b.get("pi").Status.StartTime)
		b.change("pi", suspend(false))
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-1", "pi-2"}, b.activeNames())
		assert.Empty(t, conditions(b.get("pi")))
		b.succeed("pi-1")
		b.Settle(time.Second)
		b.change("pi", suspend(true))
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-1"}, b.PodNames())
		status := b.get("pi").Status
		assert.Equal(t, []int32{0, 1, 0}, []int32{status.Active, status.Succeeded, status.Failed})
		b.Settle(time.Hour)
		assert.Equal(t, []string{"Suspended JobSuspended: Job suspended"}, conditions(b.get("pi")), "its time does not run")
		b.change("pi", suspend(false))
		b.Settle(time.Second)
		assert.Len(t, b.activeNames(), 2)
		assert.Subset(t, b.TakeEvents(), []string{"pi Normal Suspended: Job suspended", "pi Normal Resumed: Job resumed"})
	})
}

func TestAPodThatMayNotBeDeletedDoesNotKeepTheOthers(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.RefuseDeletes("/pods/pi-1")
		b.run()
		b.create("pi", counts(4, 4))
		b.Settle(time.Second)
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Suspend = new(true) })
		b.Settle(time.Minute)
		assert.Equal(t, []string{"pi-1"}, b.PodNames())
	})
}

func TestAPodThatIsDeletedEarlyIsCountedAsFailedAndReplaced(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi")
		b.Settle(time.Second)
		b.DeletePod("pi-1")
		b.Settle(15 * time.Second)
		assert.Equal(t, []string{"pi-1"}, b.activeNames(), "its name is free again")
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
		b.succeed("pi-1")
		b.DeletePod("pi-1")
		b.Settle(time.Second)
		assert.Empty(t, b.PodNames())
		assert.Equal(t, []int32{1, 1}, []int32{b.get("pi").Status.Succeeded, b.get("pi").Status.Failed})
	})
}

func TestAPodThatIsBeingDeletedIsWaitedForIfTheJobSaysSo(t *testing.T) {
	for policy, expected := range map[batchv1.PodReplacementPolicy][]string{batchv1.Failed: nil, batchv1.TerminatingOrFailed: {"pi-2"}} {
		t.Run(string(policy), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("pi", func(spec *batchv1.JobSpec) { spec.PodReplacementPolicy = &policy })
				b.Settle(time.Second)
				_, err := b.API.Pods().Change(t.Context(), "pi-1", func(pod *corev1.Pod) error {
					pod.Finalizers = append(pod.Finalizers, "example.com/wait") // as a kubelet that needs its time
					return nil
				})
				require.NoError(t, err)
				b.DeletePod("pi-1")
				b.Settle(time.Minute)
				assert.Equal(t, expected, b.activeNames())
				assert.Equal(t, new(int32(1)), b.get("pi").Status.Terminating)
				b.fail("pi-1")
				b.Settle(time.Minute)
				assert.Equal(t, []string{"pi-2"}, b.activeNames())
				assert.Equal(t, int32(1), b.get("pi").Status.Failed)
				b.succeed("pi-2")
				b.Settle(time.Minute)
				assert.Contains(t, conditions(b.get("pi")), "Complete CompletionsReached: "+reached)
			})
		})
	}
}

func TestAPodThatIsDeletedBeforeItsJobSucceedsHasNotFailedIfOnlyFailedOnesAreReplaced(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) {
			spec.Parallelism, spec.Completions, spec.PodReplacementPolicy = new(int32(2)), nil, new(batchv1.Failed)
		})
		b.Settle(time.Second)
		_, err := b.API.Pods().Change(t.Context(), "pi-1", func(pod *corev1.Pod) error {
			pod.Finalizers = append(pod.Finalizers, "example.com/wait")
			return nil
		})
		require.NoError(t, err)
		b.DeletePod("pi-1")
		b.Settle(time.Minute)
		b.succeed("pi-2")
		b.Settle(time.Minute)
		assert.Equal(t, []string{"example.com/wait"}, b.Pod("pi-1").Finalizers)
		assert.Equal(t, []int32{1, 0}, []int32{b.get("pi").Status.Succeeded, b.get("pi").Status.Failed})
	})
}

func TestAPodOnAMachineStaysBeforeOneThatFitsNowhere(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) { spec.Parallelism, spec.Completions = new(int32(2)), new(int32(2)) })
		b.Settle(time.Second)
		require.NoError(t, b.API.Pods().Bind(t.Context(), &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "pi-2"},
			Target: corev1.ObjectReference{Kind: "Node", Name: "m1"}}))
		b.change("pi", func(spec *batchv1.JobSpec) { spec.Parallelism = new(int32(1)) })
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-2"}, b.activeNames())
	})
}

func TestAJobIsOverOnlyWhenItsLastPodHasEnded(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(2, 2), backoffLimit(0))
		b.Settle(time.Second)
		_, err := b.API.Pods().Change(t.Context(), "pi-1", func(pod *corev1.Pod) error {
			pod.Finalizers = append(pod.Finalizers, "example.com/wait")
			return nil
		})
		require.NoError(t, err)
		b.fail("pi-2")
		b.Settle(time.Minute)
		assert.Len(t, conditions(b.get("pi")), 1, "FailureTarget")
		assert.Equal(t, new(int32(1)), b.get("pi").Status.Terminating)
		b.fail("pi-1")
		b.Settle(time.Minute)
		assert.Len(t, conditions(b.get("pi")), 2)
		assert.Equal(t, int32(2), b.get("pi").Status.Failed)
	})
}

func TestAPodThatLosesItsJobAndItsLabelsAtOnceCanGo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(2, 2))
		b.Settle(time.Second)
		controllertest.Change(t, b.API.Pods().Resource, "pi-1", func(pod *corev1.Pod) { pod.OwnerReferences, pod.Labels = nil, nil })
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-2", "pi-3"}, b.tracked())
		controllertest.Delete(t, b.API.Pods().Resource, "pi-1")
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-2", "pi-3"}, b.PodNames())
	})
}

func TestPodsAreAdoptedAndReleasedByTheirLabels(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		created := b.create("pi", counts(2, 2))
		b.Settle(time.Second)
		change := func(name string, change func(pod *corev1.Pod)) {
			_, err := b.API.Pods().Change(t.Context(), name, func(pod *corev1.Pod) error { change(pod); return nil })
			require.NoError(t, err)
			b.Settle(time.Second)
		}
		change("pi-1", func(pod *corev1.Pod) { pod.OwnerReferences = nil })
		assert.True(t, metav1.IsControlledBy(b.Pod("pi-1"), created))
		assert.Equal(t, []string{"pi-1", "pi-2"}, b.tracked())
		change("pi-1", func(pod *corev1.Pod) { pod.Labels = nil })
		assert.Empty(t, b.Pod("pi-1").OwnerReferences)
		assert.Equal(t, []string{"pi-1", "pi-2", "pi-3"}, b.PodNames())
		assert.Equal(t, []string{"pi-2", "pi-3"}, b.tracked())
		assert.Zero(t, b.get("pi").Status.Failed)
	})
}

func TestThePodsOfADeletedJobCanGo(t *testing.T) {
	for policy, left := range map[metav1.DeletionPropagation]int{metav1.DeletePropagationBackground: 2, metav1.DeletePropagationOrphan: 2} {
		t.Run(string(policy), func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("pi", counts(2, 2))
				b.Settle(time.Second)
				require.NoError(t, b.API.Jobs().Delete(t.Context(), "pi", metav1.DeleteOptions{PropagationPolicy: &policy}))
				b.Settle(time.Second)
				assert.Len(t, b.PodNames(), left, "there is no garbage collector")
				assert.Empty(t, b.tracked())
			})
		})
	}
}

func TestThePodsOfAnEarlierJobOfTheSameNameCanGoAndAreNotCounted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		stop := b.run()
		b.create("pi", counts(2, 2))
		b.Settle(time.Second)
		stop()
		b.succeed("pi-1")
		require.NoError(t, b.API.Jobs().Delete(t.Context(), "pi", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		b.create("pi", counts(2, 2))
		b.run()
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-1", "pi-2", "pi-3", "pi-4"}, b.PodNames())
		assert.Equal(t, []string{"pi-3", "pi-4"}, b.tracked())
		assert.Zero(t, b.get("pi").Status.Succeeded)
	})
}

func TestAJobThatAnotherControllerManagesIsLeftAlone(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) { spec.ManagedBy = new("example.com/kueue") })
		b.create("own", func(spec *batchv1.JobSpec) { spec.ManagedBy = new("kubernetes.io/job-controller") })
		b.Settle(time.Minute)
		assert.Equal(t, []string{"own-1"}, b.PodNames())
		assert.Equal(t, batchv1.JobStatus{}, b.get("pi").Status)
	})
}

// K110.
func TestAJobThatNeedsWhatIsNotSupportedIsLeftAloneAndToldOnce(t *testing.T) {
	for field, change := range map[string]func(*batchv1.JobSpec){
		"spec.podFailurePolicy": func(spec *batchv1.JobSpec) {
			spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{Action: batchv1.PodFailurePolicyActionFailJob,
				OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{42}}}}}
		},
		"spec.backoffLimitPerIndex": func(spec *batchv1.JobSpec) {
			spec.BackoffLimitPerIndex, spec.MaxFailedIndexes = new(int32(1)), new(int32(1))
		},
		"spec.successPolicy": func(spec *batchv1.JobSpec) {
			spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
		},
	} {
		t.Run(field, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				created := b.create("pi", counts(3, 3), indexed, change)
				b.Settle(time.Minute)
				_, err := b.API.Jobs().Change(t.Context(), "pi", func(job *batchv1.Job) error { job.Labels = map[string]string{"changed": "yes"}; return nil })
				require.NoError(t, err)
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "by-today", Labels: created.Spec.Template.Labels, Finalizers: []string{batchv1.JobTrackingFinalizer},
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(created, batchv1.SchemeGroupVersion.WithKind("Job"))}}, Spec: created.Spec.Template.Spec}
				_, err = b.API.Pods().Create(t.Context(), pod)
				require.NoError(t, err)
				b.succeed("by-today")
				b.Settle(time.Minute)
				assert.Equal(t, []string{"by-today"}, b.tracked(), "nobody counts it here")
				assert.Equal(t, batchv1.JobStatus{}, b.get("pi").Status)
				assert.Equal(t, []string{"pi Warning Unsupported: The job is left alone because of " + field +
					", which is not supported here. Today's job-controller runs it"}, b.TakeEvents())
				require.NoError(t, b.API.Jobs().Delete(t.Context(), "pi", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}))
				b.Settle(time.Second)
				assert.Empty(t, b.tracked(), "but it keeps nothing from going")
			})
		})
	}
}

func TestAFinishedJobIsDeletedWhenItsTimeIsOver(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", func(spec *batchv1.JobSpec) { spec.TTLSecondsAfterFinished = new(int32(100)) })
		b.Settle(time.Second)
		b.succeed("pi-1")
		b.Settle(98 * time.Second)
		assert.Nil(t, b.get("pi").DeletionTimestamp)
		b.Settle(4 * time.Second)
		assert.Equal(t, []string{metav1.FinalizerDeleteDependents}, b.get("pi").Finalizers, "the garbage collector deletes it with its pods")
	})
}
