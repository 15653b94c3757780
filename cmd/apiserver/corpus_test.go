package main

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kube2014/pkg/api/v1/defaults"
)

// manifests returns YAML of pods that a real server takes, by the pod's name.
func manifests(t *testing.T) map[string]string {
	files, err := filepath.Glob("../../pkg/api/v1/validation/testdata/pods/*.yaml")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[fromYAML[corev1.Pod](t, string(text)).Name] = string(text)
	}
	require.GreaterOrEqual(t, len(texts), 50)
	return texts
}

func fromYAML[Object any](t *testing.T, text string) (object Object) {
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &object))
	return object
}

// dropServers drops the metadata that the server sets.
func dropServers(meta *metav1.ObjectMeta) {
	meta.UID, meta.ResourceVersion, meta.Generation, meta.CreationTimestamp, meta.ManagedFields = "", "", 0, metav1.Time{}, nil
}

// assertSame compares objects as JSON: quantities that are equal may differ in memory.
func assertSame(t *testing.T, wanted, got interface{}, what string) {
	t.Helper()
	assert.JSONEq(t, encodeAll(t, wanted), encodeAll(t, got), what)
}

// checkPod compares the pod that the second door shows with its manifest.
func checkPod(t *testing.T, d *doors, manifest string) {
	t.Helper()
	wanted := fromYAML[corev1.Pod](t, manifest)
	wanted.APIVersion, wanted.Kind, wanted.Namespace = "v1", "Pod", metav1.NamespaceDefault
	defaults.Pod(&wanted)
	got := d.pod(wanted.Name)
	assert.Equal(t, corev1.PodPending, got.Status.Phase)
	dropServers(&got.ObjectMeta)
	wanted.Status, got.Status = corev1.PodStatus{}, corev1.PodStatus{}
	assertSame(t, wanted, got, wanted.Name)
}

// controllerOf returns a controller of pods like a manifest, if such pods can have one.
func controllerOf(t *testing.T, manifest string) *corev1.ReplicationController {
	pod := fromYAML[corev1.Pod](t, manifest)
	pod.Spec.RestartPolicy, pod.Spec.ActiveDeadlineSeconds = "", nil // what a template may not have
	pod.Labels = map[string]string{"name": pod.Name}
	replicas := int32(3)
	return &corev1.ReplicationController{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ReplicationController"},
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: metav1.NamespaceDefault},
		Spec: corev1.ReplicationControllerSpec{Replicas: &replicas, Selector: pod.Labels, Template: &corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels, Annotations: pod.Annotations}, Spec: pod.Spec}},
	}
}

func checkController(t *testing.T, d *doors, manifest string) {
	t.Helper()
	wanted := controllerOf(t, manifest)
	defaults.ReplicationController(wanted)
	got := read[corev1.ReplicationController](d, todaysControllers+"/"+wanted.Name)
	dropServers(&got.ObjectMeta)
	got.Status = corev1.ReplicationControllerStatus{}
	assertSame(t, wanted, got, wanted.Name)
}

// putBack gets an object at the first door, and puts it there as it is.
func putBack(d *doors, path string) {
	d.t.Helper()
	d.send(http.StatusOK, "PUT", path, d.send(http.StatusOK, "GET", path, ""))
}

// A manifest that a real server takes is taken, and comes back with every field: as a
// pod, and as the template of a controller, also after the first door has put it back.
func TestAManifestComesBackWithEveryField(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		for name, manifest := range manifests(t) {
			d.sendAs(http.StatusCreated, "POST", todaysPods, inYAML, manifest)
			checkPod(t, d, manifest)
			before := d.pod(name)
			putBack(d, taskPath(name))
			after := d.pod(name)
			after.ResourceVersion = before.ResourceVersion
			assertSame(t, before, after, name)

			template, err := yaml.Marshal(controllerOf(t, manifest))
			require.NoError(t, err)
			d.sendAs(http.StatusCreated, "POST", todaysControllers, inYAML, string(template))
			checkController(t, d, manifest)
			putBack(d, "/api/v1beta1/replicationControllers/"+name)
			checkController(t, d, manifest)
		}
	}, append(withoutDefaulters, "-scheduler", "none")...)
}

// What one apiserver has stored, the next one answers to the byte.
func TestManifestsOutliveTheApiserver(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		flags = append(append(flags, withoutDefaulters...), "-scheduler", "none")
		first := openDoors(t, flags...)
		for _, manifest := range manifests(t) {
			first.sendAs(http.StatusCreated, "POST", todaysPods, inYAML, manifest)
			first.send(http.StatusCreated, "POST", todaysControllers, encodeAll(t, controllerOf(t, manifest)))
		}
		next := openDoors(t, flags...)
		for name, manifest := range manifests(t) {
			checkPod(t, next, manifest)
			checkController(t, next, manifest)
			for _, path := range []string{todaysPods + "/" + name, todaysControllers + "/" + name, taskPath(name)} {
				assert.Equal(t, first.send(http.StatusOK, "GET", path, ""), next.send(http.StatusOK, "GET", path, ""))
			}
		}
	})
}
