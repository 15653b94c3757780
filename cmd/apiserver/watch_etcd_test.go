package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	genericoptions "kube2014/pkg/server/options"
)

// Two apiservers on one etcd tell the same: what is changed through either of them, and what
// another program writes into etcd, which reaches them within a second. That is checked only
// if KUBE2014_WATCHERS is given.
func TestTwoApiserversTellTheSameChanges(t *testing.T) {
	t.Parallel()
	t.Run("backend=etcd", func(t *testing.T) {
		t.Parallel()
		server := startEtcd(t)
		twoTellTheSame(t, []string{"-etcd_servers", server.URL}, "/registry/hosts/m1/tasks/foreign", func(method, key, value string) {
			req, err := http.NewRequest(method, server.URL+"/v2/keys"+key, strings.NewReader(url.Values{"value": {value}}.Encode()))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			resp, err := patient.Do(req)
			require.NoError(t, err)
			resp.Body.Close()
			require.Less(t, resp.StatusCode, 300)
		})
	})
	t.Run("backend=etcd3", func(t *testing.T) {
		t.Parallel()
		place := sharedEtcd3.newPlace(t)
		twoTellTheSame(t, place.flags(), "/registry/pods/foreign", func(method, key, value string) {
			key = place.key(backend(genericoptions.Etcd3).key(key))
			op := clientv3.OpPut(key, value)
			if method == http.MethodDelete {
				op = clientv3.OpDelete(key)
			}
			place.do(t, op)
		})
	})
}

// twoTellTheSame is the test on an etcd. The other program's task has a key, and write writes.
func twoTellTheSame(t *testing.T, flags []string, foreign string, write func(method, key, value string)) {
	both := openTwo(t, append(flags, "-machines", "m1"))
	paths := []string{"/api/v1/pods", "/api/v1/services", "/api/v1/replicationcontrollers", "/api/v1/nodes"}
	watchers := map[string][]*watcher{}
	for _, d := range both {
		address := d.listen()
		for _, path := range paths {
			watchers[path] = append(watchers[path], openWatch(t, patient, address+path+"?watch=1"))
		}
	}
	etcd := func(method, key, value string) func() { return func() { write(method, key, value) } }
	through := func(i, status int, method, path, body string) func() {
		mediaType := map[string]string{"PATCH": mergePatch, "POST": "application/json"}[method]
		return func() { both[i].sendAs(status, method, path, mediaType, body) }
	}
	const (
		spec       = "/registry/services/specs/foreign"
		controller = "/registry/controllers/foreign"
	)
	for _, row := range []struct {
		change func()
		path   string
		want   string
	}{
		{etcd("PUT", spec, `{"id":"foreign","port":80}`), paths[1], "ADDED foreign"},
		{etcd("PUT", spec, `{"id":"foreign","port":81}`), paths[1], "MODIFIED foreign"},
		{through(0, 200, "PATCH", todaysServices+"/foreign", `{"metadata":{"annotations":{"a":"b"}}}`), paths[1], "MODIFIED foreign"},
		{etcd("DELETE", spec, ""), paths[1], "DELETED foreign"},
		{etcd("PUT", controller, `{"id":"foreign","desiredState":{"replicas":2}}`), paths[2], "ADDED foreign"},
		{through(1, 200, "DELETE", "/api/v1beta1/replicationControllers/foreign", ""), paths[2], "DELETED foreign"},
		{etcd("PUT", foreign, `{"id":"foreign","desiredState":{"manifest":{"id":"foreign"}}}`), paths[0], "ADDED foreign"},
		{etcd("PUT", foreign, `{"id":"foreign","labels":{"a":"b"},"desiredState":{"manifest":{"id":"foreign"}}}`), paths[0], "MODIFIED foreign"},
		{etcd("DELETE", foreign, ""), paths[0], "DELETED foreign"},
		{through(0, 201, "POST", todaysPods, encodeAll(t, podNamed("p"))), paths[0], "ADDED p"},
		{through(1, 200, "PATCH", todaysPods+"/p/status", `{"status":{"phase":"Running"}}`), paths[0], "MODIFIED p"},
		{through(1, 200, "DELETE", "/api/v1beta1/tasks/p", ""), paths[0], "DELETED p"},
		{through(1, 201, "POST", "/api/v1/nodes", `{"metadata":{"name":"m2"}}`), paths[3], "ADDED m2"},
	} {
		began := time.Now()
		row.change()
		var told []string
		for _, w := range watchers[row.path] {
			e := w.next()
			require.Equal(t, row.want, e.inShort())
			told = append(told, e.String())
		}
		assert.Equal(t, told[0], told[1], "both tell the same, byte for byte")
		checkSoon(t, time.Since(began), row.want)
	}
}

// Who watches goes on, and what the apiserver has seen it knows. Another one does not.
func TestACompactionDoesNotCutOffWhoWatches(t *testing.T) {
	t.Parallel()
	server := backend(genericoptions.Etcd3).startOne(t)
	flags := append(backend(genericoptions.Etcd3).flags(server.URL), "-machines", "m1")
	d := openDoors(t, flags...)
	url := d.listen()
	first := d.createPod(podNamed("first"))
	w := openWatch(t, patient, url+todaysPods+"?watch=1")
	w.tells("ADDED first")
	d.createPod(podNamed("second"))
	w.tells("ADDED second")
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL}})
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.Compact(t.Context(), int64(d.version()), clientv3.WithCompactPhysical())
	require.NoError(t, err)
	d.createPod(podNamed("third"))
	w.tells("ADDED third")
	old := todaysPods + "?watch=1&resourceVersion=" + first.ResourceVersion
	openWatch(t, patient, url+old).tells("ADDED second", "ADDED third")

	next := openDoors(t, flags...)
	text := next.send(http.StatusGone, "GET", old, "")
	assert.Contains(t, text, "too old resource version")
	openWatch(t, patient, next.listen()+todaysPods+"?watch=1&resourceVersion="+fmt.Sprint(next.version())).body.Close()
	assert.Len(t, next.podNames(), 3)
}
