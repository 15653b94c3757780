package crds

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/bench/measure"
	"kube2014/compare/serverstest"
)

const (
	quiet     = 10 * time.Second // after which memory is read
	clients   = 8
	loaded    = 5 * time.Second
	fields    = 100
	atStart   = 500 // definitions that are there when a server starts
	smallOnes = 20
)

// They only tell: a busy machine is slower. The test runs alone, before those that are parallel.
func TestTheFiguresOfOwnResourcesAreTold(t *testing.T) {
	onlyIfAsked(t)
	program := ourProgram(t)
	sides := []struct {
		name  string
		start func(t *testing.T) *server
	}{
		{"ours in memory", func(t *testing.T) *server { return inMemory(t, program) }},
		{"ours on etcd", func(t *testing.T) *server { return onEtcd(t, program, startEtcd(t)) }},
		{"kube-apiserver", func(t *testing.T) *server { return todays(t, startEtcd(t)) }},
	}
	for _, side := range sides {
		t.Run("memory and time to served, "+side.name, func(t *testing.T) { installedFigures(t, side.start(t)) })
	}
	for _, side := range sides {
		t.Run("small definitions, "+side.name, func(t *testing.T) { smallFigures(t, side.start(t)) })
	}
	for _, side := range sides {
		t.Run("creations, "+side.name, func(t *testing.T) { rateFigures(t, side.start(t)) })
	}
	t.Run("start, ours on etcd", func(t *testing.T) {
		etcd := startEtcd(t)
		startFigures(t, func() *server { return onEtcd(t, program, etcd) })
	})
	t.Run("start, kube-apiserver", func(t *testing.T) {
		etcd := startEtcd(t)
		startFigures(t, func() *server { return todays(t, etcd) })
	})
}

func (s *server) megabytes(t *testing.T) float64 {
	time.Sleep(quiet)
	bytes, err := measure.Server{PID: s.PID}.ResidentMemory()
	require.NoError(t, err)
	return float64(bytes) / 1e6
}

// servedAfter creates a definition, and returns how long after the answer its objects can be listed.
func (s *server) servedAfter(t *testing.T, definition []byte) (kind, time.Duration) {
	k := kindOf(t, definition)
	created := s.Do(t, request{Method: http.MethodPost, Path: atCRDs, ContentType: onYAML, Body: definition})
	answered := time.Now()
	require.Equal(t, http.StatusCreated, created.Status, "%s", created.Body)
	serverstest.Eventually(t, k.name+" is served", func() bool { return s.Finds(k.versions[0].collection) })
	return k, time.Since(answered)
}

// installedFigures measures the definitions that the budget of memory is about.
func installedFigures(t *testing.T, s *server) {
	var kinds []kind
	var times []time.Duration
	idle := s.megabytes(t)
	given := map[string][]object{}
	for _, p := range []project{gateways, prometheus, certificates} {
		folder := p.download(t)
		for _, definition := range p.definitions(t, folder) {
			k, took := s.servedAfter(t, definition)
			kinds, times = append(kinds, k), append(times, took)
		}
		for versionAndKind, objects := range examples(t, folder) {
			given[versionAndKind] = append(given[versionAndKind], objects...)
		}
	}
	n := float64(len(kinds))
	installed := s.megabytes(t)
	taken := 0
	for _, k := range kinds {
		v := k.versions[0]
		for _, o := range append([]object{v.made(true), v.made(false)}, given[v.apiVersion+" "+v.kind]...) {
			if s.Do(t, request{Method: http.MethodPost, Path: v.collection, Body: inJSON(v.named("one", o))}).Status == http.StatusCreated {
				taken++
				break
			}
		}
		s.Do(t, request{Method: http.MethodGet, Path: v.collection})
	}
	used := s.megabytes(t)
	t.Logf("%d definitions: %.1f MB idle, %.1f MB with them, %.2f MB each; %.1f MB after %d objects, %.2f MB each",
		len(kinds), idle, installed, (installed-idle)/n, used, taken, (used-idle)/n)
	t.Logf("from created to served: %s", spread(times))
}

func smallFigures(t *testing.T, s *server) {
	var times []time.Duration
	for i := range smallOnes {
		_, took := s.servedAfter(t, small(i, 1))
		times = append(times, took)
	}
	t.Logf("from created to served: %s", spread(times))
}

func spread(times []time.Duration) string {
	slices.Sort(times)
	return fmt.Sprintf("median %v, longest %v", times[len(times)/2].Round(10*time.Microsecond), times[len(times)-1].Round(10*time.Microsecond))
}

// small is a definition with a number, and with some fields.
func small(i, fields int) []byte {
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: smalls%[1]d.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: smalls%[1]d, singular: small%[1]d, kind: Small%[1]d, listKind: Small%[1]dList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`, i)
	for field := range fields {
		text += fmt.Sprintf("              field%d: {type: %s}\n", field, []string{"string", "integer"}[field%2])
	}
	return []byte(text)
}

// rateFigures creates objects with all fields of a schema.
func rateFigures(t *testing.T, s *server) {
	k, _ := s.servedAfter(t, small(0, fields))
	v := k.versions[0]
	right := v.made(true)
	var n atomic.Int64
	end := time.Now().Add(loaded)
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				body := inJSON(v.named(fmt.Sprintf("one-%d-%d", client, i), right))
				if created, err := s.Try(request{Method: http.MethodPost, Path: v.collection, Body: body}); err != nil || created.Status != http.StatusCreated {
					t.Errorf("%d %v: %s", created.Status, err, created.Body)
					return
				}
				n.Add(1)
			}
		})
	}
	group.Wait()
	t.Logf("%.0f objects with %d fields created a second by %d clients", float64(n.Load())/loaded.Seconds(), fields, clients)
}

// startFigures starts a server that has many definitions, and asks for the objects of each.
func startFigures(t *testing.T, start func() *server) {
	s := start()
	empty := s.Ready
	var kinds []kind
	for i := range atStart {
		k, _ := s.servedAfter(t, small(i, 1))
		kinds = append(kinds, k)
	}
	s.Stop()
	begin := time.Now()
	s = start()
	for _, k := range kinds {
		serverstest.Eventually(t, k.name+" is served", func() bool { return s.Finds(k.versions[0].collection) })
	}
	t.Logf("start to ready: %v with none, %v with %d definitions; %v until each was listed; %.1f MB", empty, s.Ready, atStart, time.Since(begin), s.megabytes(t))
}
