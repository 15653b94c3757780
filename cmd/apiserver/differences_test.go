package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/storage"
)

// onTwoMachines opens both doors of an apiserver in memory.
func onTwoMachines(t *testing.T, flags ...string) *doors {
	d := openDoors(t, append([]string{"-machines", "m1,m2"}, flags...)...)
	d.Loops.RegisterMachines()
	return d
}

const (
	tasksPath = "/api/v1beta1/tasks"
	podsPath  = todaysPods
)

// mustAsk sends a request, with headers "Name: value", that must have this status, and
// returns the answer.
func (d *doors) mustAsk(wanted int, method, path, body string, headers ...string) string {
	d.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, req)
	require.Equal(d.t, wanted, recorder.Code, "%s %s: %s", method, path, recorder.Body)
	return recorder.Body.String()
}

// pod returns a pod with one container, and what its spec has besides.
func pod(name, more string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"i"%s}]}}`, name, more)
}

func onPort(port int) string {
	return fmt.Sprintf(`,"ports":[{"containerPort":80,"hostPort":%d}]`, port)
}

func task(id string, port int) string {
	return fmt.Sprintf(`{"id":%q,"labels":{"name":"web"},"desiredState":{"manifest":{"containers":[{"image":"i","ports":[{"hostPort":%d,"containerPort":80}]}]}}}`, id, port)
}

func TestK7WhatTheSecondDoorHasNotWrittenHasNoManagedFields(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", tasksPath, task("a", 8080))
	assert.NotContains(t, d.mustAsk(200, "GET", podsPath+"/a", ""), "managedFields")
	d.mustAsk(200, "PATCH", podsPath+"/a", `{}`, "Content-Type: application/merge-patch+json")
	assert.NotContains(t, d.mustAsk(200, "GET", podsPath+"/a", ""), "managedFields", "nothing has changed")
	labelled := d.mustAsk(200, "PATCH", podsPath+"/a?fieldManager=me", `{"metadata":{"labels":{"by":"me"}}}`, "Content-Type: application/merge-patch+json")
	assert.Regexp(t, `"manager":"kube2014".*"f:labels":{".":{},"f:name":{}}.*"manager":"me".*"f:labels":{"f:by":{}}`, labelled)
	put := strings.Replace(task("a", 8080), `"name":"web"`, `"name":"db","by":"me"`, 1)
	d.mustAsk(200, "PUT", tasksPath+"/a", put)
	applied := d.mustAsk(409, "PATCH", podsPath+"/a?fieldManager=other", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"name":"x"}}}`, "Content-Type: application/apply-patch+yaml")
	assert.Contains(t, applied, `conflict with \"kube2014\" using v1: .metadata.labels.name`)
}

func TestK103NothingIsCreatedAtAStatus(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	const services = "/api/v1/namespaces/default/services"
	service := func(more string) string {
		return `{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"` + more + `},"spec":{"ports":[{"port":80}]}}`
	}
	d.mustAsk(404, "PUT", services+"/x/status", service(""))
	for path, config := range map[string]string{services + "/x/status": service(""), podsPath + "/x/status": pod("x", "")} {
		d.mustAsk(404, "PATCH", path+"?fieldManager=m", config, "Content-Type: application/apply-patch+yaml")
	}
	created := d.mustAsk(201, "PATCH", services+"/x?fieldManager=m", service(`,"resourceVersion":"1","deletionTimestamp":"2020-01-01T00:00:00Z"`), "Content-Type: application/apply-patch+yaml")
	assert.NotContains(t, created, `"deletionTimestamp"`)
	headless := strings.Replace(service(""), `"ports"`, `"clusterIP":"None","ports"`, 1)
	assert.Contains(t, d.mustAsk(201, "POST", services, strings.Replace(headless, `"x"`, `"y"`, 1)), "f:clusterIPs")

	d.mustAsk(201, "POST", podsPath, pod("x", ""))
	assert.Contains(t, d.mustAsk(200, "PATCH", podsPath+"/x/status", `{"status":{"phase":null}}`, "Content-Type: application/merge-patch+json"), `"phase":"Pending"`)
}

func TestK8DiscoveryIsInJSON(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"} {
		assert.True(t, strings.HasPrefix(d.mustAsk(200, "GET", path, "", "Accept: application/vnd.kubernetes.protobuf"), "{"), path)
	}
	req := httptest.NewRequest("GET", "/openapi/v2", nil)
	req.Header.Set("Accept-Encoding", "gzip")
	answer := httptest.NewRecorder()
	d.handler.ServeHTTP(answer, req)
	assert.Greater(t, answer.Body.Len(), 128<<10) // what today's server compresses
	assert.Empty(t, answer.Header().Get("Content-Encoding"))
}

func TestK102WhatIsAcceptable(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(406, "GET", podsPath, "", "Accept: application/vnd.kubernetes.protobuf;q=0")
	assert.Contains(t, d.mustAsk(200, "GET", podsPath, "", "Accept: application/*"), `"kind":"PodList"`)
	d.mustAsk(406, "GET", podsPath+"?watch=1&timeoutSeconds=1", "", "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
}

func TestK10APodOfALiveNodeHasTimeToEnd(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	report := func(ago time.Duration) {
		d.mustAsk(200, "PATCH", "/api/v1/nodes/m1/status", fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`,
			time.Now().Add(-ago).UTC().Format(time.RFC3339)), "Content-Type: application/merge-patch+json")
	}
	report(time.Hour)
	d.mustAsk(201, "POST", podsPath, pod("silent", ""))
	d.mustAsk(200, "DELETE", podsPath+"/silent", "")
	d.mustAsk(404, "GET", podsPath+"/silent", "")

	lease := func(ago time.Duration) string {
		return fmt.Sprintf(`{"metadata":{"name":"m1"},"spec":{"renewTime":%q}}`, time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	d.mustAsk(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"kube-node-lease"}}`)
	d.mustAsk(201, "POST", leases, lease(time.Hour))
	d.mustAsk(201, "POST", podsPath, pod("silent", ""))
	d.mustAsk(200, "DELETE", podsPath+"/silent", "")
	d.mustAsk(404, "GET", podsPath+"/silent", "")
	d.mustAsk(200, "PUT", leases+"/m1", lease(-time.Hour))
	d.mustAsk(201, "POST", podsPath, pod("quiet", ""))
	assert.Contains(t, d.mustAsk(200, "DELETE", podsPath+"/quiet", ""), `"deletionGracePeriodSeconds":30`)
	d.mustAsk(200, "DELETE", leases+"/m1", "")

	report(-time.Hour) // it stays alive however long the test takes
	d.mustAsk(201, "POST", podsPath, pod("alive", ""))
	assert.Contains(t, d.mustAsk(200, "DELETE", podsPath+"/alive", ""), `"deletionGracePeriodSeconds":30`)
	assert.Contains(t, d.mustAsk(200, "GET", podsPath+"/alive", ""), `"deletionTimestamp"`)
	d.mustAsk(200, "DELETE", podsPath+"/alive?gracePeriodSeconds=0", "") // what its kubelet sends when it has ended
	d.mustAsk(404, "GET", podsPath+"/alive", "")

	d.mustAsk(201, "POST", podsPath, pod("other", ""))
	d.mustAsk(200, "DELETE", tasksPath+"/other", "") // the first door knows no grace
	d.mustAsk(404, "GET", podsPath+"/other", "")
}

func TestK12AHostPortIsGivenOnceOverBothDoors(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", tasksPath, task("web-1", 8081))
	assert.Contains(t, d.mustAsk(201, "POST", podsPath, pod("web-2", onPort(8081))), `"nodeName":"m2"`)
	assert.NotContains(t, d.mustAsk(201, "POST", podsPath, pod("waits", onPort(8081))), `"nodeName"`)
	taken := strings.Replace(pod("taken", onPort(8081)), `"spec":{`, `"spec":{"nodeName":"m1",`, 1)
	assert.Contains(t, d.mustAsk(409, "POST", podsPath, taken), `on machine m1 task \"web-1\" has it`)
	bind := `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"waits"},"target":{"kind":"Node","name":"m1"}}`
	assert.Contains(t, d.mustAsk(409, "POST", podsPath+"/waits/binding", bind), `on machine m1 task \"web-1\" has it`)
	assert.Contains(t, d.mustAsk(409, "POST", tasksPath, task("web-3", 8081)), "no machine has the host ports")
	d.mustAsk(200, "DELETE", tasksPath+"/web-1", "")
	require.NoError(t, d.Loops.PlacePending())
	assert.Contains(t, d.mustAsk(200, "GET", podsPath+"/waits", ""), `"nodeName":"m1"`)
}

func TestK13APodIsPlacedWhenItIsMade(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "PATCH", "/api/v1/nodes/m1", `{"spec":{"unschedulable":true,"taints":[{"key":"a","effect":"NoSchedule"}]}}`, "Content-Type: application/merge-patch+json")
	elsewhere := strings.Replace(pod("a", ""), `"spec":{`, `"spec":{"nodeSelector":{"no":"such"},`, 1)
	placed := d.mustAsk(201, "POST", podsPath, elsewhere)
	assert.Contains(t, placed, `"nodeName":"m1"`, "neither cordons nor taints nor selectors count")
	assert.NotContains(t, placed, "PodScheduled")

	d = onTwoMachines(t, "-scheduler", "none")
	assert.NotContains(t, d.mustAsk(201, "POST", podsPath, pod("a", "")), "nodeName")
	require.NoError(t, d.Loops.PlacePending())
	d.mustAsk(201, "POST", podsPath+"/a/binding", `{"metadata":{"name":"a"},"target":{"kind":"Node","name":"m2"}}`)
	bound := d.mustAsk(200, "GET", podsPath+"/a", "")
	assert.Contains(t, bound, `"nodeName":"m2"`)
	assert.Contains(t, bound, "PodScheduled")
}

func TestK15OpenAPISaysLessOfOperations(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	type operation struct {
		Parameters []struct{ Name string }
	}
	for _, path := range []string{"/openapi/v3/apis/apps/v1", "/openapi/v2"} {
		text := d.mustAsk(200, "GET", path, "")
		var document struct {
			Paths map[string]map[string]operation
		}
		require.NoError(t, json.Unmarshal([]byte(text), &document))
		patch := document.Paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
		assert.NotEmpty(t, patch.Parameters, "those of its path too")
		for _, missing := range []string{"BearerToken", `"shardSelector"`, `"ignoreStoreReadErrorWithClusterBreakingPotential","in"`, `"/version/"`} {
			assert.NotContains(t, text, missing)
		}
	}
	assert.NotContains(t, d.mustAsk(200, "GET", "/openapi/v3", ""), `"version"`)
}

// service returns a service that selects by a label.
func service(name, selector string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"selector":%s,"ports":[{"port":80}]}}`, name, selector)
}

func TestK16EndpointsAreMachinesWithHostPorts(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", tasksPath, task("web-1", 8081))
	d.mustAsk(201, "POST", podsPath, strings.Replace(pod("web-2", onPort(8081)), `"name":"web-2"`, `"name":"web-2","labels":{"name":"web"}`, 1))
	d.mustAsk(201, "POST", podsPath, strings.Replace(pod("web-3", ""), `"name":"web-3"`, `"name":"web-3","labels":{"name":"web"}`, 1))
	d.mustAsk(201, "POST", "/api/v1/namespaces/default/services", service("web", `{"name":"web"}`))
	d.mustAsk(201, "POST", "/api/v1/namespaces/default/services", service("elsewhere", `null`))
	d.mustAsk(201, "POST", "/api/v1/namespaces/default/endpoints", `{"metadata":{"name":"elsewhere"},"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":5432}]}]}`)
	require.NoError(t, d.Loops.SyncEndpoints())
	endpoints := d.mustAsk(200, "GET", "/api/v1/namespaces/default/endpoints/web", "")
	assert.Contains(t, endpoints, `"ip":"m1"`)
	assert.Contains(t, endpoints, `"targetRef":{"kind":"Pod","namespace":"default","name":"web-1"`)
	assert.Contains(t, endpoints, `"ip":"m2"`)
	assert.NotContains(t, endpoints, "web-3", "it has no host port")
	assert.Contains(t, endpoints, `"ports":[{"port":8081,"protocol":"TCP"}]`)
	assert.Contains(t, d.mustAsk(200, "GET", "/api/v1/namespaces/default/endpoints/elsewhere", ""), `"ip":"10.0.0.1"`, "the sync leaves it alone")
}

func TestK17TheServerMakesSlicesOfAllEndpoints(t *testing.T) {
	t.Parallel()
	_, _, address := unhurriedProgram(t)
	c := clientv1.New("http://" + address)
	subset := func(ip string, port int32) corev1.EndpointSubset {
		return corev1.EndpointSubset{Addresses: []corev1.EndpointAddress{{IP: ip}}, Ports: []corev1.EndpointPort{{Port: port}}}
	}
	_, err := c.Endpoints().Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Subsets: []corev1.EndpointSubset{subset("10.0.0.1", 5432), subset("10.0.0.2", 5433)}})
	require.NoError(t, err)
	var said []string
	eventually(t, func() bool {
		said = nil
		for slice, err := range c.EndpointSlices().All(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=db"}) {
			require.NoError(t, err)
			assert.Empty(t, slice.OwnerReferences)
			said = append(said, fmt.Sprintf("%s %v %d", slice.Labels["endpointslice.kubernetes.io/managed-by"], slice.Endpoints[0].Addresses, *slice.Ports[0].Port))
		}
		return len(said) == 2
	}, "two slices")
	assert.ElementsMatch(t, []string{"endpointslice.kube2014 [10.0.0.1] 5432", "endpointslice.kube2014 [10.0.0.2] 5433"}, said)
}

func TestK18ATaskThatTodaysRulesForbidIsShown(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", tasksPath, task("Web_1", 8081))
	shown := d.mustAsk(200, "GET", podsPath+"/Web_1", "")
	assert.Contains(t, shown, `"containers":[{"name":"","image":"i"`)
	assert.NotContains(t, shown, "creationTimestamp")
	assert.Contains(t, shown, `"phase":"Pending"`)
	d.mustAsk(422, "POST", podsPath, pod("Web_2", ""))
	labelled := d.mustAsk(200, "PATCH", podsPath+"/Web_1", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type: application/merge-patch+json")
	assert.Contains(t, labelled, `"a":"b"`, "an update checks what it changes")
	uid := regexp.MustCompile(`"uid":"[^"]*"`)
	assert.Equal(t, uid.FindString(shown), uid.FindString(labelled))

	const image = `{"spec":{"containers":[{"name":"c","image":"j"}]}}`
	d.mustAsk(201, "POST", podsPath, pod("counted", ""))
	assert.Contains(t, d.mustAsk(200, "PATCH", podsPath+"/counted", image, "Content-Type: application/strategic-merge-patch+json"), `"generation":2`)
	d.mustAsk(200, "PUT", tasksPath+"/counted", task("counted", 8082))
	assert.Contains(t, d.mustAsk(200, "GET", podsPath+"/counted", ""), `"generation":2`, "the first door does not count")
}

func TestAControllerThatTodaysRulesForbidIsScaled(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", "/api/v1beta1/replicationControllers", `{"id":"Rc_1","desiredState":{"replicas":1}}`)
	const path = "/api/v1/namespaces/default/replicationcontrollers/Rc_1/scale"
	scale := func(replicas int) string { return fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas) }
	assert.Contains(t, d.mustAsk(200, "PATCH", path, scale(3), "Content-Type: application/merge-patch+json"), `"replicas":3`)
	assert.Contains(t, d.mustAsk(422, "PATCH", path, scale(-1), "Content-Type: application/merge-patch+json"), "must be greater than or equal to 0")
	assert.Contains(t, d.mustAsk(200, "GET", "/api/v1beta1/replicationControllers/Rc_1", ""), `"replicas": 3`)
}

func TestK19AServiceWithoutLabelsSelectsAllTasksOnlyAtTheFirstDoor(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	d.mustAsk(200, "POST", tasksPath, task("web-1", 8081))
	d.mustAsk(200, "POST", "/api/v1beta1/services", `{"id":"all","port":80}`)
	d.mustAsk(201, "POST", "/api/v1/namespaces/default/services", service("none", `null`))
	// What the second door adds to a service does not change what it selects.
	annotate := `{"metadata":{"annotations":{"a":"b"}}}`
	d.mustAsk(200, "PATCH", "/api/v1/namespaces/default/services/all", annotate, "Content-Type: application/merge-patch+json")
	require.NoError(t, d.Loops.SyncEndpoints())
	assert.Contains(t, d.mustAsk(200, "GET", "/api/v1/namespaces/default/endpoints/all", ""), `"ip":"m1"`)
	d.mustAsk(404, "GET", "/api/v1/namespaces/default/endpoints/none", "")
}

func TestK20AVersionFromTheFutureIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	answer := d.mustAsk(504, "GET", podsPath+"?resourceVersion=9223372036854775807", "")
	assert.Contains(t, answer, "Too large resource version: 9223372036854775807, current: ")
	d.mustAsk(201, "POST", podsPath, pod("a", ""))
	for _, version := range []string{"9223372036854775807", "0", "abc"} {
		d.mustAsk(200, "GET", podsPath+"/a?resourceVersion="+version, "")
	}
}

func TestADeleteSaysWhatBecomesOfTheDependents(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	const path = "/api/v1/namespaces/default/replicationcontrollers"
	for query, finalizer := range map[string]string{
		"?propagationPolicy=Background": "", "?orphanDependents=false": "",
		"": "orphan", "?propagationPolicy=Orphan": "orphan", "?orphanDependents=true": "orphan", "?propagationPolicy=Foreground": "foregroundDeletion",
	} {
		d.mustAsk(201, "POST", path, `{"metadata":{"name":"rc"},"spec":{"replicas":0,"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},
			"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
		answer := d.mustAsk(200, "DELETE", path+"/rc"+query, "")
		if finalizer == "" {
			d.mustAsk(404, "GET", path+"/rc", "")
			continue
		}
		assert.Contains(t, answer, `"finalizers":["`+finalizer+`"]`, query)
		assert.Contains(t, answer, `"deletionGracePeriodSeconds":0`, query)
		assert.Equal(t, answer, d.mustAsk(200, "DELETE", path+"/rc", ""), "it stays as it is")
		d.mustAsk(200, "PATCH", path+"/rc", `{"metadata":{"finalizers":null}}`, "Content-Type: application/merge-patch+json")
		d.mustAsk(404, "GET", path+"/rc", "")
	}
	d.mustAsk(422, "DELETE", path+"/rc?propagationPolicy=All", "")
	own := onTwoMachines(t, "-enable_garbage_collector=false")
	own.mustAsk(201, "POST", path, `{"metadata":{"name":"rc"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	own.mustAsk(200, "DELETE", path+"/rc", "")
	own.mustAsk(404, "GET", path+"/rc", "")
}

func TestK21PagesHoldTogetherWhileTheHistoryReachesBack(t *testing.T) {
	t.Parallel()
	d := onTwoMachines(t)
	for _, name := range []string{"a", "b", "c"} {
		d.mustAsk(201, "POST", podsPath, pod(name, ""))
	}
	token := func(answer string) string {
		match := regexp.MustCompile(`"continue":"([^"]*)"`).FindStringSubmatch(answer)
		require.NotNil(t, match, answer)
		return match[1]
	}
	first := d.mustAsk(200, "GET", podsPath+"?limit=1", "")
	assert.Contains(t, first, `"remainingItemCount":2`)
	d.mustAsk(200, "DELETE", podsPath+"/b", "")
	second := d.mustAsk(200, "GET", podsPath+"?limit=1&continue="+token(first), "")
	assert.Contains(t, second, `"name":"b"`, "as of the first page")

	for range 10001 { // more changes than the history has
		stored, err := d.Stores.Objects.Get(api.DefaultKey(api.TaskKind, "c"))
		require.NoError(t, err)
		same := stored.Object.(*api.Task).DeepCopy()
		_, err = d.Stores.Objects.Commit(storage.Update(&same, stored.Version()))
		require.NoError(t, err)
	}
	gone := d.mustAsk(410, "GET", podsPath+"?limit=1&continue="+token(second), "")
	assert.Contains(t, gone, `"reason":"Expired"`)
	assert.Contains(t, d.mustAsk(200, "GET", podsPath+"?limit=1&continue="+token(gone), ""), `"name":"c"`)
}
