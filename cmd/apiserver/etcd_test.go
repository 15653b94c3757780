package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	goetcd "github.com/coreos/go-etcd/etcd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/api/v1beta1"
	"kube2014/pkg/client"
	"kube2014/pkg/client/clienttest"
	"kube2014/pkg/etcd"
	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/registry"
	genericoptions "kube2014/pkg/server/options"
)

func makeTask(id string, port int) api.Task {
	task := api.Task{JSONBase: api.JSONBase{ID: id}, Labels: map[string]string{"name": id}}
	task.DesiredState.Manifest.Containers = []api.Container{{Image: "dockerfile/nginx", Ports: []api.Port{{HostPort: port, ContainerPort: 80}}}}
	return task
}

func healthOf(t *testing.T, c *client.Client) (int, string) {
	resp, err := c.HTTP.Get(c.Host + "/healthz")
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// While etcd is down requests are answered with 503, and nothing is lost; the
// apiserver may be killed at any time.
func TestEtcdGoesAwayAndComesBack(t *testing.T) {
	onBackends(t, etcdGoesAwayAndComesBack)
}

func etcdGoesAwayAndComesBack(t *testing.T, b backend) {
	server := b.startOne(t)
	require.NoError(t, server.Kill()) // it is not up yet
	flags := append(b.flags(server.URL), unwatched...)
	cmd, log, address := unhurriedProgram(t, flags...)
	c := clientOf(address)
	_, err := c.CreateTask(makeTask("web", 80))
	assert.Equal(t, api.Unavailable, api.KindOf(err))
	status, text := healthOf(t, c)
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Equal(t, "Service Unavailable: health check: the store cannot be reached", text)

	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	insist(t, func() error { _, err := c.CreateTask(makeTask("web", 80)); return err })
	_, err = c.CreateService(api.Service{JSONBase: api.JSONBase{ID: "s"}, Port: 1})
	require.NoError(t, err)
	status, text = healthOf(t, c)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", text)

	require.NoError(t, cmd.Process.Kill())
	log.end()
	_, _, address = unhurriedProgram(t, flags...)
	c = clientOf(address)
	task, err := c.GetTask("web")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", task.CurrentState.Host)

	var watching *watcher
	if b == genericoptions.Etcd3 { // etcd2 follows with the clock of users
		watching = openWatch(t, patient, "http://"+address+todaysPods+"?watch=1")
		watching.tells("ADDED web")
	}
	require.NoError(t, server.Kill())
	_, err = c.GetTask("web")
	assert.Equal(t, api.Unavailable, api.KindOf(err))
	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	var tasks api.TaskList
	insist(t, func() (err error) { tasks, err = c.ListTasks(nil); return err })
	assert.Len(t, tasks.Items, 1)
	_, err = c.CreateTask(makeTask("later", 81))
	require.NoError(t, err)
	if watching != nil {
		watching.tells("ADDED later") // it has not been cut off
	}
}

// requestsOfAllKinds sends 64 requests at once to a handler, and tells each answer.
func requestsOfAllKinds(handler http.Handler, check func(what string, status int, text string)) {
	var group sync.WaitGroup
	for i := range 64 {
		method, path, body := "GET", "/api/v1beta1/tasks/old", ""
		switch i % 5 {
		case 1:
			path = "/api/v1beta1/tasks"
		case 2:
			method, path, body = "POST", "/api/v1beta1/tasks", fmt.Sprintf(`{"id": "new-%d"}`, i)
		case 3:
			method, body = "PUT", `{}`
		case 4:
			method = "DELETE"
		}
		group.Go(func() {
			status, text := serveOne(handler, method, path, body)
			check(method+" "+path, status, text)
		})
	}
	group.Wait()
}

// handlerOver places tasks on one machine.
func handlerOver(stores registries) http.Handler {
	return newHandler(stores, clienttest.FakeContainerInfo{}, registry.MakeFirstFitScheduler([]string{"127.0.0.1"}, stores.Tasks), client.DefaultPrefix)
}

func TestAnEtcdThatHangsIsA503(t *testing.T) {
	onBackends(t, func(t *testing.T, b backend) {
		server := b.startOne(t)
		require.NoError(t, b.open(t, server.URL).Tasks.CreateTask("127.0.0.1", makeTask("old", 80)))
		handler := handlerOver(b.openHurried(t, server.URL))
		works := func() bool {
			status, _ := serveOne(handler, "GET", "/api/v1beta1/tasks", "")
			return status == http.StatusOK
		}
		for _, when := range []string{"before it has answered", "after it has answered"} {
			require.NoError(t, server.Pause())
			requestsOfAllKinds(handler, func(what string, status int, text string) {
				assert.Equal(t, http.StatusServiceUnavailable, status, "%s: %s", when, text)
				assert.True(t, strings.HasPrefix(text, "Service Unavailable: "), text)
			})
			require.NoError(t, server.Resume())
			eventually(t, works, "it recovers by itself")
		}
	})
}

// A call to an etcd that hangs takes 2.5 seconds (TestD45AnEtcdThatHangsIsGivenUp);
// here each takes as long, before it takes effect or after.
func TestAnEtcdThatHangsCostsFiveSecondsAtMost(t *testing.T) {
	t.Parallel()
	for _, healthy := range []int{0, 1, 2, 3, 5, 10, 20} { // calls of all requests together, before it hangs
		for _, takesEffect := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %d calls, takes effect: %v", healthy, takesEffect), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var left atomic.Int32 // calls until it hangs
					left.Store(100)
					stores := hurriedRegistries(&etcdtest.Around{Client: etcdtest.NewFake(), Do: func(_, _ string, call func() (*goetcd.Response, error)) (*goetcd.Response, error) {
						if left.Add(-1) >= 0 {
							return call()
						}
						if takesEffect {
							_, _ = call() // nobody hears the answer
						}
						time.Sleep(2500 * time.Millisecond) // the bubble's clock: it takes no time
						return nil, etcdtest.ErrLost
					}})
					require.NoError(t, stores.Tasks.CreateTask("127.0.0.1", makeTask("old", 80)))
					left.Store(int32(healthy))
					start := time.Now()
					var failures atomic.Int32
					requestsOfAllKinds(handlerOver(stores), func(what string, status int, text string) {
						assert.LessOrEqual(t, time.Since(start), 5*time.Second, what)
						if status == http.StatusServiceUnavailable {
							failures.Add(1)
						}
					})
					assert.NotZero(t, failures.Load())
				})
			})
		}
	}
}

// The keys are an interface: this plays the proxy and the kubelet of that
// commit, which read them and wait for changes.
func TestTheProxyAndTheKubeletFindWhatTheyRead(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	stores, err := etcdRegistries([]string{server.URL}, nil)
	require.NoError(t, err)
	sync := func() {
		require.NoError(t, registry.MakeEndpointController(stores.Services, stores.Tasks).SyncServiceEndpoints())
	}
	reader, err := config.NewEtcdClient(etcd.Config{Servers: []string{server.URL}})
	require.NoError(t, err)
	defer reader.Close()

	require.NoError(t, stores.Services.CreateService(api.Service{JSONBase: api.JSONBase{ID: "web"}, Port: 8000, Labels: map[string]string{"name": "web"}}))
	sync()

	// The proxy reads the specs, then the endpoints of each.
	specs, err := reader.Get("/registry/services/specs", false, true)
	require.NoError(t, err)
	require.Len(t, specs.Node.Nodes, 1)
	var service api.Service
	require.NoError(t, v1beta1.Codec.Unmarshal([]byte(specs.Node.Nodes[0].Value), &service))
	assert.Equal(t, 8000, service.Port)
	endpointsOf := func(value string) []string {
		var endpoints v1beta1.Endpoints
		require.NoError(t, json.Unmarshal([]byte(value), &endpoints))
		assert.Equal(t, "web", endpoints.Name)
		return endpoints.Endpoints
	}
	endpoints, err := reader.Get("/registry/services/endpoints/"+service.ID, false, false)
	require.NoError(t, err)
	assert.Empty(t, endpointsOf(endpoints.Node.Value))

	// A task is created. The proxy reacts to the action set, which the sync
	// uses.
	require.NoError(t, stores.Tasks.CreateTask("10.0.0.1", makeTask("web", 8080)))
	sync()
	change, err := reader.Watch("/registry/services", endpoints.EtcdIndex+1, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "set", change.Action)
	assert.Equal(t, "/registry/services/endpoints/web", change.Node.Key)
	assert.Equal(t, []string{"10.0.0.1:8080"}, endpointsOf(change.Node.Value))

	// A changed service is no set: the proxy meets it at its next resync (D43).
	service.Port = 8001
	require.NoError(t, stores.Services.UpdateService(service))
	change, err = reader.Watch("/registry/services", change.Node.ModifiedIndex+1, true, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "compareAndSwap", change.Action)
	assert.Equal(t, "/registry/services/specs/web", change.Node.Key)

	// The kubelet reads its machine's list, and waits for it to change.
	manifests := func(value string) []string {
		var list []v1beta1.ContainerManifest
		require.NoError(t, json.Unmarshal([]byte(value), &list))
		var ids []string
		for _, manifest := range list {
			ids = append(ids, manifest.Id)
			env := manifest.Containers[0].Env
			assert.Equal(t, v1beta1.EnvVar{Name: "SERVICE_HOST", Value: "10.0.0.1"}, env[len(env)-1])
		}
		return ids
	}
	list, err := reader.Get("/registry/hosts/10.0.0.1/kubelet", false, false)
	require.NoError(t, err)
	assert.Equal(t, []string{"web"}, manifests(list.Node.Value))
	require.NoError(t, stores.Tasks.CreateTask("10.0.0.1", makeTask("db", 5432)))
	change, err = reader.Watch("/registry/hosts/10.0.0.1/kubelet", list.EtcdIndex+1, false, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"web", "db"}, manifests(change.Node.Value), "in the order of creation")
	require.NoError(t, stores.Tasks.DeleteTask("web"))
	change, err = reader.Watch("/registry/hosts/10.0.0.1/kubelet", change.Node.ModifiedIndex+1, false, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"db"}, manifests(change.Node.Value))

	// Deleting a service deletes both keys.
	require.NoError(t, stores.Services.DeleteService("web"))
	assert.Equal(t, []string{"/registry/hosts/10.0.0.1/kubelet", "/registry/hosts/10.0.0.1/tasks/db"}, sortedKeys(keysIn(t, server.URL, "/registry")))
}

// After an acknowledged write a read through any apiserver on any member sees it. A
// member whose leader is slow may answer 503: then nothing is asserted, and another
// object comes next, because the write may take effect at any time.
func TestReadsThroughAnyMemberSeeEveryAcknowledgedWrite(t *testing.T) {
	onBackends(t, readsThroughAnyMember)
}

func readsThroughAnyMember(t *testing.T, b backend) {
	_, urls := b.start(t, 3)
	var stores []registries
	for _, url := range urls {
		stores = append(stores, b.open(t, url))
	}
	acknowledged := func(err error) bool {
		if api.KindOf(err) == api.Unavailable {
			return false
		}
		require.NoError(t, err)
		return true
	}
	ids := map[string]bool{} // of the tasks whose creation was acknowledged
	services := 0
	for i, version := 0, 0; len(ids) < 30 || version < 5; i++ {
		require.Less(t, i, 1000, "etcd answers now and then")
		writer, reader := stores[i%3], stores[(i+1+i%2)%3]
		service := api.Service{JSONBase: api.JSONBase{ID: fmt.Sprintf("s-%d", services)}, Port: version + 1}
		if acknowledged(writer.Services.UpdateService(service)) {
			version++
			insist(t, func() error {
				read, err := reader.Services.GetService(service.ID)
				if err == nil {
					assert.Equal(t, service.Port, read.Port)
				}
				return err
			})
		} else {
			services, version = services+1, 0
		}

		id := fmt.Sprintf("task-%d", i)
		if !acknowledged(writer.Tasks.CreateTask("m", makeTask(id, 1000+i))) {
			continue
		}
		ids[id] = true
		insist(t, func() error { _, err := reader.Tasks.GetTask(id); return err })
		insist(t, func() error {
			tasks, err := reader.Tasks.ListTasks(nil)
			listed := map[string]bool{}
			for _, task := range tasks {
				listed[task.ID] = true
			}
			for id := range ids {
				assert.True(t, err != nil || listed[id], "%s is listed", id)
			}
			return err
		})
	}
}

// What was acknowledged outlives any member that dies or hangs, the leader too. It
// is no matter how long an election takes: each step waits for its acknowledgements.
func TestAMemberThatDiesOrHangsLosesNothing(t *testing.T) {
	onBackends(t, aMemberDiesOrHangs)
}

func aMemberDiesOrHangs(t *testing.T, b backend) {
	members, urls := b.start(t, 3)
	stores := []registries{b.openHurried(t, urls...), b.openHurried(t, urls...)}
	known := map[string]string{} // what was acknowledged last: a task's version, "" when it is gone
	n := 0
	// write makes, changes and deletes a task of its own, until an answer is a 503.
	write := func(store registries) (acknowledged bool) {
		n++
		task := makeTask(fmt.Sprintf("task-%d", n), 1000+n)
		for i, change := range []func() error{
			func() error { return store.Tasks.CreateTask("m", task) },
			func() error { return store.Tasks.UpdateTask(task) },
			func() error { return store.Tasks.DeleteTask(task.ID) },
		} {
			if i == 2 && n%2 == 0 {
				break // it stays
			}
			task.Labels = map[string]string{"version": fmt.Sprint(i)}
			if err := change(); api.KindOf(err) == api.Unavailable {
				delete(known, task.ID) // nobody knows
				return false
			} else {
				require.NoError(t, err)
			}
			if known[task.ID] = fmt.Sprint(i); i == 2 {
				known[task.ID] = ""
			}
		}
		return true
	}
	progress := func(when string) {
		for done := 0; done < 4; {
			eventually(t, func() bool { return write(stores[n%2]) }, "requests are acknowledged "+when)
			done++
		}
	}
	for _, step := range []struct {
		leads     bool
		end, mend func(*etcdtest.Server) error
	}{
		{true, (*etcdtest.Server).Kill, (*etcdtest.Server).Restart},
		{false, (*etcdtest.Server).Kill, (*etcdtest.Server).Restart},
		{true, (*etcdtest.Server).Pause, (*etcdtest.Server).Resume},
	} {
		progress("by the whole cluster")
		victim := leader(t, members)
		if !step.leads {
			victim = (victim + 1) % len(members)
		}
		require.NoError(t, step.end(members[victim]))
		progress("by two members")
		require.NoError(t, step.mend(members[victim]))
		require.NoError(t, members[victim].Ready())
	}
	require.Greater(t, len(known), 10)
	for id, version := range known {
		for _, store := range stores {
			insist(t, func() error {
				task, err := store.Tasks.GetTask(id)
				switch {
				case err == nil:
					assert.Equal(t, version, task.Labels["version"], "%s was acknowledged", id)
				case version == "" && api.KindOf(err) == api.NotFound:
					return nil
				}
				return err
			})
		}
	}
}

// D41: with the real program, as a person with curl would break it and repair it.
func TestD41OneBadValueDoesNotStopTheServer(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	_, log, address := unhurriedProgram(t, "-machines", "127.0.0.1,127.0.0.2", "-etcd_servers", server.URL)
	c := clientOf(address)
	key := server.URL + "/v2/keys/registry/hosts/127.0.0.1/kubelet"
	send := func(method, body string) {
		req, err := http.NewRequest(method, key, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Less(t, resp.StatusCode, 300)
	}
	send(http.MethodPut, "value=broken")

	_, err := c.CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	log.find("etcd key /registry/hosts/127.0.0.1/kubelet: the stored list of manifests .* cannot be decoded")
	task, err := c.GetTask("web")
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.2", task.CurrentState.Host)
	status, text := healthOf(t, c)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok\nwarning: the stored list of manifests (key /registry/hosts/127.0.0.1/kubelet) cannot be decoded", text)
	_, err = c.CreateTask(makeTask("web-2", 80))
	assert.EqualError(t, err, `no machine takes task "web-2": machine 127.0.0.1 is passed over, `+
		"the stored list of manifests (key /registry/hosts/127.0.0.1/kubelet) cannot be decoded")

	send(http.MethodDelete, "")
	_, err = c.CreateTask(makeTask("web-2", 80))
	require.NoError(t, err)
	status, text = healthOf(t, c)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", text)
}

// D41: on etcd3 a value says for itself where its task is, so only the task is left out.
func TestD41OneBadValueDoesNotStopTheServerOnEtcd3(t *testing.T) {
	t.Parallel()
	place := sharedEtcd3.newPlace(t)
	_, log, address := unhurriedProgram(t, place.flags()...)
	c := clientOf(address)
	write := func(value string) { place.do(t, clientv3.OpPut(place.key("/registry/pods/default/bad"), value)) }
	warning := "the stored task (key " + place.key("/registry/pods/default/bad") + ") cannot be decoded"
	for _, value := range []string{"broken", "[1]"} {
		write(value)
		list, err := c.ListTasks(nil)
		require.NoError(t, err)
		assert.Empty(t, list.Items)
		log.find("etcd: " + regexp.QuoteMeta(warning) + ": .")
		status, text := healthOf(t, c)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, "ok\nwarning: "+warning, text)
		_, err = c.GetTask("bad")
		assert.Equal(t, api.Internal, api.KindOf(err))
		_, err = c.CreateTask(makeTask("bad", 81))
		assert.Equal(t, api.AlreadyExists, api.KindOf(err))
		_, err = c.UpdateTask(makeTask("bad", 81))
		assert.Equal(t, api.Internal, api.KindOf(err), "nobody knows which host ports it has")
	}
	for range 2 {
		_, err := c.ListTasks(nil)
		require.NoError(t, err)
	}
	_, err := c.CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	require.NoError(t, c.DeleteTask("bad"))
	status, text := healthOf(t, c)
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, "ok", text)
	log.find("GET /healthz 200 ")
	log.find("DELETE ")
	assert.Equal(t, 2, strings.Count(strings.Join(log.seen, "\n"), "etcd: "), "each value is logged once")
}

// 64 clients of both doors want one id, through two apiservers.
func TestOf64ClientsOfTwoApiserversOneGetsTheID(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		both := openTwo(t, append(flags, "-machines", "m1,m2"))
		var mu sync.Mutex // guards statuses
		statuses := map[string]int{}
		var group sync.WaitGroup
		for i := range 64 {
			group.Go(func() {
				path, body := tasksPath, encodePort(t, "x", 80)
				if i%4 < 2 {
					path, body = todaysPods, encodeAll(t, podNamed("x", 80))
				}
				status, text := both[i%2].do("POST", path, "application/json", body)
				outcome := "refused"
				if status < http.StatusMultipleChoices {
					outcome = "created"
				} else {
					assert.Equal(t, http.StatusConflict, status, text)
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[outcome]++
			})
		}
		group.Wait()
		assert.Equal(t, map[string]int{"created": 1, "refused": 63}, statuses)
		assert.Equal(t, []string{"x"}, both[0].podNames())
		assert.Equal(t, both[0].machineOf("x"), both[1].machineOf("x"))
	})
}

func TestSIGTERMEndsTheProgramOnEtcdToo(t *testing.T) {
	onEachEtcd(t, func(t *testing.T, flags []string) {
		cmd, log, address := unhurriedProgram(t, flags...)
		_, err := clientOf(address).CreateTask(makeTask("web", 80))
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		log.find("stopped$")
		log.end()
		assert.NoError(t, cmd.Wait())
	})
}
