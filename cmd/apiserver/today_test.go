package main

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/today"
)

// onTodaysServers runs a test on servers like the recorded one, which had no nodes: they
// leave pods without a node, and their loops stand still.
func onTodaysServers(t *testing.T, test func(t *testing.T, onEtcd bool, start func(t *testing.T) (url string))) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, name != "memory", func(t *testing.T) string {
				_, _, address := unhurriedProgram(t, append(flags(t), "-scheduler", "none")...)
				return "http://" + address
			})
		})
	}
}

func noneDiffers(t *testing.T, steps []today.Step, known []today.Edit) {
	for _, difference := range today.Differences(steps, known) {
		assert.Equal(t, difference.Want, difference.Got, difference.Name)
	}
}

func TestKubectlPrintsWhatItPrintsOnTodaysServer(t *testing.T) {
	kubectl, err := filepath.Abs("../../bin/kubectl")
	require.NoError(t, err)
	require.FileExists(t, kubectl, "make bin/kubectl builds it")
	sessions, err := today.LoadSessions("../../testdata/today/kubectl.json")
	require.NoError(t, err)
	onTodaysServers(t, func(t *testing.T, _ bool, start func(t *testing.T) string) {
		for _, session := range sessions {
			t.Run(session.Name, func(t *testing.T) {
				t.Parallel()
				steps, err := session.Run(t.Context(), t.TempDir(), kubectl, start(t))
				require.NoError(t, err)
				noneDiffers(t, steps, today.KnownOfKubectl[session.Name])
			})
		}
	})
}

func TestRequestsAreAnsweredAsTodaysServerAnswersThem(t *testing.T) {
	requests, err := today.LoadRequests("../../testdata/today/answers.json")
	require.NoError(t, err)
	onTodaysServers(t, func(t *testing.T, onEtcd bool, start func(t *testing.T) string) {
		steps, err := today.Replay(t.Context(), http.DefaultClient, start(t), requests)
		require.NoError(t, err)
		noneDiffers(t, steps, today.KnownOfRequests(onEtcd))
	})
}
