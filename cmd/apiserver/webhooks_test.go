package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/webhook/webhooktest"
)

// hookFlags are flags of a server that asks a webhook about pods.
func hookFlags(t *testing.T, kind string, server *httptest.Server, seconds int, policy string) []string {
	file := filesOf(t).write("admission.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"+webhookOf(kind, server, seconds, policy))
	return []string{"-scheduler", "none", "-admission_control", "NamespaceExists," + kind + "AdmissionWebhook", "-admission_control_config_file", file}
}

// hook is the server of a webhook that answers by a function.
func hook(t *testing.T, answer func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse)) *httptest.Server {
	return webhooktest.Serve(t, func(w http.ResponseWriter, req *http.Request) {
		var review admissionv1.AdmissionReview
		if !assert.NoError(t, json.NewDecoder(req.Body).Decode(&review)) {
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		answer(review.Request, review.Response)
		review.Request = nil
		assert.NoError(t, json.NewEncoder(w).Encode(review))
	})
}

// patch lets an answer change the object.
func patch(says *admissionv1.AdmissionResponse, operations string) {
	jsonPatch := admissionv1.PatchTypeJSONPatch
	says.PatchType, says.Patch = &jsonPatch, []byte(operations)
}

const taskOf = `{"id": "task", "desiredState": {"manifest": {"version": "v1beta1", "containers": [{"name": "c", "image": %q}]}}}`

func TestAWebhookDecidesAtBothDoors(t *testing.T) {
	t.Parallel()
	server := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		var pod corev1.Pod
		if asked.Operation != admissionv1.Delete {
			assert.NoError(t, json.Unmarshal(asked.Object.Raw, &pod))
			assert.Equal(t, "Pod", pod.Kind)
		}
		assert.Equal(t, "system:unsecured", asked.UserInfo.Username)
		if strings.Contains(string(asked.Object.Raw), "evil") {
			says.Allowed, says.Result = false, &metav1.Status{Message: "no evil image"}
		}
	})
	d := openDoors(t, hookFlags(t, "Validating", server, 30, "Fail")...)
	const denied = `admission webhook "pods.example.com" denied the request: no evil image`
	status := fromYAML[metav1.Status](t, d.send(http.StatusBadRequest, "POST", todaysPods, fmt.Sprintf(aPodOf, "evil")))
	assert.Equal(t, denied, status.Message)
	assert.Equal(t, "Bad Request: "+denied, d.send(http.StatusBadRequest, "POST", tasksPath, fmt.Sprintf(taskOf, "evil")))
	d.send(http.StatusCreated, "POST", todaysPods, fmt.Sprintf(aPodOf, "good"))
	d.send(http.StatusOK, "POST", tasksPath, fmt.Sprintf(taskOf, "good"))
	d.send(http.StatusBadRequest, "PUT", taskPath("task"), fmt.Sprintf(taskOf, "evil"))
	d.sendAs(http.StatusBadRequest, "PATCH", todaysPods+"/web", mergePatch, `{"spec": {"containers": [{"name": "c", "image": "evil"}]}}`)
	d.send(http.StatusBadRequest, "POST", todaysPods+"?dryRun=All", strings.Replace(fmt.Sprintf(aPodOf, "evil"), "web", "dry", 1))
	assert.Equal(t, "good", d.task("task").DesiredState.Manifest.Containers[0].Image)
	d.send(http.StatusOK, "DELETE", taskPath("task"), "")
	d.send(http.StatusOK, "DELETE", todaysPods+"/web", "")
}

func TestAWebhookChangesWhatIsStoredAtBothDoors(t *testing.T) {
	t.Parallel()
	server := hook(t, func(asked *admissionv1.AdmissionRequest, says *admissionv1.AdmissionResponse) {
		if asked.Operation == admissionv1.Create {
			patch(says, `[{"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}, {"op": "replace", "path": "/spec/containers/0/image", "value": "safe"}]`)
			says.Warnings = []string{"patched"}
		}
	})
	d := openDoors(t, hookFlags(t, "Mutating", server, 30, "Fail")...)
	d.send(http.StatusCreated, "POST", todaysPods, fmt.Sprintf(aPodOf, "i"))
	answer := d.send(http.StatusOK, "POST", tasksPath, fmt.Sprintf(taskOf, "i"))
	assert.Contains(t, answer, `"safe"`, "the answer tells what is stored")
	for _, name := range []string{"web", "task"} {
		assert.Equal(t, "safe", d.pod(name).Spec.Containers[0].Image)
		assert.Equal(t, map[string]string{"by": "webhook"}, d.task(name).Labels)
	}
	d.send(http.StatusCreated, "POST", todaysPods+"?dryRun=All", strings.Replace(fmt.Sprintf(aPodOf, "i"), "web", "dry", 1))
	d.send(http.StatusNotFound, "GET", todaysPods+"/dry", "")
}

func TestAWebhookThatFailsDecidesByItsPolicyAtBothDoors(t *testing.T) {
	t.Parallel()
	failures := map[string]http.HandlerFunc{
		"rubbish": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("s3cret")) },
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "s3cret", http.StatusInternalServerError)
		},
		"away": nil,
		"hangs": func(_ http.ResponseWriter, req *http.Request) {
			_, _ = io.Copy(io.Discard, req.Body) // else net/http does not tell that the client has gone
			<-req.Context().Done()
		},
	}
	for name, failure := range failures {
		for _, kind := range []string{"Mutating", "Validating"} {
			for policy, lets := range map[string]bool{"Fail": false, "Ignore": true} {
				t.Run(name+", "+kind+", "+policy, func(t *testing.T) {
					t.Parallel()
					server := webhooktest.Serve(t, failure)
					seconds := 30
					switch name {
					case "away":
						server.Close()
					case "hangs":
						seconds = 1
					}
					d := openDoors(t, hookFlags(t, kind, server, seconds, policy)...)
					if lets {
						d.send(http.StatusCreated, "POST", todaysPods, fmt.Sprintf(aPodOf, "i"))
						d.send(http.StatusOK, "POST", tasksPath, fmt.Sprintf(taskOf, "i"))
						return
					}
					status := fromYAML[metav1.Status](t, d.send(http.StatusInternalServerError, "POST", todaysPods, fmt.Sprintf(aPodOf, "i")))
					assert.Contains(t, status.Message, `Internal error occurred: failed calling webhook "pods.example.com": `)
					answer := d.send(http.StatusInternalServerError, "POST", tasksPath, fmt.Sprintf(taskOf, "i"))
					assert.Contains(t, answer, `Internal Error: failed calling webhook "pods.example.com": `)
					assert.NotContains(t, answer+status.Message, "s3cret")
					assert.Empty(t, d.podNames())
				})
			}
		}
	}
}
