package v1

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
)

func withToken(change func(*corev1.PodSpec)) corev1.Pod {
	mount := corev1.VolumeMount{Name: "kube-api-access-abcde", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	pod := corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/d"}, mount}}, {Name: "b", VolumeMounts: []corev1.VolumeMount{mount}}, {Name: "c"}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "kube-api-access-abcde", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}}},
	}}
	if change != nil {
		change(&pod.Spec)
	}
	complete(&pod)
	return pod
}

// throughBoth returns a pod as a task, and that as a pod after a change at the first door.
func throughBoth(t *testing.T, pod corev1.Pod, change func(*api.Task)) (api.Task, corev1.Pod) {
	task, err := inPod(*pod.DeepCopy())
	require.NoError(t, err)
	if change != nil {
		change(&task)
	}
	out, err := outPod(task)
	require.NoError(t, err)
	return task, out
}

func TestJune2014DoesNotSeeTheVolumeOfTheToken(t *testing.T) {
	t.Parallel()
	pod := withToken(nil)
	task, out := throughBoth(t, pod, nil)
	assert.Equal(t, pod.Spec, out.Spec)
	manifest := task.DesiredState.Manifest
	assert.Equal(t, []api.Volume{{Name: "data"}}, manifest.Volumes)
	assert.Equal(t, []api.VolumeMount{{Name: "data", MountPath: "/d"}}, manifest.Containers[0].VolumeMounts)
	assert.Nil(t, manifest.Containers[1].VolumeMounts)

	alone := withToken(func(spec *corev1.PodSpec) {
		spec.Volumes, spec.Containers = spec.Volumes[1:], spec.Containers[1:]
	})
	task, out = throughBoth(t, alone, nil)
	assert.Equal(t, alone.Spec, out.Spec)
	assert.Nil(t, task.DesiredState.Manifest.Volumes)
}

func TestTheVolumeOfTheTokenStaysWhenTheFirstDoorChangesTheTask(t *testing.T) {
	t.Parallel()
	pod := withToken(nil)
	_, out := throughBoth(t, pod, func(task *api.Task) {
		manifest := &task.DesiredState.Manifest
		manifest.Volumes = []api.Volume{{Name: "other"}}
		manifest.Containers[0].VolumeMounts, manifest.Containers[1].Image = nil, "x"
	})
	assert.Equal(t, []string{"other", "kube-api-access-abcde"}, []string{out.Spec.Volumes[0].Name, out.Spec.Volumes[1].Name})
	assert.Equal(t, pod.Spec.Containers[0].VolumeMounts[1:], out.Spec.Containers[0].VolumeMounts)
	assert.Equal(t, pod.Spec.Containers[1].VolumeMounts, out.Spec.Containers[1].VolumeMounts)
	assert.Empty(t, out.Spec.Containers[2].VolumeMounts)
}

func TestAVolumeThatOnlyLooksLikeThatOfTheTokenIsSeen(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.PodSpec){
		"it is another kind of volume": func(spec *corev1.PodSpec) {
			spec.Volumes[1].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		},
		"it is not the last one": func(spec *corev1.PodSpec) { spec.Volumes[0], spec.Volumes[1] = spec.Volumes[1], spec.Volumes[0] },
		"its mount is not the last one": func(spec *corev1.PodSpec) {
			mounts := spec.Containers[0].VolumeMounts
			mounts[0], mounts[1] = mounts[1], mounts[0]
		},
	} {
		pod := withToken(change)
		task, out := throughBoth(t, pod, nil)
		assert.Equal(t, pod.Spec, out.Spec, name)
		assert.Len(t, task.DesiredState.Manifest.Volumes, 2, name)
		assert.Len(t, task.DesiredState.Manifest.Containers[0].VolumeMounts, 2, name)
	}
}
