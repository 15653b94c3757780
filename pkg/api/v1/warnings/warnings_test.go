package warnings

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// said is what a function says about an object that replaces an old one, "" for none.
type said struct {
	now, old string
	want     []string
}

func says[T any](t *testing.T, look func(now, old *T) []string, rows map[string]said) {
	t.Helper()
	read := func(text string) *T {
		if text == "" {
			return nil
		}
		object := new(T)
		require.NoError(t, json.Unmarshal([]byte(text), object), text)
		return object
	}
	for name, row := range rows {
		assert.Equal(t, row.want, look(read(row.now), read(row.old)), name)
	}
}

func TestManyWarningsEndWhenTheHeaderOfAnAnswerIsFull(t *testing.T) {
	t.Parallel()
	var pod corev1.Pod
	pod.Spec.Containers = make([]corev1.Container, 1)
	for range 100_000 {
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: 80})
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: fmt.Sprint(len(pod.Spec.ImagePullSecrets))})
	}
	assert.Empty(t, Pod(&pod, nil), "there are too many to compare")
	pod.Spec.ImagePullSecrets = nil
	assert.Len(t, Pod(&pod, nil), most)
}

func TestANameThatIsNoLabelIsNoHostName(t *testing.T) {
	t.Parallel()
	const dotted = `{"metadata":{"name":"a.b"}}`
	ofPods := []string{"metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"}
	rows := map[string]said{"new": {dotted, "", ofPods}, "old": {dotted, dotted, nil}}
	says(t, ReplicationController, rows)
	says(t, ReplicaSet, rows)
	says(t, Deployment, rows)
	says(t, Job, rows)
	says(t, CronJob, rows)
	says(t, Pod, map[string]said{
		"dots": {dotted, "", []string{"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"}},
		"long": {`{"metadata":{"name":"` + strings.Repeat("a", 64) + `"}}`, "",
			[]string{"metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must be no more than 63 characters]"}},
	})
}

func BenchmarkPod(b *testing.B) {
	pod := &corev1.Pod{}
	pod.Name = "web"
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "nginx"}}
	for b.Loop() {
		Pod(pod, nil)
	}
}
