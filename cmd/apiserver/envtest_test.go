package main

import (
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/cmd/apiserver/help"
	"kube2014/pkg/etcd/standin"
	"kube2014/pkg/options"
	"kube2014/pkg/util/certtest"
)

// dropIn is the command line of envtest for a program in a folder as envtest makes it.
type dropIn struct {
	folder  string
	flags   []string
	trusted *certtest.Pair
	clients *certtest.Pair
}

func newDropIn(t *testing.T) *dropIn {
	folder, err := os.MkdirTemp("", "k8s_test_framework_")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	etcd := httptest.NewServer(standin.Handler())
	t.Cleanup(etcd.Close)
	f, d := files{t, folder}, &dropIn{folder: folder, trusted: certtest.Authority(t, "authority"), clients: certtest.Authority(t, "clients")}
	f.pair("apiserver", d.trusted.Client(t, "server", local))
	account, key := f.pair("sa-signer", certtest.Authority(t, "accounts"))
	d.flags = []string{"--allow-privileged=true", "--authorization-mode=RBAC", "--bind-address=127.0.0.1", "--cert-dir=" + folder,
		"--client-ca-file=" + f.write("client-cert-auth-ca.crt", string(d.clients.CertPEM)), "--disable-admission-plugins=ServiceAccount",
		"--etcd-servers=" + etcd.URL, "--secure-port=0", "--insecure-port=0", "--service-account-issuer=https://127.0.0.1/",
		"--service-account-key-file=" + account, "--service-account-signing-key-file=" + key, "--service-cluster-ip-range=10.0.0.0/24"}
	return d
}

const secureLine = `serves (https://127\.0\.0\.1:\d+)/api/v1beta1 and /api/v1 and /ui/: registry memory, scheduler none`

// start starts a command, which is to start the program with these arguments under the name kube-apiserver.
func (d *dropIn) start(t *testing.T, cmd *exec.Cmd) *watched {
	cmd.Env = append(os.Environ(), asProgram+"="+hurried)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // as in startProgram
	return watch(t, stderr)
}

// K100, K101.
func TestUnderItsNameTheProgramIsAKubeAPIServerForEnvtest(t *testing.T) {
	t.Parallel()
	d := newDropIn(t)
	cmd := exec.Command(os.Args[0], d.flags...)
	cmd.Args[0] = "kube-apiserver"
	log := d.start(t, cmd)
	log.find("warning: --allow-privileged is ignored: this server does not have it$")
	log.find("nothing is behind the etcd at http://.*: objects are kept in memory$")
	url := log.find(secureLine)[1]
	client := clientWith(t, d.trusted.Pool(), d.clients.Client(t, "admin", func(c *x509.Certificate) { c.Subject.Organization = []string{"system:masters"} }))
	get := func(path string) (int, string) {
		status, text, _ := askWith(t, client, credentials{}, http.MethodGet, url+path, "")
		return status, text
	}
	eventually(t, func() bool { status, _ := get("/readyz"); return status == http.StatusOK }, "the server is not ready")
	status, text := get("/api/v1/nodes")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, `"items":[]`)
	_, text = get("/api/v1/namespaces/default/services/kubernetes")
	assert.Contains(t, text, `"clusterIP":"10.0.0.1"`)
	_, text = get("/api/v1/serviceaccounts")
	assert.Contains(t, text, `"items":[]`, "no pod needs one")
	stranger := clientWith(t, d.trusted.Pool(), nil)
	status, _, _ = askWith(t, stranger, credentials{}, http.MethodGet, url+"/api/v1/nodes", "")
	assert.Equal(t, http.StatusForbidden, status)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	log.end()
	assert.NoError(t, cmd.Wait(), "exit code 0")
	assert.DirExists(t, d.folder, "it is envtest's")
}

// A test that is killed, or has no time left, stops nothing.
func TestTheProgramsEndWhenTheTestThatStartedThemHasEnded(t *testing.T) {
	t.Parallel()
	d := newDropIn(t)
	test := exec.Command("bash", append([]string{"-c", `(exec -a kube-apiserver "$0" "$@") & wait`, os.Args[0]}, d.flags...)...)
	log := d.start(t, test)
	log.find(secureLine)
	require.NoError(t, test.Process.Kill())
	log.find("the test that started this program has ended without stopping it$")
	log.find("terminated: finishing the requests in flight")
	log.end()
	eventually(t, func() bool { _, err := os.Stat(d.folder); return os.IsNotExist(err) }, "the folder is still there")
}

func TestHelpAndVersionAreThoseOfTheName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]command{"/bin/envtest/kube-apiserver": kubeAPIServerCommand, "kube-apiserver.exe": kubeAPIServerCommand, "apiserver": apiserverCommand, "main.test": apiserverCommand} {
		assert.Equal(t, want.name, commandOf(name).name, name)
	}
	var out, errs strings.Builder
	assert.Equal(t, 0, kubeAPIServerCommand.run([]string{"-h"}, &out, &errs))
	assert.Contains(t, out.String(), "\n  --etcd-servers LIST ")
	out.Reset()
	assert.Equal(t, 0, kubeAPIServerCommand.run([]string{"--version"}, &out, &errs))
	assert.Regexp(t, `^Kubernetes v1\.\d+\.\d+\+kube2014\n$`, out.String())
	assert.Equal(t, 2, kubeAPIServerCommand.run([]string{"--secure-port=x"}, &out, &errs))
	assert.Equal(t, "kube-apiserver: -secure_port: \"x\" is not a number between 0 and 65535 (kube-apiserver -h lists the flags)\n", errs.String())
}

// It is printed before the libraries are initialized, unlike that of apiserver and what other flags print.
func TestTheHelpThatEnvtestAsksForIsPrintedAtOnce(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		args  []string
		early bool
	}{
		{[]string{"/bin/envtest/kube-apiserver", "--help"}, true},
		{[]string{"kube-apiserver", "--help", "--v=1"}, false},
		{[]string{"kube-apiserver", "-h"}, false},
		{[]string{"apiserver", "--help"}, false},
	} {
		program := exec.Command(os.Args[0])
		program.Args = one.args
		program.Env = append(os.Environ(), asProgram+"="+hurried, "GODEBUG=inittrace=1")
		var inits strings.Builder
		program.Stderr = &inits
		out, err := program.Output()
		require.NoError(t, err)
		want := options.Usage
		if help.Name(one.args[0]) == help.KubeAPIServer {
			want = options.KubeAPIServerUsage()
		}
		assert.Equal(t, want, string(out), one.args)
		assert.Equal(t, one.early, !strings.Contains(inits.String(), "init google.golang.org/protobuf/reflect/"), one.args)
	}
}

// The processors are those of the test binary, so that this test does not set them.
func TestHalfOfTheProcessorsAreLeftToTheTestThatStartsTheServer(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 2: 1, 3: 1, 8: 4} {
		assert.Equal(t, want, kubeAPIServerCommand.processors(n))
		assert.Equal(t, n, apiserverCommand.processors(n))
	}
}
