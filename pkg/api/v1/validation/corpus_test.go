package validation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/api/v1/defaults"
)

// corpus returns pods of all kinds that a real server takes, by the name of their file.
func corpus(t *testing.T) map[string]*corev1.Pod {
	files, err := filepath.Glob("testdata/pods/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 50)
	pods := map[string]*corev1.Pod{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pod := &corev1.Pod{}
		require.NoError(t, yaml.UnmarshalStrict(text, pod), file)
		pods[filepath.Base(file)] = pod
	}
	return pods
}

func TestPodsThatARealServerTakesAreTaken(t *testing.T) {
	t.Parallel()
	for name, pod := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defaults.Pod(pod)
			assert.Empty(t, ValidatePodCreate(pod))
			pod.ResourceVersion = "1"
			assert.Empty(t, ValidatePodUpdate(pod.DeepCopy(), pod))
			assert.Empty(t, ValidatePodStatusUpdate(pod.DeepCopy(), pod))
		})
	}
}

func TestWhatAPodTakesATemplateTakes(t *testing.T) {
	t.Parallel()
	for name, pod := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rc := controller(nil)
			rc.Spec.Template.Spec = pod.Spec
			rc.Spec.Template.Spec.RestartPolicy, rc.Spec.Template.Spec.ActiveDeadlineSeconds = "", nil
			defaults.ReplicationController(rc)
			assert.Empty(t, ValidateReplicationController(rc))
		})
	}
}
