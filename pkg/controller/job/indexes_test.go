package job_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/master/controllertest"
)

func TestThePodsOfAnIndexedJobKnowTheirIndexes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(4, 2), indexed)
		b.Settle(time.Second)
		require.Equal(t, []string{"pi-0-1", "pi-1-1"}, b.PodNames())
		pod := b.Pod("pi-1-1")
		assert.Equal(t, "1", pod.Labels["batch.kubernetes.io/job-completion-index"])
		assert.Equal(t, "1", pod.Annotations["batch.kubernetes.io/job-completion-index"])
		assert.Equal(t, "kept", pod.Annotations["note"])
		assert.Equal(t, "pi-1", pod.Spec.Hostname)
		require.Len(t, pod.Spec.Containers[0].Env, 1)
		assert.Equal(t, "JOB_COMPLETION_INDEX", pod.Spec.Containers[0].Env[0].Name)
		assert.Equal(t, "metadata.labels['batch.kubernetes.io/job-completion-index']", pod.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath)

		b.fail("pi-0-1")
		b.succeed("pi-1-1")
		b.Settle(15 * time.Second)
		assert.Equal(t, []string{"pi-0-2", "pi-2-1"}, b.activeNames())
		assert.Equal(t, "1", b.get("pi").Status.CompletedIndexes)
		b.succeed("pi-0-2", "pi-2-1")
		b.Settle(time.Second)
		assert.Equal(t, "0-2", b.get("pi").Status.CompletedIndexes)
		b.succeed("pi-3-1")
		b.Settle(time.Second)
		done := b.get("pi").Status
		assert.Equal(t, []any{"0-3", int32(4), int32(1)}, []any{done.CompletedIndexes, done.Succeeded, done.Failed})
		assert.Contains(t, conditions(b.get("pi")), "Complete CompletionsReached: "+reached)
	})
}

func TestAnIndexedJobIsOverOnlyWhenItsPodsAreCounted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		var left [][]string
		b.InterceptWrites("", func(_ int, w http.ResponseWriter, req *http.Request, next http.Handler) {
			next.ServeHTTP(w, req)
			if len(conditions(b.get("pi"))) == 2 {
				left = append(left, b.tracked())
			}
		})
		b.run()
		b.create("pi", counts(2, 2), indexed)
		b.Settle(time.Second)
		b.succeed("pi-0-1", "pi-1-1")
		b.Settle(time.Second)
		assert.Equal(t, [][]string{nil}, left)
	})
}

func TestAnIndexedJobThatIsMadeSmallerForgetsTheOthers(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(5, 5), indexed)
		b.Settle(time.Second)
		b.succeed("pi-1-1", "pi-4-1")
		b.Settle(time.Second)
		b.change("pi", counts(3, 3))
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-0-1", "pi-2-1"}, b.activeNames())
		assert.Equal(t, []any{"1", int32(1)}, []any{b.get("pi").Status.CompletedIndexes, b.get("pi").Status.Succeeded})
	})
}

func TestOfTwoPodsOfAnIndexOneGoes(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		b.run()
		b.create("pi", counts(2, 2), indexed)
		b.Settle(time.Second)
		b.SetStatus("pi-0-1", controllertest.Ready)
		b.fail("pi-1-1") // so that there are not too many in all
		second := b.Pod("pi-0-1")
		second.Name, second.UID, second.ResourceVersion, second.Status = "pi-twice", "", "", corev1.PodStatus{}
		_, err := b.API.Pods().Create(t.Context(), second)
		require.NoError(t, err)
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-0-1"}, b.activeNames())
		second.Name, second.Annotations = "pi-none", nil
		_, err = b.API.Pods().Create(t.Context(), second)
		require.NoError(t, err)
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-0-1"}, b.activeNames())
		assert.Equal(t, int32(1), b.get("pi").Status.Failed)
	})
}

func TestThePodsOfNoIndexOfTheJobAreNotCounted(t *testing.T) {
	withBench(t, func(t *testing.T, b *bench) {
		stop := b.run()
		b.create("pi", counts(2, 2), indexed)
		b.Settle(time.Second)
		stop()
		for name, index := range map[string]string{"pi-none": "", "pi-high": "2"} {
			other := b.Pod("pi-0-1")
			other.Name, other.UID, other.ResourceVersion = name, "", ""
			other.Annotations["batch.kubernetes.io/job-completion-index"] = index
			_, err := b.API.Pods().Create(t.Context(), other)
			require.NoError(t, err)
			b.fail(name)
		}
		b.run()
		b.Settle(time.Second)
		assert.Equal(t, []string{"pi-0-1", "pi-1-1"}, b.tracked())
		assert.Zero(t, b.get("pi").Status.Failed)
	})
}
