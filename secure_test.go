package kube2014

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// makeSecure starts make secure in a folder with a name that a shell would split, and returns
// the folder of its files. They are made once: what knows the port is made again when the server
// has one.
func makeSecure(t *testing.T) (files string, s *server) {
	dir, s := makeSecureIn(t)
	return filepath.Join(dir, "data", "secure"), s
}

// makeSecureIn is makeSecure. It returns the folder in which make is run.
func makeSecureIn(t *testing.T) (dir string, s *server) {
	makefile, err := filepath.Abs("Makefile")
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), `it's "here"`)
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.Symlink(build(t, unhurried), filepath.Join(bin, "apiserver")))
	printedBy(t, exec.Command("go", "build", "-o", bin, "./secure"))

	command := exec.Command("make", "--no-print-directory", "-f", makefile, "-o", "build", "secure", "SECURE_PORT=0")
	command.Dir = dir
	s = startCommand(t, command, func(error) {}) // make ends by the signal too
	_, port, err := net.SplitHostPort(s.address)
	require.NoError(t, err)
	again := exec.Command(filepath.Join(bin, "secure"), "-port", port)
	again.Dir = dir
	printedBy(t, again)
	untilReady(t, s, filepath.Join(dir, "data", "secure"), "ca.crt")
	return dir, s
}

// untilReady waits until a server says that it is ready.
func untilReady(t *testing.T, s *server, files, authority string) {
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(read(t, filepath.Join(files, authority)))))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	for answer := ""; answer != "ok"; {
		select {
		case <-t.Context().Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
		resp, err := client.Get("https://" + s.address + "/readyz")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		answer = string(text)
	}
}

func TestMakeSecureServesUsersWithTheirRightsOnly(t *testing.T) {
	t.Parallel()
	kubectl := kubectl(t)
	files, s := makeSecure(t)
	as := func(name string) (string, error) {
		command := exec.Command(kubectl, "--kubeconfig", filepath.Join(files, "kubeconfig"), "--context", name, "get", "nodes", "--output", "name")
		command.Env = append(os.Environ(), "HOME="+t.TempDir())
		printed, err := command.CombinedOutput()
		return string(printed), err
	}
	for _, name := range []string{"admin", "alice"} {
		printed, err := as(name)
		assert.NoError(t, err)
		assert.Equal(t, "node/127.0.0.1\nnode/127.0.0.2\n", printed, name)
	}
	printed, err := as("bob")
	assert.Error(t, err)
	assert.Contains(t, printed, `User "bob" cannot list resource "nodes"`)
	assert.Empty(t, s.stop(), "nothing else is printed")
}

// Of both doors, of the guards before them, and of what is behind the guards.
func TestWhoGetsInPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	files, s := makeSecure(t)
	plain := filepath.Join(t.TempDir(), "secure") // the words of a shell
	require.NoError(t, os.Symlink(files, plain))
	checkSession(t, commandsIn(t, "docs/server.md", sessions["docs/server.md"]...), map[string]string{"127.0.0.1:6443": s.address, "data/secure": plain})
	assert.NotContains(t, strings.Join(s.stop(), "\n"), "panic")
}

func TestAServerBehindTheAggregatorPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	dir, s := makeSecureIn(t)
	makefile, err := filepath.Abs("Makefile")
	require.NoError(t, err)
	command := exec.Command("make", "--no-print-directory", "-f", makefile, "-o", "build", "extension", "EXTENSION_PORT=0")
	command.Dir = dir
	behind := startCommand(t, command, func(error) {}) // make ends by the signal too
	files := filepath.Join(dir, "data", "secure")
	untilReady(t, behind, files, "front-proxy-ca.crt")
	plain := filepath.Join(t.TempDir(), "secure") // the words of a shell
	require.NoError(t, os.Symlink(files, plain))
	_, port, err := net.SplitHostPort(behind.address)
	require.NoError(t, err)
	aggregated := filepath.Join(t.TempDir(), "aggregated.yaml")
	require.NoError(t, os.WriteFile(aggregated, []byte(strings.ReplaceAll(read(t, "api/examples/aggregated.yaml"), "6444", port)), 0o600))
	checkSession(t, commandsIn(t, "docs/servers.md", "## A server behind this one"), map[string]string{"127.0.0.1:6444": behind.address,
		"data/secure": plain, "api/examples/aggregated.yaml": aggregated})
	assert.NotContains(t, strings.Join(append(s.stop(), behind.stop()...), "\n"), "panic")
}

func TestTheRowOfServersIsMadeAsTheDocumentShowsIt(t *testing.T) {
	t.Parallel()
	row := textBlock.FindStringSubmatch(read(t, "docs/servers.md"))
	require.NotEmpty(t, row)
	made := read(t, "pkg/master/master.go")
	for line := range strings.Lines(row[1]) {
		_, after, found := strings.Cut(made, "\t"+line)
		assert.True(t, found, "%s is not there, or not in this order", line)
		made = after
	}
}

// The names of the chain are those of the code, in its order.
func TestTheTableOfTheChainIsInItsOrder(t *testing.T) {
	t.Parallel()
	var documented, drawn, built []string
	for _, row := range regexp.MustCompile("`(filters\\.With\\w+)` \\|").FindAllStringSubmatch(section(t, "docs/server.md", "## The chain"), -1) {
		documented = append(documented, row[1])
	}
	for _, line := range regexp.MustCompile(`(?m)^\thandler = (filters\.With\w+)\(`).FindAllStringSubmatch(read(t, "pkg/server/chain.go"), -1) {
		built = append(built, line[1])
	}
	for _, name := range regexp.MustCompile(`>(With\w+)<`).FindAllStringSubmatch(read(t, "docs/server.svg"), -1) {
		drawn = append(drawn, "filters."+name[1])
	}
	slices.Reverse(built)
	assert.Equal(t, built, documented)
	assert.Equal(t, built, drawn, "in the picture, too")
}
