package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/bench/measure"
	"kube2014/compare/today"
)

func TestTheTableHasEachRowWithItsRatioAndWhetherItsGoalIsMet(t *testing.T) {
	t.Parallel()
	ours, theirs := []float64{2, 1, 4}, []float64{20, 20, 20}
	got := table([]row{
		{"start", "in memory", "ms", ours, theirs, atMost(1.0 / 8)},
		{"start", "on etcd", "ms", ours, theirs, atMost(1.0 / 20)},
		{"list", "in memory", "ms", ours, theirs, faster(10)},
		{"POST", "in memory", "a second", theirs, ours, atLeast(20)},
	})
	_, rows, _ := strings.Cut(got, "|---|\n")
	assert.Equal(t, ""+
		"| start | in memory | 2 ms | 20 ms | 1/10 | 1/20 – 1/5 | ≤ 1/8 | met |\n"+
		"| start | on etcd | 2 ms | 20 ms | 1/10 | 1/20 – 1/5 | ≤ 1/20 | not met |\n"+
		"| list | in memory | 2 ms | 20 ms | 10 × | 5 × – 20 × | ≥ 10 × | met |\n"+
		"| POST | in memory | 20 a second | 2 a second | 10 × | 5 × – 20 × | ≥ 20 × | not met |\n", rows)
}

func TestTheReportIsWrittenWithItsPlotsAndNotes(t *testing.T) {
	t.Parallel()
	plot := measure.Plot{File: "list", Title: "List", X: "pods", Y: "ms"}
	plot.Add("ours", 1, 1)
	plot.Add("ours", 10, 2)
	c := &comparison{kubectl: "86 of 86.\n", plots: []measure.Plot{plot}, rows: []row{
		{"a", "in memory", "ms", []float64{1}, []float64{2}, atMost(1)}, {"b", "in memory", "ms", []float64{1}, []float64{2}, faster(9)},
		{"c", "on etcd", "ms", []float64{1}, []float64{2}, faster(9).none()},
	}}
	docs := t.TempDir()
	require.NoError(t, c.write(docs))
	text, err := os.ReadFile(filepath.Join(docs, "compare.md"))
	require.NoError(t, err)
	for _, part := range []string{"1 of 2 goals are met", "| c | on etcd | 1 ms | 2 ms | 2 × | 2 × – 2 × | – |  |", "](compare-list.svg)", "## With kubectl\n\n86 of 86.\n\n## How it is measured", "## What is not alike"} {
		assert.Contains(t, string(text), part)
	}
	assert.FileExists(t, filepath.Join(docs, "compare-list.svg"))
}

func TestKubeAPIServerIsToldFilesThatAreThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, writeCredentials(dir, tokens))
	args := kubeArgs(dir, "http://127.0.0.1:1", "RBAC")
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
	assert.EqualError(t, c.start(c.ours(withoutNodes, "")), withoutNodes+": "+program+" does not get ready: it has ended: -port is no flag\n")
}
