package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asProgram in the environment turns the test binary into the program.
const asProgram = "KUBE2014_TEST_AS_ETCD"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestItAnswersUntilASignalAndIgnoresTheFlagsOfARealOne(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], "--advertise-client-urls=http://127.0.0.1:2379", "--data-dir", t.TempDir(), "--listen-client-urls=http://127.0.0.1:0",
		"--listen-peer-urls=http://127.0.0.1:2380", "--unsafe-no-fsync")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, if the test went well
	log := bufio.NewReader(stderr)
	line, err := log.ReadString('\n')
	require.NoError(t, err)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/health`).FindString(line)
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.JSONEq(t, `{"health": "true", "reason": "", "storage": "none"}`, string(text))
	for range 2 {
		kubeAPIServer, err := net.Dial("tcp", strings.Split(url, "/")[2])
		require.NoError(t, err)
		defer kubeAPIServer.Close()
		_, err = io.WriteString(kubeAPIServer, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, kubeAPIServer) // until it is answered, and closed
	}
	line, err = log.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "nothing is behind this etcd: its clients, such as today's kube-apiserver, need a real one")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(log)
	require.NoError(t, err)
	assert.Contains(t, string(rest), "terminated: stopped")
	assert.NotContains(t, string(rest), "need a real one", "once")
	assert.NoError(t, cmd.Wait(), "exit code 0")
}

// The log is a pipe to the test, if that keeps it.
func TestItsFolderGoesAlsoIfTheTestThatReadItsLogHasEnded(t *testing.T) {
	t.Parallel()
	folder, err := os.MkdirTemp("", "k8s_test_framework_")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	cmd := exec.Command("bash", "-c", `exec 2> >(sed /answers/q >&2); "$0" "$@" & wait`, os.Args[0], "--data-dir", folder, "--listen-client-urls=http://127.0.0.1:0")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	log, err := io.ReadAll(stderr)
	require.NoError(t, err)
	assert.Contains(t, string(log), "answers http://")
	require.NoError(t, cmd.Process.Kill())
	assert.Eventually(t, func() bool { _, err := os.Stat(folder); return os.IsNotExist(err) }, time.Minute, 10*time.Millisecond)
}

func TestItTellsWhatItIs(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"--help":                        {0, "--listen-client-urls LIST", ""},
		"-h":                            {0, "--listen-client-urls LIST", ""},
		"--version":                     {0, "etcd of kube2014 devel, with nothing behind it\n", ""},
		"--listen-client-urls=x://host": {2, "", "etcd: --listen-client-urls: \"x://host\" is not a URL like http://127.0.0.1:2379\n"},
	} {
		var stdout, stderr bytes.Buffer
		assert.Equal(t, want.code, run([]string{flag}, &stdout, &stderr), flag)
		assert.Contains(t, stdout.String(), want.stdout, flag)
		assert.Equal(t, want.stderr, stderr.String(), flag)
	}
}
