package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
)

// watchful is a plugin that remembers what it was asked, and may change pods.
type watchful struct {
	asked  []string
	change func(*corev1.Pod)
}

func (*watchful) Handles(admission.Operation) bool { return true }

func (w *watchful) Admit(_ context.Context, a *admission.Attributes) error {
	if pod, ok := a.Object.(*corev1.Pod); ok && w.change != nil {
		w.change(pod)
	}
	return w.ask("admit", a)
}

func (w *watchful) Validate(_ context.Context, a *admission.Attributes) error {
	return w.ask("validate", a)
}

func (w *watchful) ask(step string, a *admission.Attributes) error {
	words := func(object admission.Object) string {
		if object == nil {
			return "-"
		}
		image := ""
		if pod, ok := object.(*corev1.Pod); ok {
			image = ":" + pod.Spec.Containers[0].Image
		}
		return object.GetName() + image
	}
	text := fmt.Sprintf("%s %s %s %s/%s/%s", step, a.Operation, a.Kind.Kind, a.Namespace, a.Resource.Resource, a.Name)
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	text += " " + words(a.Object) + " " + words(a.OldObject)
	if a.DryRun {
		text += " dry run"
	}
	a.Warn("warned in " + step)
	w.asked = append(w.asked, text)
	return nil
}

const aPodOf = `{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": %q}]}}`

func TestWhatAPluginIsToldAtTheSecondDoor(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-scheduler", "none")
	for _, row := range []struct {
		status                        int
		method, path, mediaType, body string
		asked                         []string
	}{
		{201, "POST", todaysPods, "", fmt.Sprintf(aPodOf, "i"), []string{"admit CREATE Pod default/pods/web web:i -", "validate CREATE Pod default/pods/web web:i -"}},
		{201, "POST", todaysPods + "?dryRun=All", "", strings.Replace(fmt.Sprintf(aPodOf, "i"), "web", "dry", 1),
			[]string{"admit CREATE Pod default/pods/dry dry:i - dry run", "validate CREATE Pod default/pods/dry dry:i - dry run"}},
		{409, "POST", todaysPods, "", fmt.Sprintf(aPodOf, "i"), []string{"admit CREATE Pod default/pods/web web:i -", "validate CREATE Pod default/pods/web web:i -"}},
		{422, "POST", todaysPods, "", `{"metadata": {"name": "No"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`, []string{"admit CREATE Pod default/pods/No No:i -"}},
		{200, "PUT", todaysPods + "/web", "", fmt.Sprintf(aPodOf, "j"), []string{"admit UPDATE Pod default/pods/web web:j web:i", "validate UPDATE Pod default/pods/web web:j web:i"}},
		{200, "PATCH", todaysPods + "/web", mergePatch, `{"metadata": {"labels": {"a": "b"}}}`,
			[]string{"admit UPDATE Pod default/pods/web web:j web:j", "validate UPDATE Pod default/pods/web web:j web:j"}},
		{404, "PUT", todaysPods + "/gone", "", strings.Replace(fmt.Sprintf(aPodOf, "i"), "web", "gone", 1), nil},
		{200, "PATCH", todaysPods + "/web/status", mergePatch, `{"status": {"phase": "Running"}}`,
			[]string{"admit UPDATE Pod default/pods/web/status web:j web:j", "validate UPDATE Pod default/pods/web/status web:j web:j"}},
		{201, "POST", todaysPods + "/web/binding", "", `{"metadata": {"name": "web"}, "target": {"name": "m1"}}`,
			[]string{"admit CREATE Binding default/pods/web/binding web -", "validate CREATE Binding default/pods/web/binding web -"}},
		{201, "PUT", todaysServices + "/new", "", `{"metadata": {"name": "new"}, "spec": {"ports": [{"port": 80}]}}`,
			[]string{"admit CREATE Service default/services/new new -", "validate CREATE Service default/services/new new -"}},
		{404, "DELETE", todaysPods + "/gone", "", "", nil},
		{200, "DELETE", todaysPods + "/web?dryRun=All", "", "", []string{"admit DELETE Pod default/pods/web - web:j dry run", "validate DELETE Pod default/pods/web - web:j dry run"}},
		{200, "DELETE", todaysPods, "", "", []string{"admit DELETE Pod default/pods/ - web:j", "validate DELETE Pod default/pods/ - web:j"}},
		{200, "GET", todaysPods, "", "", nil},
	} {
		plugin := &watchful{}
		d.admitBy(plugin)
		status, answer := d.do(row.method, row.path, row.mediaType, row.body)
		assert.Equal(t, row.status, status, row.method+" "+row.path+" "+answer)
		assert.Equal(t, row.asked, plugin.asked, row.method+" "+row.path)
	}
}

func TestANameIsGeneratedAfterThePluginsThatChange(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	plugin := &watchful{}
	d.admitBy(plugin)
	pod := fromYAML[corev1.Pod](t, d.send(http.StatusCreated, "POST", todaysPods, strings.Replace(fmt.Sprintf(aPodOf, "i"), `"name": "web"`, `"generateName": "web-"`, 1)))
	assert.Equal(t, []string{"admit CREATE Pod default/pods/ :i -", "validate CREATE Pod default/pods/" + pod.Name + " " + pod.Name + ":i -"}, plugin.asked)
}

// What a plugin sets gets through the same defaults, checks and canonical forms as what a client sets.
func TestWhatAPluginChangesIsCheckedAndStoredAtTheSecondDoor(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	add := func(image string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			assert.Equal(t, corev1.DNSClusterFirst, pod.Spec.DNSPolicy, "plugins see the defaults")
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "sidecar", Image: image})
		}
	}
	d.admitBy(&watchful{change: add("s:1")})
	d.send(http.StatusCreated, "POST", todaysPods, fmt.Sprintf(aPodOf, "i"))
	pod := d.pod("web")
	require.Len(t, pod.Spec.Containers, 2)
	assert.Equal(t, corev1.PullIfNotPresent, pod.Spec.Containers[1].ImagePullPolicy)
	assert.Equal(t, corev1.PodQOSBestEffort, pod.Status.QOSClass)

	d.admitBy(&watchful{change: add("")})
	status := fromYAML[metav1.Status](t, d.send(http.StatusUnprocessableEntity, "POST", todaysPods, strings.Replace(fmt.Sprintf(aPodOf, "i"), "web", "other", 1)))
	assert.Contains(t, status.Message, "spec.containers[1].image: Required value")

	d.admitBy(&watchful{change: func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "changed" }})
	d.sendAs(http.StatusOK, "PATCH", todaysPods+"/web", mergePatch, `{"metadata": {"labels": {"a": "b"}}}`)
	assert.Equal(t, "changed", d.pod("web").Spec.Containers[0].Image)
}

func TestAWarningOfAPluginReachesTheClient(t *testing.T) {
	t.Parallel()
	s := openSecure(t)
	s.admitBy(&watchful{})
	_, _, header := askWith(t, http.DefaultClient, credentials{}, "POST", s.insecure+todaysPods, fmt.Sprintf(aPodOf, "i"))
	assert.Equal(t, []string{`299 - "warned in admit"`, `299 - "warned in validate"`}, header.Values("Warning"))
	_, answer, header := askWith(t, http.DefaultClient, credentials{}, "DELETE", s.insecure+"/api/v1beta1/tasks/web", "")
	assert.Contains(t, answer, "true")
	assert.Empty(t, header.Values("Warning"), "June 2014 has none")
}
