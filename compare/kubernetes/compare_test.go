package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/bench/measure"
	"kube2014/compare/today"
)

func sample(what, unit string, ours, theirs float64, goal float64) row {
	return row{measurement{what: what, unit: unit, goals: goals{inMemory: goal}}, map[string][]float64{
		inMemory: {ours, ours / 2, 2 * ours}, onEtcd3: {ours / 4, ours / 4, ours / 4}, kubeAPIServer: {theirs, theirs, theirs},
	}}
}

var samples = []row{sample("start", " ms", 2, 20, 8), sample("list", " ms", 2, 20, 16), sample("POST", perSecond, 20, 10, 4)}

func TestTheTableHasEachFigureWithItsFactorAndTheGoalThatIsMissed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, ""+
		"| start | in memory | 2 ms vs 20 ms | 10 | 5 – 20 |\n"+
		"| start | on etcd v3 | 0.5 ms vs 20 ms | 40 | 40 – 40 |\n"+
		"| list | in memory | 2 ms vs 20 ms | 10 (goal 16) | 5 – 20 |\n"+
		"| list | on etcd v3 | 0.5 ms vs 20 ms | 40 | 40 – 40 |\n"+
		"| POST | in memory | 20/s vs 10/s | 2 (goal 4) | 1 – 4 |\n"+
		"| POST | on etcd v3 | 5/s vs 10/s | **0.5** | 0.5 – 0.5 |\n", table(samples))
}

func TestTheReportIsWrittenWithItsPlotAndNotes(t *testing.T) {
	t.Parallel()
	c := &comparison{kubectl: "86 of 86.\n", plot: measure.Plot{Title: "List", X: "pods", Y: "ms"}, rows: samples}
	c.plot.Add("ours", 1, 1)
	c.plot.Add("ours", 10, 2)
	docs := t.TempDir()
	require.NoError(t, c.write(docs))
	text, err := os.ReadFile(filepath.Join(docs, "compare.md"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "1 of 3 goals are met")
	assert.Contains(t, string(text), "|---|\n| start | 20 ms | 10 | – | 40 |\n| list | 20 ms | 10 (goal 16) | – | 40 |\n"+
		"| POST | 10/s | 2 (goal 4) | – | **0.5** |\n\n86 of 86.\n\n"+notes)
	assert.FileExists(t, filepath.Join(docs, "compare-list.svg"))
}

func TestTheReportTellsWhatABareServerReaches(t *testing.T) {
	t.Parallel()
	r := sample("POST to event", " ms", 2, 20, 8)
	r.values[onNothing] = []float64{1, 1, 1}
	assert.Contains(t, table([]row{r}), "| POST to event | bare | 1 ms vs 20 ms | 20 | 20 – 20 |\n")
	assert.Contains(t, (&comparison{rows: []row{r}}).document(), "\n| POST to event, bare server 20 | 20 ms | 10 | – | 40 |\n")
}

func TestABareServerPassesPodsOn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&bareServer{watchers: map[chan []byte]bool{}})
	t.Cleanup(server.Close)
	s := &side{Process: measure.Process{Server: measure.Server{Address: server.Listener.Addr().String()}}}
	version, err := s.version()
	require.NoError(t, err)
	conn, events, err := s.watch(version)
	require.NoError(t, err)
	defer conn.Close()
	_, err = s.ask("POST", podsPath, extraPod(7, ""))
	require.NoError(t, err)
	assert.NoError(t, nextCreated(events, extraName(7)))
}

func TestTheDocumentIsOfThisProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/compare.md")
	require.NoError(t, err)
	head, _, _ := strings.Cut((&comparison{}).document(), " on ")
	assert.True(t, strings.HasPrefix(string(text), head))
	assert.True(t, strings.HasSuffix(string(text), "\n\n"+notes))
}

func TestKubeAPIServerIsToldFilesThatAreThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args, err := measure.KubeFlags(dir, "http://127.0.0.1:1", tokens, "--authorization-mode", "RBAC")
	require.NoError(t, err)
	require.Zero(t, len(args)%2, "each flag has a value")
	files := 0
	for _, arg := range args {
		if strings.HasPrefix(arg, dir) {
			files++
			assert.True(t, arg == dir || assert.FileExists(t, arg))
		}
	}
	assert.Equal(t, 4, files)
	text, err := os.ReadFile(filepath.Join(dir, "tokens.csv"))
	require.NoError(t, err)
	assert.Contains(t, string(request("GET", "/", nil)), "Bearer "+strings.Split(string(text), ",")[0]+"\r\n")
	_, err = tls.LoadX509KeyPair(filepath.Join(dir, "key.pem"), filepath.Join(dir, "key.pem"))
	assert.ErrorContains(t, err, "but did find a private key")
}

func TestOnlyTheStatus403IsForbidden(t *testing.T) {
	t.Parallel()
	assert.True(t, isForbidden(measure.StatusError("403 Forbidden: {}")))
	assert.False(t, isForbidden(measure.StatusError("401 Unauthorized: 403 ")))
	assert.False(t, isForbidden(nil))
}

func TestAllAreAuditedByTheSamePolicyIntoTheirOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sides := []*side{{}, {}}
	require.NoError(t, letAudit(dir, sides))
	for _, s := range sides {
		policy := filepath.Join(dir, "policy.yaml")
		assert.Equal(t, []string{"--audit-policy-file", policy, "--audit-log-path", s.audit}, s.args)
		assert.FileExists(t, policy)
		assert.Error(t, s.checkAudit(), "there is no file yet")
	}
	assert.NotEqual(t, sides[0].audit, sides[1].audit)
}

func TestAServerThatDoesNotWriteItsAuditIsTold(t *testing.T) {
	t.Parallel()
	assert.NoError(t, (&side{}).checkAudit(), "it has none")
	s := &side{audit: filepath.Join(t.TempDir(), "audit.log")}
	const line = `{"kind":"Event","stage":"ResponseComplete","verb":"get","user":{"username":"%s","uid":"2"}}` + "\n"
	require.NoError(t, os.WriteFile(s.audit, fmt.Appendf(nil, line, "admin"), 0o600))
	assert.ErrorIs(t, s.checkAudit(), errNotAudited)
	require.NoError(t, os.WriteFile(s.audit, fmt.Appendf(nil, line+line, "admin", "reader"), 0o600))
	assert.NoError(t, s.checkAudit())
}

func TestEachMachineHasEachHostPortOnce(t *testing.T) {
	t.Parallel()
	used := map[int]int{}
	for i := range 10 * machines {
		_, body, _ := strings.Cut(string(post(podName(i), i, 1000)), "\r\n\r\n")
		var pod struct {
			Metadata struct{ Name string }
			Spec     struct {
				Containers []struct{ Ports []struct{ HostPort int } }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(body), &pod))
		assert.Equal(t, podName(i), pod.Metadata.Name)
		used[pod.Spec.Containers[0].Ports[0].HostPort]++
	}
	assert.Len(t, used, 10)
	for port, times := range used {
		assert.Equal(t, len(strings.Split(machineNames(), ",")), times, port)
	}
}

func TestABodyHasTheTypeOfItsMethod(t *testing.T) {
	t.Parallel()
	assert.NotContains(t, string(request("GET", "/", nil)), "Content-Type")
	assert.Contains(t, string(post("a", 0, 1)), "Content-Type: application/json\r\n")
	assert.Contains(t, string(change(7)), "Content-Type: application/merge-patch+json\r\n")
	assert.NotEqual(t, change(7), change(8))
}

func TestAWatcherWaitsForThePodThatWasCreated(t *testing.T) {
	t.Parallel()
	const other = `{"type":"MODIFIED","object":{"metadata":{"name":"extra-000001"}}}` + "\n" + `{"type":"ADDED","object":{"metadata":{"name":"extra-000002"}}}` + "\n"
	const added = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"extra-000001","namespace":"default"}}}` + "\n"
	const gone = `{"type":"ERROR","object":{"kind":"Status","code":410}}` + "\n"
	for sentence, row := range map[string]struct{ events, err string }{
		"it comes":                     {added, ""},
		"it comes after others":        {other + added + gone, ""},
		"the watch ends before":        {other + gone + added, `the watch has ended: {"type":"ERROR","object":{"kind":"Status","code":410}}` + "\n"},
		"the connection closes before": {other, "EOF"},
	} {
		err := nextCreated(bufio.NewReader(strings.NewReader(row.events)), "extra-000001")
		if row.err == "" {
			assert.NoError(t, err, sentence)
		} else {
			assert.EqualError(t, err, row.err, sentence)
		}
	}
}

func TestPercentilesAreOfTheSortedValues(t *testing.T) {
	t.Parallel()
	var values []float64
	for i := range watchedPosts {
		values = append(values, float64((i*7)%watchedPosts)) // each once, in some order
	}
	assert.Equal(t, percentiles{500, 990}, percentilesOf(values))
}

func TestCommandsThatDifferAreCountedOnce(t *testing.T) {
	t.Parallel()
	var all tally
	all.add("one", 3, []today.Edit{{Step: "1 get"}, {Step: "1 get"}}, nil)
	all.add("two", 2, nil, []today.Difference{{Name: "0 get"}, {Name: "0 get"}})
	assert.Equal(t, "4 of 5", all.String())
	assert.Equal(t, 1, all.known)
	assert.Equal(t, "\n- on ours, two: 0 get\n", all.differences("ours"))
	assert.Empty(t, tally{}.differences("ours"))
}

func TestAProgramThatEndsIsToldWithItsLog(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "apiserver")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$1 is no flag\" >&2\n"), 0o700))
	c := &comparison{Run: &measure.Run{Dir: t.TempDir()}, programs: filepath.Dir(program)}
	defer c.Close()
	assert.EqualError(t, c.start(c.ours(inMemory, "")), inMemory+": "+program+" does not get ready: it has ended: -port is no flag\n")
}
