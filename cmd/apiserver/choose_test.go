package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/api"
	"kube2014/pkg/etcd/etcdtest"
	genericoptions "kube2014/pkg/server/options"
)

// refused starts the program with flags that it cannot serve with, and returns what it
// says.
func refused(t *testing.T, flags ...string) string {
	t.Helper()
	cmd := exec.CommandContext(unhurriedContext(t), os.Args[0], append([]string{"-port", "0"}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"="+unhurried)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	assert.Equal(t, 2, exit.ExitCode())
	assert.Empty(t, stdout.String())
	return stderr.String()
}

// backendOf returns the store of an apiserver with these flags, as its first line in the
// log names it.
func backendOf(t *testing.T, flags ...string) string {
	t.Helper()
	return openDoors(t, flags...).Stores.Name
}

func TestTheBackendIsTheOneThatHoldsObjects(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	flags, place := []string{"-etcd_servers", server.URL}, place3{server.URL, genericoptions.DefaultEtcdPrefix}
	in2, in3 := append(flags, "-storage_backend", "etcd2"), append(flags, "-storage_backend", "etcd3")
	etcd2, etcd3 := "etcd2 at "+server.URL, "etcd3 at "+server.URL
	assert.Equal(t, etcd2, backendOf(t, flags...), "there are no objects")
	assert.Equal(t, etcd3+" below /elsewhere", backendOf(t, append(flags, "-etcd_prefix", "/elsewhere")...), "the keys of etcd2 cannot be there")

	openDoors(t, in3...).createTask("a", 80)
	assert.Equal(t, etcd3, backendOf(t, flags...), "the objects are in etcd3")
	assert.Equal(t, "a", openDoors(t, flags...).task("a").ID)
	assert.Equal(t, etcd2, backendOf(t, in2...), "the flag decides")

	openDoors(t, in2...).createTask("b", 80)
	says := "apiserver: -storage_backend: the etcd holds objects for etcd2 and for etcd3: say -storage_backend etcd2 or -storage_backend etcd3\n"
	assert.Equal(t, says, refused(t, flags...))
	assert.Equal(t, "a", openDoors(t, in3...).task("a").ID)
	assert.Equal(t, "b", openDoors(t, in2...).task("b").ID)
	openDoors(t, in3...).send(http.StatusNotFound, "GET", taskPath("b"), "")

	place.do(t, clientv3.OpDelete("/registry/", clientv3.WithPrefix()))
	assert.Equal(t, etcd2, backendOf(t, flags...), "the objects are in etcd2")
	assert.Equal(t, etcd3, backendOf(t, in3...), "the flag decides")
}

// Objects without a namespace are of an earlier server, and are not migrated.
func TestAnEtcdWithObjectsOfAnEarlierLayoutIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	place := place3{server.URL, genericoptions.DefaultEtcdPrefix}
	place.do(t, clientv3.OpPut("/registry/pods/web-1", `{"id":"web-1"}`))
	flags := []string{"-etcd_servers", server.URL, "-storage_backend", "etcd3"}
	assert.Equal(t, "apiserver: -etcd_prefix: the etcd has objects of an earlier layout, without namespaces, such as key /registry/pods/web-1: "+
		"use another prefix, or delete all keys below this one\n", refused(t, flags...))
	openDoors(t, append(flags, "-etcd_prefix", "/new")...).createTask("a", 80)
	place.do(t, clientv3.OpDelete("/registry/", clientv3.WithPrefix()))
	openDoors(t, flags...).createTask("a", 80)
	assert.Contains(t, place.keys(t), "/registry/pods/default/a")
}

func TestAnEtcdWithoutTheV2APIIsForEtcd3(t *testing.T) {
	t.Parallel()
	servers, err := etcdtest.Setup{NoV2: true}.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers[0].Kill()) })
	url := servers[0].URL
	_, log, address := unhurriedProgram(t, "-etcd_servers", url)
	go log.end()
	assert.Contains(t, log.seen[len(log.seen)-1], ": registry etcd3 at "+url+", ")
	_, err = clientOf(address).CreateTask(makeTask("web", 80))
	require.NoError(t, err)
	assert.Contains(t, place3{url, genericoptions.DefaultEtcdPrefix}.keys(t), "/registry/pods/default/web")

	assert.Equal(t, "apiserver: -etcd_servers: "+url+" is an etcd that does not serve the v2 keys API: "+
		"use -storage_backend etcd3, or start it (3.4 or 3.5) with --enable-v2\n", refused(t, "-etcd_servers", url, "-storage_backend", "etcd2"))
}

func TestAnEtcdWithoutTheV3APIIsForEtcd2(t *testing.T) {
	t.Parallel()
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if req.URL.Path == "/version" {
			io.WriteString(w, `{"etcdserver":"2.3.8","etcdcluster":"2.3.0"}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"errorCode":100,"message":"Key not found"}`)
	}))
	t.Cleanup(old.Close)
	assert.Equal(t, "etcd2 at "+old.URL, backendOf(t, "-etcd_servers", old.URL))
	assert.Equal(t, "apiserver: -etcd_servers: "+old.URL+" is etcd 2.3.8, which has no v3 API: use -storage_backend etcd2\n",
		refused(t, "-etcd_servers", old.URL, "-storage_backend", "etcd3"))
	assert.Equal(t, "apiserver: -storage_backend: the etcd serves only its v2 API, whose keys begin with /registry: leave -etcd_prefix out\n",
		refused(t, "-etcd_servers", old.URL, "-etcd_prefix", "/elsewhere"))
}

// The etcd is down when the program starts. What it serves is found out when it is back.
func TestTheBackendIsChosenWhenTheEtcdIsBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		setup etcdtest.Setup
		want  string
	}{
		"it serves both APIs":  {etcdtest.Setup{}, "etcd2"},
		"it serves only etcd3": {etcdtest.Setup{NoV2: true}, "etcd3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, err := row.setup.Start(t.TempDir())
			require.NoError(t, err)
			server := servers[0]
			t.Cleanup(func() { assert.NoError(t, server.Kill()) })
			require.NoError(t, server.Kill())
			cmd, log, address := unhurriedProgram(t, append([]string{"-etcd_servers", server.URL}, unwatched...)...)
			assert.Contains(t, log.seen[0], "etcd does not answer yet; requests are answered with 503 until it does: ")
			assert.Contains(t, log.seen[len(log.seen)-1], ": registry etcd at "+server.URL+", ")
			c := clientOf(address)
			for what, request := range map[string]func() error{
				"a create":  func() error { _, err := c.CreateTask(makeTask("web", 80)); return err },
				"a read":    func() error { _, err := c.GetTask("web"); return err },
				"a list":    func() error { _, err := c.ListServices(nil); return err },
				"an update": func() error { _, err := c.UpdateService(api.Service{JSONBase: api.JSONBase{ID: "s"}}); return err },
				"a delete":  func() error { return c.DeleteReplicationController("c") },
			} {
				assert.Equal(t, api.Unavailable, api.KindOf(request()), what)
			}
			for path, want := range map[string]int{"/healthz": 503, "/readyz": 500, todaysPods: 503, todaysPods + "?watch=1": 503} {
				status, text := getText(t, "http://"+address+path)
				assert.Equal(t, want, status, "%s: %s", path, text)
			}
			require.NoError(t, server.Restart())
			require.NoError(t, server.Ready())
			log.find("etcd answers: registry " + row.want + " at " + server.URL + "$")
			insist(t, func() error { _, err := c.CreateTask(makeTask("web", 80)); return err })
			w := openWatch(t, patient, "http://"+address+todaysPods+"?watch=1")
			w.tells("ADDED web")
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			go log.end()
			w.ends()
			assert.NoError(t, cmd.Wait(), "exit 0")
		})
	}
}

// It does not choose while it may be wrong, but tells why, once.
func TestTheBackendIsNotGuessedWhenTheEtcdIsBack(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	for _, b := range []backend{genericoptions.Etcd2, genericoptions.Etcd3} {
		openDoors(t, b.flags(server.URL)...).createTask("in-"+string(b), 80)
	}
	require.NoError(t, server.Kill())
	_, log, address := unhurriedProgram(t, append([]string{"-etcd_servers", server.URL}, unwatched...)...)
	require.NoError(t, server.Restart())
	require.NoError(t, server.Ready())
	log.find("-storage_backend: the etcd holds objects for etcd2 and for etcd3: say -storage_backend etcd2 or -storage_backend etcd3$")
	_, err := clientOf(address).GetTask("in-etcd3")
	assert.Equal(t, api.Unavailable, api.KindOf(err))
	place3{server.URL, genericoptions.DefaultEtcdPrefix}.do(t, clientv3.OpDelete("/registry/", clientv3.WithPrefix()))
	log.find("etcd answers: registry etcd2 at " + server.URL + "$")
	insist(t, func() error { _, err := clientOf(address).GetTask("in-etcd2"); return err })
	assert.Equal(t, 1, strings.Count(strings.Join(log.seen, "\n"), "say -storage_backend etcd2"))
}

func TestAnEtcdThatIsDownDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	server := startEtcd(t)
	require.NoError(t, server.Kill())
	cmd, log, _ := unhurriedProgram(t, "-etcd_servers", server.URL)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	log.find("stopped$")
	log.end()
	assert.NoError(t, cmd.Wait())
}

// Prefixes may begin with each other.
func TestApiserversWithOtherPrefixesDoNotSeeEachOthersObjects(t *testing.T) {
	t.Parallel()
	place := sharedEtcd3.newPlace(t)
	var all []*doors
	var watchers []*watcher
	for _, more := range []string{"", "/one", "/one/two", "-other"} {
		d := openDoors(t, append(place3{place.url, place.prefix + more}.flags(), "-machines", "m1")...)
		all = append(all, d)
		watchers = append(watchers, openWatch(t, patient, d.listen()+todaysPods+"?watch=1"))
	}
	for i, d := range all {
		d.createPod(podNamed("same", 80))
		d.createTask(string(rune('a'+i)), 81)
	}
	for i, d := range all {
		assert.Equal(t, "m1", d.machineOf("same"), "its host port is free")
		assert.Len(t, d.podNames(), 2)
		require.NoError(t, d.Stores.Reconcile())
		d.send(http.StatusOK, "DELETE", taskPath("same"), "")
		watchers[i].tells("ADDED same", "ADDED "+string(rune('a'+i)), "DELETED same")
	}
	for i, d := range all {
		assert.Equal(t, []string{string(rune('a' + i))}, d.podNames())
	}
}
