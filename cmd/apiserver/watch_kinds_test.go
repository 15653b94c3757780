package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// watchedKinds are the kinds that can be created at the second door, with what is posted.
var watchedKinds = map[string]string{
	"pods":                   `"spec":{"containers":[{"name":"c","image":"i"}]}`,
	"replicationcontrollers": `"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}`,
	"services":               `"spec":{"ports":[{"port":80}]}`,
	"endpoints":              `"subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"port":80}]}]`,
	"nodes":                  `"spec":{}`,
	"events":                 `"involvedObject":{"namespace":"default","kind":"Pod","name":"p"},"reason":"Seen"`,
}

// watchPaths are the paths of a watch of a kind, or of its object x, and of one that tells
// nothing.
func watchPaths(root, kind string, namespaced bool) (telling []string, silent string) {
	telling = []string{root + kind + "?watch=1", root + "watch/" + kind, root + kind + "?watch=true&fieldSelector=metadata.name%3Dx"}
	if !namespaced {
		return append(telling, root+"watch/"+kind+"/x"), root + "watch/" + kind + "/y"
	}
	return append(telling, root+"namespaces/default/"+kind+"?watch=1", root+"watch/namespaces/default/"+kind,
		root+"watch/namespaces/default/"+kind+"/x"), root + "namespaces/other/" + kind + "?watch=1"
}

func TestEachKindIsWatchedByEachPath(t *testing.T) {
	atBothDoors(t, func(t *testing.T, d *doors) {
		url := d.listen()
		var all []*watcher
		for kind, more := range watchedKinds {
			namespaced := kind != "nodes"
			paths, silentPath := watchPaths("/api/v1/", kind, namespaced)
			collection := "/api/v1/namespaces/default/" + kind
			if !namespaced {
				collection = "/api/v1/" + kind
			}
			var watchers []*watcher
			for _, path := range paths {
				watchers = append(watchers, openWatch(t, patient, url+path))
			}
			silent := openWatch(t, patient, url+silentPath)
			d.send(http.StatusCreated, "POST", collection, `{"metadata":{"name":"x"},`+more+`}`)
			d.sendAs(http.StatusOK, "PATCH", collection+"/x", mergePatch, `{"metadata":{"annotations":{"a":"b"}}}`)
			d.send(http.StatusOK, "DELETE", collection+"/x?propagationPolicy=Background", "")
			for _, w := range watchers {
				w.tells("ADDED x", "MODIFIED x", "DELETED x")
			}
			all = append(all, append(watchers, silent)...)
		}
		d.Today.EndWatches()
		for _, w := range all {
			w.ends()
		}
	})
}

func TestANamespaceIsWatched(t *testing.T) {
	t.Parallel()
	d := openDoors(t)
	url := d.listen()
	d.send(http.StatusCreated, "POST", "/api/v1/namespaces", `{"metadata": {"name": "dev"}}`)
	initial := openWatch(t, patient, url+"/api/v1/namespaces?watch=1")
	named := openWatch(t, patient, url+"/api/v1/watch/namespaces/dev")
	initial.tells("ADDED dev")
	named.tells("ADDED dev")
	d.createPod(podNamed("p"))
	d.send(http.StatusCreated, "POST", "/api/v1/namespaces", `{"metadata": {"name": "prod"}}`)
	initial.tells("ADDED prod")
	d.send(http.StatusOK, "DELETE", "/api/v1/namespaces/dev", "")
	initial.tells("MODIFIED dev")
	named.tells("MODIFIED dev")
	d.Today.EndWatches()
	for _, w := range []*watcher{initial, named} {
		w.ends()
	}
}

// A traced server serves one request at a time, but a watch may take hours.
func TestAWatchIsServedWhateverTheFlags(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		flags []string
		tasks string // where the first door has them; "" if it is closed
	}{
		"without flags":               {nil, "/api/v1beta1/tasks"},
		"requests are traced":         {[]string{"-trace"}, "/api/v1beta1/tasks"},
		"the first door is elsewhere": {[]string{"-api_prefix", "/first"}, "/first/tasks"},
		"the first door is below":     {[]string{"-api_prefix", "/api/v1/watch/first"}, "/api/v1/watch/first/tasks"},
		"the first door is closed":    {[]string{"-runtime_config", "api/v1beta1=false"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDoors(t, row.flags...)
			server := httptest.NewServer(d.handler)
			t.Cleanup(server.Close)
			t.Cleanup(d.Today.EndWatches)
			watchers := []*watcher{openWatch(t, patient, server.URL+"/api/v1/pods?watch=1"), openWatch(t, patient, server.URL+"/api/v1/watch/pods")}
			var wanted []string
			if row.tasks != "" {
				d.send(http.StatusOK, "POST", row.tasks, task("web", 80))
				wanted = append(wanted, "ADDED web")
				assert.Contains(t, d.send(http.StatusOK, "GET", row.tasks+"?watch=1", ""), `"items"`, "the first door has no watches")
			}
			d.createPod(podNamed("p"))
			for _, w := range watchers {
				w.tells(append(wanted, "ADDED p")...)
			}
			d.Today.EndWatches()
			for _, w := range watchers {
				w.ends()
			}
		})
	}
}

func TestWithoutTheSecondDoorThereAreNoWatches(t *testing.T) {
	t.Parallel()
	d := openDoors(t, "-runtime_config", "api/v1=false")
	assert.Nil(t, d.Today)
	for _, path := range []string{"/api/v1/pods?watch=1", "/api/v1/watch/pods"} {
		assert.True(t, strings.HasPrefix(d.send(http.StatusNotFound, "GET", path, ""), "Not Found: "), path)
	}
	first := d.send(http.StatusOK, "GET", "/api/v1beta1/tasks", "")
	assert.Equal(t, first, d.send(http.StatusOK, "GET", "/api/v1beta1/tasks?watch=1", ""))
}
