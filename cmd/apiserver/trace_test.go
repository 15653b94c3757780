package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/apiserver"
	"kube2014/pkg/registry"
)

// answersOf sends the recorded requests to a handler.
func answersOf(t *testing.T, handler http.Handler, recorded recording) (answers []string) {
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, step := range recorded.Steps {
		req, err := http.NewRequest(step.Method, server.URL+step.Path, strings.NewReader(step.Body))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(t, err)
		resp.Header.Del("Date")
		answers = append(answers, fmt.Sprint(step.Method, " ", step.Path, ": ", resp.Status, " ", resp.Header, "\n", string(body)))
	}
	return answers
}

// Tracing changes neither the answers nor what is in etcd.
func TestATracedServerAnswersAsOneThatIsNotTraced(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/happy.json", "testdata/wrong.json"} {
		recorded := load(t, file)
		for _, backend := range []string{"memory", "etcd", "etcd3"} {
			t.Run(file+" backend="+backend, func(t *testing.T) {
				t.Parallel()
				var answers [2][]string
				var keys [2]map[string]string
				var narration bytes.Buffer
				for i, traced := range []bool{false, true} {
					o := &options{machines: recorded.Machines, scheduler: defaultScheduler, prefix: "/api/v1beta1", trace: traced}
					var keysAtTheEnd func() map[string]string
					switch backend {
					case "etcd":
						o.etcd.Servers = []string{startEtcd(t).URL}
						keysAtTheEnd = func() map[string]string { return keysIn(t, o.etcd.Servers[0], "/registry") }
					case "etcd3":
						place := sharedEtcd3.newPlace(t)
						o.storageBackend, o.etcd.Servers, o.etcdPrefix = etcd3Backend, []string{place.url}, place.prefix
						keysAtTheEnd = func() map[string]string { return place.keys(t) }
					}
					stores, handler, err := assemble(o, &narration)
					require.NoError(t, err)
					answers[i] = answersOf(t, handler, recorded)
					require.NoError(t, stores.syncEndpoints())
					if keysAtTheEnd != nil {
						_, err := stores.healthz()
						require.NoError(t, err)
						require.NoError(t, stores.reconcile())
						keys[i] = keysAtTheEnd()
						assert.NotEmpty(t, keys[i])
						stores.close()
					}
					assert.Equal(t, traced, narration.Len() > 0)
				}
				assert.Equal(t, answers[0], answers[1])
				assert.Equal(t, keys[0], keys[1])
			})
		}
	}
}

func TestWithoutTraceNothingStandsBetweenTheLayers(t *testing.T) {
	t.Parallel()
	o, err := parseFlags(nil)
	require.NoError(t, err)
	stores, handler, err := assemble(o, nil)
	require.NoError(t, err)
	assert.IsType(t, &apiserver.ApiServer{}, handler)
	for _, part := range []interface{}{stores.tasks, stores.controllers, stores.services} {
		assert.IsType(t, &registry.MemoryRegistry{}, part)
	}
}
