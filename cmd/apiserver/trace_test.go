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

	"kube2014/pkg/options"
	"kube2014/pkg/registry"
	genericoptions "kube2014/pkg/server/options"
	"kube2014/pkg/storage/memory"
)

// answersOf sends the recorded requests to a handler.
func answersOf(t *testing.T, handler http.Handler, recorded recording) (answers []string) {
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, step := range recorded.Steps {
		req, err := http.NewRequest(step.Method, server.URL+step.Path, strings.NewReader(step.Body))
		require.NoError(t, err)
		resp, err := server.Client().Do(req) // others end the idle connections of http.DefaultTransport
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
				var trace bytes.Buffer
				for i, traced := range []bool{false, true} {
					o := options.New()
					o.Generic.Machines, o.Generic.Trace = recorded.Machines, traced
					var keysAtTheEnd func() map[string]string
					switch backend {
					case "etcd":
						o.Etcd.Servers = []string{startEtcd(t).URL}
						keysAtTheEnd = func() map[string]string { return keysIn(t, o.Etcd.Servers[0], "/registry") }
					case "etcd3":
						place := sharedEtcd3.newPlace(t)
						o.Etcd.Backend, o.Etcd.Servers, o.Etcd.Prefix = genericoptions.Etcd3, []string{place.url}, place.prefix
						keysAtTheEnd = func() map[string]string { return place.keys(t) }
					}
					o.Admission.NoAccounts = true // no loop runs
					m, err := createMaster(config, o, &trace)
					require.NoError(t, err)
					stores := m.Stores
					answers[i] = answersOf(t, m.Server.PrepareRun().InsecureHandler(), recorded)
					require.NoError(t, m.Loops.SyncEndpoints())
					if keysAtTheEnd != nil {
						_, err := stores.Healthz()
						require.NoError(t, err)
						require.NoError(t, stores.Reconcile())
						keys[i] = keysAtTheEnd()
						assert.NotEmpty(t, keys[i])
						stores.Close()
					}
					assert.Equal(t, traced, trace.Len() > 0)
				}
				assert.Equal(t, answers[0], answers[1])
				assert.Equal(t, keys[0], keys[1])
			})
		}
	}
}

func TestWithoutTraceNothingStandsBetweenTheLayers(t *testing.T) {
	t.Parallel()
	o, err := options.Parse(nil)
	require.NoError(t, err)
	m, err := createMaster(config, o, nil)
	require.NoError(t, err)
	for _, part := range []interface{}{m.Stores.Tasks, m.Stores.Controllers, m.Stores.Services} {
		assert.IsType(t, &registry.MemoryRegistry{}, part)
	}
	assert.IsType(t, &memory.Store{}, m.Stores.Objects)
}
