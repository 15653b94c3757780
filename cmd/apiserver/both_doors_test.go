package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"kube2014/pkg/options"
)

// bothDoors returns a server in memory with both doors.
func bothDoors() http.Handler {
	return assembled("-machines", "127.0.0.1", "-request_timeout", hangs.String())
}

// assembled returns a server in memory with flags.
func assembled(flags ...string) http.Handler {
	o, err := options.Parse(flags)
	utilruntime.Must(err)
	o.Admission.NoAccounts = true // no loop runs
	m, err := createMaster(config, o, nil)
	utilruntime.Must(err)
	return m.Server.PrepareRun().InsecureHandler()
}

func ask(handler http.Handler, method, path, body string) (int, []byte) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder.Code, recorder.Body.Bytes()
}

func TestAWriteThatNamesAStaleVersionNeverWins(t *testing.T) {
	t.Parallel()
	const path, firstPath = "/api/v1/namespaces/default/replicationcontrollers", "/api/v1beta1/replicationControllers"
	server := bothDoors()
	controller := func(version string, n int) string {
		return fmt.Sprintf(`{"metadata":{"name":"web","resourceVersion":%q,"annotations":{"n":"%d"}},"spec":{"replicas":%d,"selector":{"a":"b"},
			"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, version, n, n)
	}
	status, text := ask(server, "POST", path, controller("", 0))
	require.Equal(t, 201, status, "%s", text)

	const clients, each = 8, 10
	var won atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() { // increments at the second door
			for i := 0; i < each; {
				_, text := ask(server, "GET", path+"/web", "")
				var read metav1.PartialObjectMetadata
				var n int
				assert.NoError(t, json.Unmarshal(text, &read))
				_, err := fmt.Sscan(read.Annotations["n"], &n)
				assert.NoError(t, err)
				switch status, text := ask(server, "PUT", path+"/web", controller(read.ResourceVersion, n+1)); status {
				case 200:
					won.Add(1)
					i++
				case 409:
				default:
					t.Errorf("%d %s", status, text)
					return
				}
			}
		})
		all.Go(func() { // puts back at the first door what it has read there
			for range each {
				_, text := ask(server, "GET", firstPath+"/web", "")
				status, text := ask(server, "PUT", firstPath+"/web", string(text))
				assert.Contains(t, []int{200, 409}, status, "%s", text)
			}
		})
	}
	all.Wait()
	var last metav1.PartialObjectMetadata
	_, text = ask(server, "GET", path+"/web", "")
	require.NoError(t, json.Unmarshal(text, &last))
	assert.Equal(t, fmt.Sprint(won.Load()), last.Annotations["n"])
}

func TestBothDoorsShowTheSamePods(t *testing.T) {
	t.Parallel()
	server := bothDoors()
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			name := fmt.Sprintf("pod-%d", client)
			pod := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"n":"%d"}},"spec":{"containers":[{"name":"c","image":"i:%d"}]}}`, name, client, client)
			task := fmt.Sprintf(`{"id":"task-%d","labels":{"n":"%d"},"desiredState":{"manifest":{"containers":[{"name":"c","image":"i"}]}}}`, client, client)
			status, text := ask(server, "POST", "/api/v1/namespaces/default/pods", pod)
			assert.Equal(t, 201, status, "%s", text)
			status, text = ask(server, "POST", "/api/v1beta1/tasks", task)
			assert.Less(t, status, 300, "%s", text)
			if client%2 == 0 {
				ask(server, "DELETE", "/api/v1beta1/tasks/"+name, "")
				ask(server, "DELETE", fmt.Sprintf("/api/v1/namespaces/default/pods/task-%d", client), "")
			}
		})
	}
	all.Wait()
	type shown struct{ host, image, label string }
	first, second := map[string]shown{}, map[string]shown{}
	var tasks struct {
		Items []struct {
			ID           string
			Labels       map[string]string
			CurrentState struct{ Host string }
			DesiredState struct {
				Manifest struct{ Containers []struct{ Image string } }
			}
		}
	}
	_, text := ask(server, "GET", "/api/v1beta1/tasks", "")
	require.NoError(t, json.Unmarshal(text, &tasks))
	for _, task := range tasks.Items {
		first[task.ID] = shown{task.CurrentState.Host, task.DesiredState.Manifest.Containers[0].Image, task.Labels["n"]}
	}
	var pods struct {
		Items []struct {
			Metadata metav1.ObjectMeta
			Spec     struct {
				NodeName   string
				Containers []struct{ Image string }
			}
		}
	}
	_, text = ask(server, "GET", "/api/v1/pods", "")
	require.NoError(t, json.Unmarshal(text, &pods))
	for _, pod := range pods.Items {
		second[pod.Metadata.Name] = shown{pod.Spec.NodeName, pod.Spec.Containers[0].Image, pod.Metadata.Labels["n"]}
	}
	assert.Len(t, first, 8)
	assert.Equal(t, first, second)
}

// K82: June 2014 knows no finalizers, and no time to end.
func TestADeleteAtTheFirstDoorPassesOverFinalizers(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		pod := podNamed("kept")
		pod.Finalizers = []string{"example.com/keep"}
		d.createPod(pod)
		d.send(http.StatusOK, "DELETE", taskPath("kept"), "")
		d.send(http.StatusNotFound, "GET", todaysPods+"/kept", "")
	})
}

func TestAPatchOfNothingDoesNotChangeWhatTheFirstDoorWrote(t *testing.T) {
	const namespaced = "/api/v1/namespaces/default/"
	container := func(name string) string {
		return fmt.Sprintf(`"desiredState":{"manifest":{"containers":[{"name":%q,"image":"i"}]}}`, name)
	}
	controller := func(name string) string {
		return fmt.Sprintf(`{"id":"web","desiredState":{"replicas":0,"replicasInSet":{"a":"b"},"taskTemplate":{%s,"labels":{"a":"b"}}},"labels":{"a":"b"}}`, container(name))
	}
	rows := []struct{ first, object, changed, second string }{
		{"tasks", `{"id":"web",` + container("c") + `}`, "", namespaced + "pods"},
		{"services", `{"id":"web","port":80}`, `{"id":"web","port":81}`, namespaced + "services"},
		{"replicationControllers", controller("c"), controller("d"), namespaced + "replicationcontrollers"},
	}
	atBothDoors(t, func(t *testing.T, d *doors) {
		for _, row := range rows {
			path := "/api/v1beta1/" + row.first
			d.send(http.StatusOK, "POST", path, row.object)
			isUnchanged := func() {
				before := read[metav1.PartialObjectMetadata](d, row.second+"/web")
				patched := d.sendAs(http.StatusOK, "PATCH", row.second+"/web", mergePatch, `{}`)
				assert.Contains(t, patched, fmt.Sprintf(`"resourceVersion":%q`, before.ResourceVersion))
			}
			isUnchanged()
			if row.changed != "" {
				d.sendAs(http.StatusOK, "PATCH", row.second+"/web", mergePatch, `{"metadata":{"finalizers":["example.com/x"]}}`)
				d.send(http.StatusOK, "PUT", path+"/web", row.changed)
				isUnchanged()
			}
		}
	})
}
