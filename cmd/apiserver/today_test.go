package main

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/compare/today"
	"kube2014/pkg/util/certtest"
)

// likeRecorded are flags of a server like the recorded one, which had no nodes, and nobody who makes service accounts.
var likeRecorded = []string{"-scheduler", "none", "-disable_admission_plugins", "ServiceAccount"}

// onTodaysServers runs a test on servers like the recorded one: they leave pods without a node, and their loops stand
// still.
func onTodaysServers(t *testing.T, test func(t *testing.T, onEtcd bool, start func(t *testing.T) (url string))) {
	t.Parallel()
	for name, flags := range flagsFor {
		t.Run("backend="+name, func(t *testing.T) {
			t.Parallel()
			test(t, name != "memory", func(t *testing.T) string {
				_, _, address := unhurriedProgram(t, append(flags(t), likeRecorded...)...)
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

// kubectlPath is where the real kubectl is. Tests with it are long.
func kubectlPath(t *testing.T) string {
	if testing.Short() {
		t.Skip("make long runs kubectl")
	}
	path, err := filepath.Abs("../../bin/kubectl")
	require.NoError(t, err)
	require.FileExists(t, path, "make bin/kubectl builds it")
	return path
}

// todaysSessions returns the recorded sessions of kubectl in a file.
func todaysSessions(t *testing.T, file string) []today.Session {
	sessions, err := today.LoadSessions("../../testdata/today/" + file)
	require.NoError(t, err)
	return sessions
}

func TestKubectlPrintsWhatItPrintsOnTodaysServer(t *testing.T) {
	kubectl, sessions := kubectlPath(t), todaysSessions(t, "kubectl.json")
	onTodaysServers(t, func(t *testing.T, _ bool, start func(t *testing.T) string) {
		for _, session := range sessions {
			t.Run(session.Name, func(t *testing.T) {
				t.Parallel()
				steps, err := session.Run(t.Context(), t.TempDir(), kubectl, start(t))
				require.NoError(t, err)
				noneDiffers(t, steps, today.AtInsecurePort(session.Name))
			})
		}
	})
}

func TestRequestsAreAnsweredAsTodaysServerAnswersThem(t *testing.T) {
	requests, err := today.LoadRequests("../../testdata/today/answers.json")
	require.NoError(t, err)
	onTodaysServers(t, func(t *testing.T, onEtcd bool, start func(t *testing.T) string) {
		steps, err := today.Replay(t.Context(), patient, start(t), requests)
		require.NoError(t, err)
		noneDiffers(t, steps, today.KnownOfRequests(onEtcd))
	})
}

// TestKubectlPrintsTheSameAtTheSecurePort: TLS, a token and RBAC change nothing for who may do
// everything.
func TestKubectlPrintsTheSameAtTheSecurePort(t *testing.T) {
	t.Parallel()
	kubectl, f := kubectlPath(t), filesOf(t)
	flags, authority := f.secureFlags()
	flags = slices.Concat(flags, likeRecorded, []string{"-authorization_mode", "RBAC", "-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")})
	for _, session := range todaysSessions(t, "kubectl.json") {
		t.Run(session.Name, func(t *testing.T) {
			t.Parallel()
			_, _, _, url := secureProgram(t, unhurried, flags...)
			steps, err := session.RunAs(t.Context(), t.TempDir(), kubectl, kubeconfigFor(t, url, authority, "admin-token"))
			require.NoError(t, err)
			noneDiffers(t, steps, today.KnownOfKubectl[session.Name])
		})
	}
}

// The recorded server had today's controller manager beside it. Ours has its own controllers, and our controller manager.
func TestKubectlPrintsWhatItPrintsBesideTodaysControllers(t *testing.T) {
	t.Parallel()
	kubectl, sessions := kubectlPath(t), todaysSessions(t, "kubectl-2.json")
	for name, store := range flagsFor {
		for _, session := range sessions {
			t.Run(session.Name+" backend="+name, func(t *testing.T) {
				t.Parallel()
				f := filesOf(t)
				flags, authority := f.secureFlags()
				addresses, known := addressesOn(name, session)
				flags = slices.Concat(flags, store(t), addresses, []string{"-run", "apiserver,controller_manager", "-scheduler", "none", "-authorization_mode", "RBAC",
					"-token_auth_file", f.write("tokens", "admin-token,admin,1,system:masters\n")}, f.signingFlags())
				_, _, _, url := secureProgram(t, unhurried, flags...)
				steps, err := session.RunAs(t.Context(), t.TempDir(), kubectl, kubeconfigFor(t, url, authority, "admin-token"))
				require.NoError(t, err)
				noneDiffers(t, steps, known)
			})
		}
	}
}

// addressesOn returns the flags for addresses of services on a store, and what is known to differ in a session there.
func addressesOn(store string, session today.Session) (flags []string, known []today.Edit) {
	known = today.KnownOfKubectl[session.Name]
	switch store {
	case "etcd":
		return nil, slices.Concat(known, today.KnownWithoutAddresses[session.Name])
	case "memory":
		known = slices.Concat(known, today.KnownInMemory[session.Name])
	}
	return []string{"-service_cluster_ip_range", "10.0.0.0/16"}, known
}

// kubeconfigFor returns how kubectl gets in by a token.
func kubeconfigFor(t *testing.T, url string, authority *certtest.Pair, token string) string {
	text := authority.CertPEM
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: a, user: u}}],
clusters: [{name: a, cluster: {server: %q, certificate-authority-data: %s}}], users: [{name: u, user: {token: %s}}]}
`, url, base64.StdEncoding.EncodeToString(text), token)
}
