package job_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestThePodsOfAnIndexedJobKnowTheirIndexes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(4, 2), indexed)
		b.settle(time.Second)
		require.Equal(t, []string{"pi-0-1", "pi-1-1"}, b.names())
		pod := b.pod("pi-1-1")
		assert.Equal(t, "1", pod.Labels["batch.kubernetes.io/job-completion-index"])
		assert.Equal(t, "1", pod.Annotations["batch.kubernetes.io/job-completion-index"])
		assert.Equal(t, "kept", pod.Annotations["note"])
		assert.Equal(t, "pi-1", pod.Spec.Hostname)
		require.Len(t, pod.Spec.Containers[0].Env, 1)
		assert.Equal(t, "JOB_COMPLETION_INDEX", pod.Spec.Containers[0].Env[0].Name)
		assert.Equal(t, "metadata.labels['batch.kubernetes.io/job-completion-index']", pod.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath)

		b.fail("pi-0-1")
		b.succeed("pi-1-1")
		b.settle(15 * time.Second)
		assert.Equal(t, []string{"pi-0-2", "pi-2-1"}, b.activeNames())
		assert.Equal(t, "1", b.get("pi").Status.CompletedIndexes)
		b.succeed("pi-0-2", "pi-2-1")
		b.settle(time.Second)
		assert.Equal(t, "0-2", b.get("pi").Status.CompletedIndexes)
		b.succeed("pi-3-1")
		b.settle(time.Second)
		done := b.get("pi").Status
		assert.Equal(t, []any{"0-3", int32(4), int32(1)}, []any{done.CompletedIndexes, done.Succeeded, done.Failed})
		assert.Contains(t, conditions(b.get("pi")), "Complete CompletionsReached: "+reached)
	})
}

func TestAnIndexedJobIsOverOnlyWhenItsPodsAreCounted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var left [][]string
		b.interceptWrites(func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(w, req)
			if len(conditions(b.get("pi"))) == 2 {
				left = append(left, b.tracked())
			}
		})
		b.run()
		b.create("pi", counts(2, 2), indexed)
		b.settle(time.Second)
		b.succeed("pi-0-1", "pi-1-1")
		b.settle(time.Second)
		assert.Equal(t, [][]string{nil}, left)
	})
}

func TestAnIndexedJobThatIsMadeSmallerForgetsTheOthers(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(5, 5), indexed)
		b.settle(time.Second)
		b.succeed("pi-1-1", "pi-4-1")
		b.settle(time.Second)
		b.change("pi", counts(3, 3))
		b.settle(time.Second)
		assert.Equal(t, []string{"pi-0-1", "pi-2-1"}, b.activeNames())
		assert.Equal(t, []any{"1", int32(1)}, []any{b.get("pi").Status.CompletedIndexes, b.get("pi").Status.Succeeded})
	})
}

func TestOfTwoPodsOfAnIndexOneGoes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(2, 2), indexed)
		b.settle(time.Second)
		b.setStatus("pi-0-1", runs)
		b.fail("pi-1-1") // so that there are not too many in all
		second := b.pod("pi-0-1")
		second.Name, second.UID, second.ResourceVersion, second.Status = "pi-twice", "", "", corev1.PodStatus{}
		_, err := b.client.Pods().Create(t.Context(), second)
		require.NoError(t, err)
		b.settle(time.Second)
		assert.Equal(t, []string{"pi-0-1"}, b.activeNames())
		second.Name, second.Annotations = "pi-none", nil
		_, err = b.client.Pods().Create(t.Context(), second)
		require.NoError(t, err)
		b.settle(time.Second)
		assert.Equal(t, []string{"pi-0-1"}, b.activeNames())
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
	})
}

func perIndex(limit int32) func(*batchv1.JobSpec) {
	return func(spec *batchv1.JobSpec) { spec.BackoffLimitPerIndex = &limit }
}

func TestEachIndexMayFailSoManyTimes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(3, 3), indexed, perIndex(1))
		b.settle(time.Second)
		assert.Equal(t, "0", b.pod("pi-0-1").Annotations["batch.kubernetes.io/job-index-failure-count"])
		b.fail("pi-0-1")
		b.succeed("pi-1-1")
		b.settle(5 * time.Second)
		assert.Equal(t, []string{"pi-0-1", "pi-2-1"}, b.tracked(), "the failed pod waits for the next one")
		assert.Equal(t, []string{"pi-2-1"}, b.activeNames())
		b.settle(10 * time.Second)
		assert.Equal(t, []string{"pi-0-2", "pi-2-1"}, b.activeNames())
		assert.Equal(t, "1", b.pod("pi-0-2").Annotations["batch.kubernetes.io/job-index-failure-count"])
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
		b.fail("pi-0-2")
		b.settle(5 * time.Minute)
		assert.Equal(t, []string{"pi-2-1"}, b.activeNames(), "the index has failed, the others go on")
		assert.Equal(t, new("0"), b.get("pi").Status.FailedIndexes)
		b.succeed("pi-2-1")
		b.settle(time.Second)
		failed := b.get("pi")
		assert.Equal(t, []string{"FailureTarget FailedIndexes: Job has failed indexes", "Failed FailedIndexes: Job has failed indexes"}, conditions(failed))
		assert.Equal(t, []any{"1,2", int32(2), int32(2)}, []any{failed.Status.CompletedIndexes, failed.Status.Succeeded, failed.Status.Failed})
		assert.Empty(t, b.tracked())
	})
}

func TestAJobFailsWhenTooManyOfItsIndexesHave(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(4, 4), indexed, perIndex(0), func(spec *batchv1.JobSpec) { spec.MaxFailedIndexes = new(int32(1)) })
		b.settle(time.Second)
		b.fail("pi-0-1")
		b.settle(time.Second)
		assert.Empty(t, conditions(b.get("pi")))
		b.fail("pi-2-1")
		b.settle(time.Second)
		assert.Contains(t, conditions(b.get("pi")), "Failed MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes")
		assert.Equal(t, new("0,2"), b.get("pi").Status.FailedIndexes)
		assert.Equal(t, int32(4), b.get("pi").Status.Failed)
	})
}

// failurePolicy lets exit codes have results.
func failurePolicy(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.JobSpec) {
	return func(spec *batchv1.JobSpec) { spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} }
}

func onExit(action batchv1.PodFailurePolicyAction, operator batchv1.PodFailurePolicyOnExitCodesOperator, codes ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: operator, Values: codes}}
}

func TestAnExitCodeFailsTheWholeJobIfAPolicySaysSo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(2, 2), failurePolicy(onExit("FailJob", "In", 42)))
		b.settle(time.Second)
		b.setStatus("pi-1", exits(42))
		b.settle(time.Second)
		const message = "Container c for pod default/pi-1 failed with exit code 42 matching FailJob rule at index 0"
		assert.Equal(t, []string{"FailureTarget PodFailurePolicy: " + message, "Failed PodFailurePolicy: " + message}, conditions(b.get("pi")))
	})
}

func TestAFailureThatAPolicyIgnoresIsNotCounted(t *testing.T) {
	for name, policy := range map[string]batchv1.PodFailurePolicyRule{
		"by the exit code": onExit("Ignore", "NotIn", 1),
		"by the condition": {Action: "Ignore", OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget", Status: "True"}}},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("pi", backoffLimit(0), failurePolicy(policy))
				b.settle(time.Second)
				b.setStatus("pi-1", func(status *corev1.PodStatus) {
					exits(137)(status)
					status.Conditions = append(status.Conditions, corev1.PodCondition{Type: "DisruptionTarget", Status: "True"})
				})
				b.settle(15 * time.Second)
				assert.Equal(t, []string{"pi-2"}, b.activeNames())
				assert.Equal(t, []string{"pi-2"}, b.tracked())
				assert.Zero(t, b.get("pi").Status.Failed)
				b.fail("pi-2")
				b.settle(time.Second)
				assert.Contains(t, conditions(b.get("pi")), "Failed BackoffLimitExceeded: Job has reached the specified backoff limit")
			})
		})
	}
}

func TestAnExitCodeFailsItsIndexIfAPolicySaysSo(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(3, 3), indexed, perIndex(5), failurePolicy(onExit("FailIndex", "In", 42), onExit("Ignore", "In", 43)))
		b.settle(time.Second)
		b.setStatus("pi-0-1", exits(42))
		b.setStatus("pi-1-1", exits(43))
		b.settle(15 * time.Second)
		assert.Equal(t, new("0"), b.get("pi").Status.FailedIndexes)
		require.Equal(t, []string{"pi-1-2", "pi-2-1"}, b.activeNames())
		next := b.pod("pi-1-2").Annotations
		assert.Equal(t, []string{"0", "1"}, []string{next["batch.kubernetes.io/job-index-failure-count"], next["batch.kubernetes.io/job-index-ignored-failure-count"]})
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
	})
}

func TestAJobSucceedsWhenAPolicySaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		rules   []batchv1.SuccessPolicyRule
		succeed []string
		message string
	}{
		"all of some indexes":  {[]batchv1.SuccessPolicyRule{{SucceededIndexes: new("0,2-3")}}, []string{"pi-0-1", "pi-2-1", "pi-3-1"}, "Matched rules at index 0"},
		"a number of them":     {[]batchv1.SuccessPolicyRule{{SucceededIndexes: new("0,2-3"), SucceededCount: new(int32(1))}}, []string{"pi-2-1"}, "Matched rules at index 0"},
		"a number of any":      {[]batchv1.SuccessPolicyRule{{SucceededIndexes: new("4")}, {SucceededCount: new(int32(2))}}, []string{"pi-0-1", "pi-3-1"}, "Matched rules at index 1"},
		"those that are known": {[]batchv1.SuccessPolicyRule{{SucceededIndexes: new("0,77")}}, []string{"pi-0-1"}, "Matched rules at index 0"},
	} {
		t.Run(name, func(t *testing.T) {
			withBench(t, func(t *testing.T, b *bench) {
				b.run()
				b.create("pi", counts(5, 5), indexed, func(spec *batchv1.JobSpec) { spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: test.rules} })
				b.settle(time.Second)
				for _, name := range test.succeed {
					assert.Empty(t, conditions(b.get("pi")))
					b.succeed(name)
					b.settle(time.Second)
				}
				assert.Equal(t, []string{"SuccessCriteriaMet SuccessPolicy: " + test.message, "Complete SuccessPolicy: " + test.message}, conditions(b.get("pi")))
				assert.Len(t, b.names(), len(test.succeed), "the others are ended")
				assert.Equal(t, int32(len(test.succeed)), b.get("pi").Status.Succeeded)
			})
		})
	}
}
