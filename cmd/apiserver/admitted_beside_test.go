package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/admission"
)

// What the second door has answered stays, also if a plugin changes the same object at the first door
// meanwhile.
func TestAChangeAtTheSecondDoorIsNotLostWhilePluginsAreAskedAtTheFirst(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("web"))
		asked := 0
		d.admitBy(&watchful{change: func(pod *corev1.Pod) {
			if asked++; asked == 2 { // about that change itself
				return
			}
			pod.Spec.Containers[0].ImagePullPolicy = corev1.PullNever
			if asked == 1 {
				d.sendAs(http.StatusOK, "PATCH", todaysPods+"/web", mergePatch, `{"metadata": {"annotations": {"n": "2"}}}`)
			}
		}})
		d.send(http.StatusOK, "PUT", taskPath("web"), taskNamed("web"))
		assert.Equal(t, "2", d.pod("web").Annotations["n"])
		assert.Equal(t, corev1.PullNever, d.pod("web").Spec.Containers[0].ImagePullPolicy)
		assert.Equal(t, 3, asked, "once more about the new version")
	})
}

// An object that is deleted while plugins are asked about its change is not made again under its old UID.
func TestWhatIsDeletedWhilePluginsAreAskedIsGone(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.send(http.StatusOK, "POST", "/api/v1beta1/services", `{"id": "web", "port": 80}`)
		before := read[corev1.Service](d, todaysServices+"/web")
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("web"))
		asked := &deleting{d: d}
		d.admitBy(asked)
		d.send(http.StatusOK, "PUT", "/api/v1beta1/services/web", `{"id": "web", "port": 81}`)
		after := read[corev1.Service](d, todaysServices+"/web")
		assert.NotEqual(t, before.UID, after.UID, "it is another one")
		assert.Equal(t, "CREATE", after.Annotations["by"], "plugins were asked about a new one")

		asked.done = false
		d.send(http.StatusNotFound, "PUT", taskPath("web"), taskNamed("web"))
		assert.Empty(t, d.podNames())
	})
}

// deleting is a plugin that changes what it is asked about, and deletes it before the first answer.
type deleting struct {
	d    *doors
	done bool
}

func (*deleting) Handles(operation admission.Operation) bool { return operation != admission.Delete }

func (p *deleting) Admit(_ context.Context, a *admission.Attributes) error {
	a.Object.SetAnnotations(map[string]string{"by": string(a.Operation)})
	if !p.done {
		p.done = true
		p.d.send(http.StatusOK, "DELETE", "/api/v1/namespaces/default/"+a.Resource.Resource+"/"+a.Name, "")
	}
	return nil
}
