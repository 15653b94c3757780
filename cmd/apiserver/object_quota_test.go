package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// aTaskNamed is a task without host ports: one machine runs any number of them.
const aTaskNamed = `{"id": %q, "labels": {"a": "b"}, "desiredState": {"manifest": {"version": "v1beta1", "id": %[1]q, "containers": [{"name": "c", "image": "i"}]}}}`

func taskNamed(name string) string { return fmt.Sprintf(aTaskNamed, name) }

func podWith(name string) string { return strings.Replace(fmt.Sprintf(aPodOf, "i"), "web", name, 1) }

// admissionOf returns flags that turn a plugin on, with its configuration in YAML.
func (f files) admissionOf(plugin, configuration string) []string {
	const config = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins: [{name: %s, configuration: %s}]\n"
	return []string{"-admission_control", plugin, "-admission_control_config_file", f.write("admission-"+plugin, fmt.Sprintf(config, plugin, configuration))}
}

// quotaOf returns flags of a quota, whose limits are in YAML.
func (f files) quotaOf(hard string) []string {
	return f.admissionOf("ResourceQuota", "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few}, spec: {hard: "+hard+"}}")
}

// withQuota runs a test with two apiservers on each etcd, and with one in memory.
func withQuota(t *testing.T, hard string, test func(t *testing.T, servers []*doors)) {
	t.Parallel()
	quota := filesOf(t).quotaOf(hard)
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			own := append(flags(t), quota...)
			servers := []*doors{openDoors(t, own...)}
			if name != "memory" {
				servers = append(servers, openDoors(t, own...))
			}
			test(t, servers)
		})
	}
}

// createAtEither creates a task at the first door for an even number, a pod at the second for an odd
// one. Who is told to come back later does.
func createAtEither(d *doors, number int, name string) (status int, answer string) {
	for status == 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		if number%2 == 0 {
			status, answer = d.do("POST", tasksPath, "application/json", taskNamed(name))
		} else {
			status, answer = d.do("POST", todaysPods, "application/json", podWith(name))
		}
	}
	return status, answer
}

// mostAtOnce returns how many objects there were at most while events came, and how many at the end.
func mostAtOnce(events []event) (most, last int) {
	for _, e := range events {
		switch e.Type {
		case "ADDED":
			last++
		case "DELETED":
			last--
		}
		most = max(most, last)
	}
	return most, last
}

func TestRacingCreatesAtBothDoorsFillAQuotaExactly(t *testing.T) {
	withQuota(t, "{pods: 10}", func(t *testing.T, servers []*doors) {
		w := openWatch(t, patient, servers[0].listen()+"/api/v1/pods?watch=1")
		var mu sync.Mutex
		var made []string
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				d, name := servers[i/2%len(servers)], fmt.Sprint("racer-", i)
				status, answer := createAtEither(d, i, name)
				const why = "exceeded quota: few, requested: pods=1, used: pods=10, limited: pods=10"
				switch {
				case status == http.StatusForbidden && i%2 == 0:
					assert.Equal(t, "Forbidden: "+why, answer)
				case status == http.StatusForbidden:
					assert.Contains(t, answer, fmt.Sprintf(`"message":"pods \"%s\" is forbidden: %s","reason":"Forbidden","details":{"name":"%[1]s","kind":"pods"},"code":403`, name, why))
				case assert.Contains(t, []int{http.StatusOK, http.StatusCreated, http.StatusConflict}, status, answer): // what nobody answered may have been made
					mu.Lock()
					made = append(made, name)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Len(t, made, 10)
		names := servers[len(servers)-1].podNames()
		assert.ElementsMatch(t, made, names)
		for i, name := range names {
			servers[i%len(servers)].send(http.StatusOK, "DELETE", []string{taskPath(name), todaysPods + "/" + name}[i/2%2], "")
		}
		events, err := w.until(func(e event) bool { return e.inShort() == "DELETED "+names[9] })
		require.NoError(t, err)
		most, last := mostAtOnce(events)
		assert.Equal(t, 10, most)
		assert.Zero(t, last)
	})
}

// Places are taken and given back all the time, at both doors of all servers.
func TestThereAreNeverMoreThanAQuotaAllows(t *testing.T) {
	withQuota(t, "{count/pods: 3}", func(t *testing.T, servers []*doors) {
		w := openWatch(t, patient, servers[0].listen()+"/api/v1/pods?watch=1")
		servers[0].send(http.StatusCreated, "POST", todaysPods, podWith("last"))
		var all sync.WaitGroup
		for client := range 8 {
			all.Go(func() {
				for round := range 10 {
					d, name := servers[(client+round)%len(servers)], fmt.Sprintf("c%d-%d", client, round)
					status, answer := createAtEither(d, client+round/2, name)
					if status == http.StatusForbidden {
						assert.Contains(t, answer, "exceeded quota: few, requested: count/pods=1, used: count/pods=", answer)
						continue
					}
					assert.Contains(t, []int{http.StatusOK, http.StatusCreated, http.StatusConflict}, status, answer)
					for status = 0; status != http.StatusOK && status != http.StatusNotFound; {
						status, answer = d.do("DELETE", []string{taskPath(name), todaysPods + "/" + name}[round%2], "", "")
						assert.Contains(t, []int{http.StatusOK, http.StatusNotFound, http.StatusServiceUnavailable}, status, answer)
					}
				}
			})
		}
		all.Wait()
		servers[0].send(http.StatusOK, "DELETE", todaysPods+"/last", "")
		events, err := w.until(func(e event) bool { return e.inShort() == "DELETED last" })
		require.NoError(t, err)
		most, last := mostAtOnce(events)
		assert.LessOrEqual(t, most, 3)
		assert.Greater(t, most, 1, "some were made")
		assert.Zero(t, last)
	})
}

func TestWhatAQuotaCounts(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		const (
			firstServices, firstControllers = "/api/v1beta1/services/", "/api/v1beta1/replicationControllers/"
			ok, created, forbidden          = http.StatusOK, http.StatusCreated, http.StatusForbidden
		)
		service := func(name string) string { return strings.Replace(changeable[todaysServices], `"x"`, `"`+name+`"`, 1) }
		controller := func(name string) string {
			return strings.Replace(changeable[todaysControllers], `"x"`, `"`+name+`"`, 1)
		}
		anonymous := strings.Replace(podWith("web"), "name", "generateName", 1)
		for i, step := range []struct {
			status             int
			method, path, body string
		}{
			// A put that creates counts, at both doors; one that replaces does not.
			{ok, "PUT", firstServices + "a", `{"id": "a", "port": 80}`},
			{forbidden, "PUT", firstServices + "b", `{"id": "b", "port": 80}`},
			{forbidden, "POST", "/api/v1beta1/services", `{"id": "b"}`},
			{forbidden, "PUT", todaysServices + "/b", service("b")},
			{forbidden, "POST", todaysServices, service("b")},
			{ok, "PUT", firstServices + "a", `{"id": "a", "port": 81}`},
			{ok, "PUT", todaysServices + "/a", service("a")},
			{http.StatusConflict, "POST", "/api/v1beta1/services", `{"id": "a"}`},
			{ok, "DELETE", todaysServices + "/a", ""},
			{created, "PUT", todaysServices + "/b", service("b")},
			{forbidden, "PUT", firstServices + "a", `{"id": "a", "port": 80}`},
			{ok, "DELETE", firstServices + "b", ""},
			{ok, "POST", "/api/v1beta1/services", `{"id": "a"}`},

			{ok, "PUT", firstControllers + "a", `{"id": "a"}`},
			{forbidden, "PUT", firstControllers + "b", `{"id": "b"}`},
			{forbidden, "POST", todaysControllers, controller("b")},
			{ok, "PUT", firstControllers + "a", `{"id": "a", "desiredState": {"replicas": 2}}`},
			{ok, "DELETE", firstControllers + "a", ""},
			{created, "POST", todaysControllers, controller("b")},
			{forbidden, "POST", "/api/v1beta1/replicationControllers", `{"id": "a"}`},

			// What is not stored does not count.
			{created, "POST", todaysPods + "?dryRun=All", podWith("dry")},
			{http.StatusUnprocessableEntity, "POST", todaysPods, podWith("Wrong")},
			{http.StatusBadRequest, "POST", tasksPath, taskNamed("not valid")},
			{created, "POST", todaysPods, anonymous},
			{ok, "POST", tasksPath, taskNamed("task")},
			{http.StatusConflict, "POST", todaysPods, podWith("task")},
			{http.StatusConflict, "POST", tasksPath, taskNamed("task")},
			{forbidden, "POST", todaysPods, anonymous},
			{forbidden, "POST", todaysPods + "?dryRun=All", podWith("dry")},
			{forbidden, "POST", tasksPath, taskNamed("other")},
			{ok, "PUT", taskPath("task"), taskNamed("task")},
			{http.StatusNotFound, "PUT", taskPath("gone"), taskNamed("gone")},
			{ok, "DELETE", todaysPods + "/task?dryRun=All", ""},
			{forbidden, "POST", todaysPods, podWith("other")},
			{ok, "DELETE", todaysPods, ""},
			{created, "POST", todaysPods, anonymous},
			{created, "POST", todaysPods, anonymous},
			{forbidden, "POST", todaysPods, anonymous},

			{forbidden, "POST", todaysEvents, anEvent},
		} {
			status, answer := d.do(step.method, step.path, "application/json", step.body)
			require.Equal(t, step.status, status, "step %d: %s %s %s", i, step.method, step.path, answer)
			if status == forbidden {
				assert.Contains(t, answer, "exceeded quota: few, requested: ")
			}
		}
		_, answer := d.do("POST", todaysPods, "application/json", anonymous)
		assert.Regexp(t, `"message":"pods \\"web[a-z0-9]{5}\\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"`, answer)
		assert.Len(t, d.podNames(), 2)
	}, filesOf(t).quotaOf(`{pods: 2, services: "1", count/replicationcontrollers: 1, events: 0}`)...)
}
