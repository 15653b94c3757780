package aggregation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/serverstest"
)

func TestWhileTheSampleServerIsAwayOnlyItsGroupIsAndItComesBackByItself(t *testing.T) {
	onlyIfAsked(t)
	f := newFleet(t, 1)
	f.addSample(t)
	s := f.ours[0]
	s.create(t, atFlunders, fmt.Sprintf(flunder, "kept", ""))
	s.create(t, "/api/v1/namespaces/default/configmaps", `{"metadata": {"name": "ours"}}`)
	before := conditionOf(t, s)
	assert.Equal(t, "Current", freshness(t, s)["wardle.example.com"])

	f.sample.stop()
	assert.Equal(t, http.StatusServiceUnavailable, s.Do(t, serverstest.Request{Method: http.MethodGet, Path: atFlunders}).Status, "at once, before the server has looked")
	begin := time.Now()
	serverstest.Eventually(t, "the condition says that it is away", func() bool { return conditionOf(t, s).Status == "False" })
	t.Logf("after %.1f s, the condition says that the server is away", time.Since(begin).Seconds())
	away := conditionOf(t, s)
	assert.Equal(t, "FailedDiscoveryCheck", away.Reason)
	assert.Contains(t, away.Message, "failing or missing response from https://"+f.sample.address+atWardle)
	got := s.Do(t, serverstest.Request{Method: http.MethodGet, Path: atFlunders})
	assert.Equal(t, []any{http.StatusServiceUnavailable, "service unavailable\n"}, []any{got.Status, string(got.Body)})
	assert.Equal(t, "Stale", freshness(t, s)["wardle.example.com"])
	othersAreServed(t, s)
	resources := s.kubectl(t, "api-resources")
	assert.NotContains(t, resources, "flunders")
	assert.Contains(t, resources, "configmaps")

	// Ours is killed meanwhile: it knows that the other one is away, and serves the others.
	s.stop()
	s.start(t)
	serverstest.Eventually(t, s.Name+" is ready", func() bool { return s.Finds("/readyz") })
	assert.Equal(t, http.StatusServiceUnavailable, s.Do(t, serverstest.Request{Method: http.MethodGet, Path: atFlunders}).Status)
	assert.Equal(t, "Stale", freshness(t, s)["wardle.example.com"])
	assert.Equal(t, away.LastTransitionTime, conditionOf(t, s).LastTransitionTime)
	othersAreServed(t, s)

	begin = time.Now()
	f.startSample(t)
	t.Logf("%.1f s after its start, the sample server is reached", time.Since(begin).Seconds())
	serverstest.Eventually(t, "discovery is fresh", func() bool { return freshness(t, s)["wardle.example.com"] == "Current" })
	assert.Equal(t, map[string]bool{"kept": true}, names(t, s.Server, atFlunders))
	back := conditionOf(t, s)
	assert.Equal(t, []string{before.Status, before.Reason, before.Message}, []string{back.Status, back.Reason, back.Message})
	assert.Contains(t, s.kubectl(t, "api-resources"), "flunders")
}

// othersAreServed uses kubectl and discovery for other groups.
func othersAreServed(t *testing.T, s *server) {
	for _, args := range [][]string{{"get", "configmap", "ours"}, {"get", "deployments,roles,apiservices", "-A"}, {"annotate", "configmap", "ours", "a=b", "--overwrite"},
		{"explain", "pods.spec"}, {"create", "configmap", "brief"}, {"delete", "configmap", "brief"}} {
		s.kubectl(t, args...)
	}
	for _, path := range []string{"/api", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3", "/readyz"} {
		assert.True(t, s.Finds(path), path)
	}
}

// freshness returns what discovery says of the first version of each group.
func freshness(t *testing.T, s *server) map[string]string {
	got := s.Do(t, serverstest.Request{Method: http.MethodGet, Path: "/apis", Accept: asOneList})
	require.Equal(t, http.StatusOK, got.Status)
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct{ Freshness string }
		}
	}
	require.NoError(t, json.Unmarshal(got.Body, &list))
	found := map[string]string{}
	for _, group := range list.Items {
		found[group.Metadata.Name] = group.Versions[0].Freshness
	}
	return found
}
