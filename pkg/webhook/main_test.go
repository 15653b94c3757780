package webhook

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow machine is to be no reason for a failure.
func TestMain(m *testing.M) {
	CallTimeout, AnswerTimeout = 3*time.Minute, 4*time.Minute
	os.Exit(m.Run())
}

// config returns a kubeconfig with these fields of the cluster and the user.
func config(cluster, user string) string {
	return "current-context: c\ncontexts: [{name: c, context: {cluster: s, user: u}}]\n" +
		"clusters: [{name: s, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
}

func write(t testing.TB, dir, name, text string) string {
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}
