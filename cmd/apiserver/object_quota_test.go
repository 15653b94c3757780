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

// Paths of what limits a namespace.
const (
	todaysQuotas = "/api/v1/namespaces/default/resourcequotas"
	todaysLimits = "/api/v1/namespaces/default/limitranges"
)

// limit creates the quota few, whose limits are in JSON.
func (d *doors) limit(hard string) {
	d.send(http.StatusCreated, "POST", todaysQuotas, `{"metadata": {"name": "few"}, "spec": {"hard": `+hard+`}}`)
}

// withQuota runs a test with two apiservers on each etcd, and with one in memory.
func withQuota(t *testing.T, hard string, test func(t *testing.T, servers []*doors)) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			own := flags(t)
			servers := []*doors{openDoors(t, own...)}
			servers[0].limit(hard)
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
	withQuota(t, `{"pods": "10"}`, func(t *testing.T, servers []*doors) {
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
	withQuota(t, `{"count/pods": "3"}`, func(t *testing.T, servers []*doors) {
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
		d.limit(`{"pods": "2", "services": "1", "count/replicationcontrollers": "1", "count/events": "0"}`)
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

			{created, "POST", todaysEvents, anEvent}, // as in today's server
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
	})
}

// K49 and K51: no controller runs, so nobody counts.
func TestAQuotaAddsUpWhatTasksAndPodsUse(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		d.limit(`{"limits.memory": "3Mi", "pods": "10"}`)
		withMemory := func(name string, bytes int) string {
			return strings.Replace(taskNamed(name), `"image": "i"`, fmt.Sprintf(`"image": "i", "memory": %d`, bytes), 1)
		}
		const needs = "failed quota: few: must specify limits.memory for: c"
		assert.Equal(t, "403 Forbidden: "+needs, d.step([3]string{"POST", tasksPath, taskNamed("none")}))
		assert.Contains(t, d.step([3]string{"POST", todaysPods, podWith("none")}), `"message":"pods \"none\" is forbidden: `+needs+`"`)
		d.send(http.StatusOK, "POST", tasksPath, withMemory("a", 1<<20))
		limited := strings.Replace(podWith("b"), `"image"`, `"resources": {"limits": {"memory": "1Mi"}}, "image"`, 1)
		d.send(http.StatusCreated, "POST", todaysPods, limited)
		exceeded := func(requested string) string {
			return "exceeded quota: few, requested: limits.memory=" + requested + ", used: limits.memory=2Mi, limited: limits.memory=3Mi"
		}
		assert.Equal(t, "403 Forbidden: "+exceeded("2Mi"), d.step([3]string{"POST", tasksPath, withMemory("c", 2<<20)}))
		assert.Equal(t, "403 Forbidden: "+exceeded("2Mi"), d.step([3]string{"PUT", taskPath("a"), withMemory("a", 3<<20)}), "what is more than before")
		d.send(http.StatusOK, "PUT", taskPath("a"), withMemory("a", 2<<20))
		assert.Contains(t, d.send(http.StatusOK, "GET", todaysQuotas+"/few", ""), `"used":{"limits.memory":"3Mi","pods":"2"}`)
		d.send(http.StatusOK, "DELETE", taskPath("a"), "")
		d.send(http.StatusOK, "POST", tasksPath, withMemory("c", 2<<20))
		d.send(http.StatusOK, "DELETE", todaysQuotas+"/few", "")
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("none"))
	})
}

func TestAQuotaIsOfItsNamespaceOnly(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		const inDev = "/api/v1/namespaces/dev/"
		d.send(http.StatusCreated, "POST", "/api/v1/namespaces", `{"metadata": {"name": "dev"}}`)
		d.send(http.StatusCreated, "POST", inDev+"resourcequotas", `{"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}`)
		d.send(http.StatusForbidden, "POST", inDev+"pods", podWith("web"))
		d.send(http.StatusCreated, "POST", todaysPods, podWith("web"))
		d.send(http.StatusOK, "POST", tasksPath, taskNamed("task"))
	})
}

// K48.
func TestNoQuotaHoldsBackTheEndpointsThatTheServerMakes(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	d.limit(`{"count/endpoints": "0"}`)
	d.send(http.StatusCreated, "POST", "/api/v1/namespaces/default/endpoints", `{"metadata": {"name": "x"}}`)
}
