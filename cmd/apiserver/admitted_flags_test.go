package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// alwaysAdmitting are flags of a plugin that changes nothing: both doors ask it.
var alwaysAdmitting = []string{"-admission_control", "AlwaysAdmit"}

// withoutDefaulters are flags of a server that stores pods and nodes as clients send them.
var withoutDefaulters = []string{"-disable_admission_plugins", "TaintNodesByCondition,Priority,DefaultTolerationSeconds,RuntimeClass"}

// ownMasks replace what two servers cannot have in common. The order of managed fields depends on the second in which they were written.
var ownMasks = regexp.MustCompile(`"managedFields":\[[^]]*\]|"(uid|resourceVersion|creationTimestamp|[a-z]*[tT]ime|created)":("[^"]*"|\d+)|[0-9a-f]{8}-[0-9a-f-]{27}|web-[a-z0-9]{5}\b`)

func withoutOwn(text string) string { return ownMasks.ReplaceAllString(text, "MASKED") }

// oddValues are put into the place of each part of a body.
var oddValues = []any{nil, -1, 70000, 1e30, 0.5, "", "a b", "UPPER", strings.Repeat("x", 300), true, []any{}, map[string]any{}, []any{nil}, map[string]any{"x": nil}}

// variants returns a JSON text, and it with each part replaced by each odd value, or left out.
func variants(t *testing.T, text string) (all []string) {
	var whole any
	require.NoError(t, json.Unmarshal([]byte(text), &whole))
	tell := func() { all = append(all, encodeAll(t, whole)) }
	var vary func(part any)
	vary = func(part any) {
		switch part := part.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(part)) {
				own := part[key]
				for _, odd := range oddValues {
					part[key] = odd
					tell()
				}
				delete(part, key)
				tell()
				part[key] = own
				vary(own)
			}
		case []any:
			for i, own := range part {
				for _, odd := range oddValues {
					part[i] = odd
					tell()
				}
				part[i] = own
				vary(own)
			}
		}
	}
	tell()
	vary(whole)
	return append(all, "", "null", "[]", "{", `"x"`)
}

const (
	wholeTask = `{"id": "x", "labels": {"a": "b"}, "desiredState": {"manifest": {"version": "v1beta1", "id": "x", "volumes": [{"name": "v"}], "containers": [{"name": "c", "image": "i:1",
		"command": "run it", "workingDir": "/", "ports": [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "b"}], "memory": 1048576, "cpu": 100,
		"volumeMounts": [{"name": "v", "path": "/v", "readOnly": true}]}]}}}`
	wholeController = `{"id": "x", "labels": {"a": "b"}, "desiredState": {"replicas": 2, "replicasInSet": {"a": "b"},
		"taskTemplate": {"labels": {"a": "b"}, "desiredState": {"manifest": {"version": "v1beta1", "containers": [{"name": "c", "image": "i"}]}}}}}`
	wholeService = `{"id": "x", "port": 80, "labels": {"a": "b"}}`
)

// A plugin that admits everything changes no answer, whatever is sent.
func TestAPluginThatAdmitsEverythingChangesNoAnswer(t *testing.T) {
	t.Parallel()
	for collection, whole := range map[string]string{tasksPath: wholeTask, "/api/v1beta1/replicationControllers": wholeController, "/api/v1beta1/services": wholeService,
		todaysPods: changeable[todaysPods], todaysControllers: changeable[todaysControllers], todaysServices: changeable[todaysServices]} {
		t.Run(collection, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the times in two answers are the same: the clock stands still
				plain, admitted := openDoors(t, withoutDefaulters...), openDoors(t, alwaysAdmitting...)
				same := func(method, path, body string) {
					wantStatus, want := plain.do(method, path, "application/json", body)
					status, answer := admitted.do(method, path, "application/json", body)
					require.Equal(t, wantStatus, status, "%s %s %s %s", method, path, body, answer)
					require.Equal(t, withoutOwn(want), withoutOwn(answer), "%s %s %s", method, path, body)
				}
				for _, body := range variants(t, whole) {
					same("PUT", collection+"/x", body) // which is there only at the first time
					same("POST", collection, body)
					same("GET", collection, "")
					same("PUT", collection+"/x", body)
					same("GET", collection+"/x", "")
					same("DELETE", collection+"/x", "")
					same("DELETE", collection+"/x", "")
					for _, d := range []*doors{plain, admitted} {
						d.do("DELETE", "/api/v1/namespaces/default/"+strings.ToLower(collection[strings.LastIndex(collection, "/")+1:]), "", "")
					}
				}
			})
		})
	}
}

// steps are changes at both doors, of which some are refused.
var steps = [][3]string{
	{"POST", tasksPath, wholeTask}, {"POST", tasksPath, wholeTask}, {"POST", tasksPath, strings.Replace(wholeTask, `"x"`, `"y"`, 1)},
	{"PUT", taskPath("x"), strings.Replace(wholeTask, "i:1", "i:2", 1)}, {"PUT", taskPath("z"), taskNamed("z")}, {"PUT", taskPath("x"), wholeService},
	{"PATCH", todaysPods + "/x", `{"metadata": {"annotations": {"kept": "yes"}}}`}, {"PUT", taskPath("x"), wholeTask},
	{"POST", todaysPods, podWith("pod")}, {"PUT", taskPath("pod"), taskNamed("pod")}, {"POST", todaysPods, podWith("pod")}, {"PATCH", todaysPods + "/pod", `{"spec": {"nodeName": "m2"}}`},
	{"PUT", "/api/v1beta1/services/x", wholeService}, {"PUT", "/api/v1beta1/services/x", `{"id": "x", "port": 81}`}, {"POST", "/api/v1beta1/services", `{"id": "y", "port": 70000}`},
	{"PUT", todaysServices + "/x", changeable[todaysServices]}, {"PUT", todaysServices + "/new", strings.Replace(changeable[todaysServices], `"x"`, `"new"`, 1)},
	{"PUT", "/api/v1beta1/replicationControllers/x", wholeController}, {"PATCH", todaysControllers + "/x", `{"spec": {"replicas": 5}}`},
	{"PUT", "/api/v1beta1/replicationControllers/x", wholeController}, {"POST", todaysControllers, strings.Replace(changeable[todaysControllers], `"x"`, `"y"`, 1)},
	{"POST", "/api/v1/nodes", changeable["/api/v1/nodes"]}, {"POST", "/api/v1/namespaces/other/pods", podWith("other")}, {"POST", todaysEvents, anEvent},
	{"POST", todaysPods + "/pod/binding", `{"metadata": {"name": "pod"}, "target": {"name": "x"}}`}, {"DELETE", taskPath("nowhere"), ""}, {"DELETE", "/api/v1beta1/services/new", ""},
}

// step makes one of the steps, and returns the answer.
func (d *doors) step(step [3]string) (answer string) {
	mediaType := "application/json"
	if step[0] == "PATCH" {
		mediaType = mergePatch
	}
	status, answer := d.do(step[0], step[1], mediaType, step[2])
	return fmt.Sprint(status, " ", answer)
}

// Nor does it change what is stored: tasks, controllers and services stay June 2014's JSON.
func TestAPluginThatAdmitsEverythingChangesNoStoredByte(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		var answers [2][]string
		var stored [2]map[string]string
		for i, flags := range [][]string{withoutDefaulters, alwaysAdmitting} {
			url := b.startOne(t).URL
			d := openDoors(t, append(b.flags(url), append(flags, "-machines", "127.0.0.1")...)...)
			for _, step := range steps {
				answers[i] = append(answers[i], step[0]+" "+step[1]+" "+withoutOwn(d.step(step)))
			}
			stored[i] = b.keys(t, url)
			for key, value := range stored[i] {
				stored[i][key] = withoutOwn(value)
			}
		}
		assert.Equal(t, answers[0], answers[1])
		assert.Equal(t, stored[0], stored[1])
		assert.Greater(t, len(stored[0]), 7)
	})
}

func TestWhatAlwaysDenySaysAtBothDoors(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		before := d.stored() // others may write to the same etcd, so its version tells nothing
		for _, step := range steps {
			answer := d.step(step)
			if strings.Contains(step[1], "v1beta1") && step[0] == "POST" {
				assert.Equal(t, "403 Forbidden: admission control is denying all modifications", answer)
			} else if !strings.HasPrefix(answer, "404") { // of what is not there
				assert.Contains(t, answer, "admission control is denying all modifications")
			}
		}
		assert.Equal(t, before, d.stored())
		assert.Equal(t, "404 Not Found: task \"nowhere\" does not exist", d.step([3]string{"DELETE", taskPath("nowhere"), ""}), "as today's server tells it")
	}, "-admission_control", "AlwaysDeny")
}

// pulls returns when the images of a pod are pulled.
func (d *doors) pulls(name string) (policies []string) {
	for _, container := range d.pod(name).Spec.Containers {
		policies = append(policies, string(container.ImagePullPolicy))
	}
	return policies
}

func TestAlwaysPullImagesAtTheFirstDoor(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		url := b.startOne(t).URL
		d := openDoors(t, append(b.flags(url), "-admission_control", "AlwaysPullImages", "-machines", "127.0.0.1")...)
		plain := openDoors(t, append(b.flags(url), "-machines", "127.0.0.1")...)
		// What June 2014 has said stands as it is; one member beside it has the rest.
		withOne := strings.Replace(taskNamed("web"), `"i"`, `"i:1"`, 1)
		with := func(more string) string { return strings.Replace(withOne, `}]`, `}`+more+`]`, 1) }
		plain.send(http.StatusOK, "POST", tasksPath, withOne)
		before := members(t, b.keys(t, url)[b.taskKey("web")])
		assert.Equal(t, []string{"IfNotPresent"}, plain.pulls("web"))
		plain.send(http.StatusOK, "DELETE", taskPath("web"), "")
		answer := d.send(http.StatusOK, "POST", tasksPath, withOne)
		assert.NotContains(t, answer, "ullPolicy", "the first door knows none")
		assert.Equal(t, []string{"Always"}, d.pulls("web"))
		after := members(t, b.keys(t, url)[b.taskKey("web")])
		assert.Contains(t, string(after["v1"]), `"imagePullPolicy":"Always"`)
		delete(after, "v1")
		assert.Equal(t, before, after)

		// A put without a new image leaves all as it is; one with a new image has all pulled.
		d.send(http.StatusOK, "PUT", taskPath("web"), withOne)
		assert.Equal(t, []string{"Always"}, d.pulls("web"))
		d.send(http.StatusOK, "PUT", taskPath("web"), with(`, {"name": "d", "image": "j:1"}`))
		assert.Equal(t, []string{"Always", "Always"}, d.pulls("web"))
		d.send(http.StatusOK, "PUT", taskPath("web"), with(`, {"name": "d", "image": "j:1"}, {"name": "e", "image": "k:1"}`))
		assert.Equal(t, []string{"Always", "Always", "Always"}, d.pulls("web"))
		assert.Len(t, d.task("web").DesiredState.Manifest.Containers, 3)
		plain.send(http.StatusOK, "PUT", taskPath("web"), withOne)
		assert.Equal(t, []string{"Always"}, plain.pulls("web"), "who has no plugin leaves it")
		d.send(http.StatusCreated, "POST", todaysPods, podWith("pod"))
		assert.Equal(t, []string{"Always"}, d.pulls("pod"))
	})
}

// members returns the members of a JSON object as they stand there.
func members(t *testing.T, text string) (all map[string]json.RawMessage) {
	require.NoError(t, json.Unmarshal([]byte(text), &all))
	return all
}

const someLimits = `{"metadata": {"name": "few"}, "spec": {"limits": [
	{"type": "Container", "max": {"memory": "2Mi"}, "default": {"memory": "1Mi", "cpu": "200m"}, "defaultRequest": {"memory": "512Ki"}}]}}`

// The memory of June 2014 is in bytes, its CPU in thousandths.
func TestLimitsOfContainersAtTheFirstDoor(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.send(http.StatusCreated, "POST", todaysLimits, someLimits)
		withMemory := func(bytes int) string {
			return strings.Replace(taskNamed("web"), `"image": "i"`, fmt.Sprintf(`"image": "i", "memory": %d`, bytes), 1)
		}
		const tooMuch = "403 Forbidden: maximum memory usage per Container is 2Mi, but limit is "
		assert.Equal(t, tooMuch+"2097153", d.step([3]string{"POST", tasksPath, withMemory(2<<20 + 1)}))
		assert.Equal(t, tooMuch+"3Mi", d.step([3]string{"POST", tasksPath, withMemory(3 << 20)}))
		d.send(http.StatusOK, "POST", tasksPath, withMemory(2<<20))
		assert.Equal(t, tooMuch+"3Mi", d.step([3]string{"PUT", taskPath("web"), withMemory(3 << 20)}))
		assert.Equal(t, 2<<20, d.task("web").DesiredState.Manifest.Containers[0].Memory)
		d.send(http.StatusOK, "PUT", taskPath("web"), withMemory(1<<20))
		assert.Equal(t, 1<<20, d.task("web").DesiredState.Manifest.Containers[0].Memory)

		// What a task leaves out is what the limits say, at both doors.
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("small"))
		container := d.task("small").DesiredState.Manifest.Containers[0]
		assert.Equal(t, 1<<20, container.Memory)
		assert.Equal(t, 200, container.CPU)
		resources := d.pod("small").Spec.Containers[0].Resources
		assert.Equal(t, "1Mi 200m 512Ki 200m", fmt.Sprint(resources.Limits.Memory(), " ", resources.Limits.Cpu(), " ", resources.Requests.Memory(), " ", resources.Requests.Cpu()))
		assert.Equal(t, "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c", d.pod("small").Annotations["kubernetes.io/limit-ranger"])
		d.send(http.StatusCreated, "POST", todaysPods, podWith("pod"))
		assert.Equal(t, 1<<20, d.task("pod").DesiredState.Manifest.Containers[0].Memory)
	}, "-admission_control", "LimitRanger")
}

func TestByDefaultLimitsAreNotForTasks(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	d.send(http.StatusCreated, "POST", todaysLimits, someLimits)
	d.send(http.StatusOK, "POST", tasksPath, strings.Replace(taskNamed("web"), `"image": "i"`, `"image": "i", "memory": 3145728`, 1))
	assert.Equal(t, 3<<20, d.task("web").DesiredState.Manifest.Containers[0].Memory)
	d.send(http.StatusOK, "POST", tasksPath, taskNamed("small"))
	assert.Zero(t, d.task("small").DesiredState.Manifest.Containers[0].Memory)
	d.send(http.StatusCreated, "POST", todaysPods, podWith("pod"))
	assert.Equal(t, "1Mi", d.pod("pod").Spec.Containers[0].Resources.Limits.Memory().String())
}

func TestANamespaceThatIsNotThereIsToldAtTheSecondDoor(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"-admission_control", "NamespaceExists"}, {"-admission_control", "NamespaceLifecycle"}, {"-admission_control", "AlwaysAdmit,NamespaceLifecycle"}} {
		d := openDoors(t, flags...)
		other := func(path string) string { return strings.Replace(path, "/default/", "/other/", 1) }
		for path, body := range changeable {
			if !strings.Contains(path, "/default/") || strings.HasPrefix(path, roleAPI) || strings.HasSuffix(path, "/token") {
				continue
			}
			wanted := http.StatusNotFound
			if strings.HasSuffix(path, "/localsubjectaccessreviews") {
				wanted, body = http.StatusCreated, other(strings.Replace(body, `"namespace": "default"`, `"namespace": "other"`, 1))
			}
			if answer := d.send(wanted, "POST", other(path), strings.ReplaceAll(body, `"namespace": "default"`, `"namespace": "other"`)); wanted == http.StatusNotFound {
				assert.Contains(t, answer, `"message":"namespaces \"other\" not found"`, path)
			}
		}
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("web"))
	}
	d := openDoors(t, alwaysAdmitting...)
	d.send(http.StatusNotFound, "POST", "/api/v1/namespaces/other/pods", podWith("web"))
	assert.Empty(t, d.podNames(), "it does not get into the one that is there")
}

func TestSeveralPluginsAreAskedInTheirOrderAndAQuotaLast(t *testing.T) {
	t.Parallel()
	refused := func(d *doors) string {
		return d.step([3]string{"POST", "/api/v1/namespaces/other/pods", podWith("web")})
	}
	assert.Contains(t, refused(openDoors(t, "-admission_control", "NamespaceExists,AlwaysDeny")), `namespaces \"other\" not found`)
	assert.Contains(t, refused(openDoors(t, "-admission_control", "AlwaysDeny,NamespaceExists")), "admission control is denying all modifications")

	d := openDoors(t, "-admission_control", "ResourceQuota,LimitRanger,AlwaysPullImages")
	d.limit(`{"pods": "1"}`)
	d.send(http.StatusCreated, "POST", todaysLimits, someLimits)
	large := strings.Replace(taskNamed("web"), `"image": "i"`, `"image": "i:1", "memory": 3145728`, 1)
	const tooLarge, tooMany = "403 Forbidden: maximum memory usage per Container is 2Mi, but limit is 3Mi", "403 Forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"
	assert.Equal(t, tooLarge, d.step([3]string{"POST", tasksPath, large}))
	d.send(http.StatusOK, "POST", tasksPath, strings.Replace(large, "3145728", "0", 1))
	assert.Equal(t, []string{"Always"}, d.pulls("web"))
	assert.Equal(t, 1<<20, d.task("web").DesiredState.Manifest.Containers[0].Memory)
	assert.Equal(t, tooLarge, d.step([3]string{"POST", tasksPath, strings.ReplaceAll(large, `"web"`, `"other"`)}))
	assert.Equal(t, tooMany, d.step([3]string{"POST", tasksPath, taskNamed("other")}))
}
