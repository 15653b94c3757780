package kube2014

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/options"
)

const clientExample = "pkg/client/v1/example_test.go"

var (
	exampleBody = regexp.MustCompile(`(?ms)^func Example\(\) \{\n(.*?)^\}$`)
	prints      = regexp.MustCompile(`(?ms)^// Prints:\n(.*)`)
)

// The client's example runs here as a program on a server.
func TestTheExampleOfTheClientPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	example := read(t, clientExample)
	match := exampleBody.FindStringSubmatch(example)
	require.NotNil(t, match)
	body := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(match[1], "")
	said := prints.FindStringSubmatch(body)
	require.NotNil(t, said)
	const documented = "127.0.0.1:8080"
	require.Contains(t, example, documented)
	program := filepath.Join(t.TempDir(), "main.go")
	text := strings.NewReplacer("package v1_test", "package main", "func Example()", "func main()",
		documented, start(t, build(t, asUsersRunIt)).address).Replace(example)
	require.NoError(t, os.WriteFile(program, []byte(text), 0o644))
	run := exec.Command("go", "run", program)
	run.Stderr = os.Stderr
	printed, err := run.Output()
	require.NoError(t, err)
	assert.Equal(t, strings.ReplaceAll(said[1], "// ", ""), string(printed))
}

// What make kubeconfig prints is for a shell, as are the comments in it.
func TestWithWhatMakeKubeconfigPrintsKubectlAsksTheServer(t *testing.T) {
	t.Parallel()
	quoted := `"` + kubectl(t) + `"`
	makefile, err := filepath.Abs("Makefile")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(start(t, build(t, asUsersRunIt)).address)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "it's here") // whose data/ is written
	require.NoError(t, os.Mkdir(dir, 0o755))

	in := func(command *exec.Cmd) string {
		command.Dir = dir
		command.Env = append(os.Environ(), "HOME="+dir, "KUBECONFIG=", "PORT="+port)
		return printedBy(t, command)
	}
	const ask = " get nodes --output name"
	const nodes = "node/127.0.0.1\nnode/127.0.0.2\n"
	told := in(exec.Command("make", "--no-print-directory", "-f", makefile, "kubeconfig"))
	assert.Equal(t, nodes, in(exec.Command("bash", "-c", told+quoted+ask)))
	option := regexp.MustCompile(`# or: kubectl( --kubeconfig \S+)`).FindStringSubmatch(told)
	require.NotNil(t, option, told)
	assert.Equal(t, nodes, in(exec.Command("bash", "-c", quoted+option[1]+ask)))
}

// The file is generated: go test -run TestTheHelp . -update writes it. Not parallel, because other tests read the file.
func TestTheHelpOfKubeAPIServerIsThatOfItsFlags(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile("cmd/apiserver/help/help.txt", []byte(options.KubeAPIServerUsage()), 0o644))
	}
	assert.Equal(t, options.KubeAPIServerUsage(), read(t, "cmd/apiserver/help/help.txt"), "this corrects it: go test -run TestTheHelp . -update")
}
