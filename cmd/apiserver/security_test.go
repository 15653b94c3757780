package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kube2014/pkg/etcd/etcdtest"
	"kube2014/pkg/options"
)

func fileWith(t *testing.T, text string) (path string) {
	path = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func makeTLS(t *testing.T) *etcdtest.TLS {
	return etcdtest.MakeTLS(t)
}

func startSecure(t *testing.T, setup etcdtest.Setup) *etcdtest.Server {
	servers, err := setup.Start(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, servers[0].Kill()) })
	return servers[0]
}

// leadsAPodThroughItsLife requires that an apiserver reads, writes, places, watches and
// repairs.
func leadsAPodThroughItsLife(t *testing.T, flags ...string) {
	t.Helper()
	d := openDoors(t, append(flags, "-machines", "m1")...)
	w := openWatch(t, patient, d.listen()+todaysPods+"?watch=1")
	d.createPod(podNamed("web", 80))
	assert.Equal(t, "m1", d.machineOf("web"))
	require.NoError(t, d.Stores.Reconcile())
	require.NoError(t, d.Loops.SyncEndpoints())
	warnings, err := d.Stores.Healthz()
	require.NoError(t, err)
	assert.Empty(t, warnings)
	d.send(http.StatusOK, "DELETE", taskPath("web"), "")
	w.tells("ADDED web", "DELETED web")
}

// Both sides show a certificate, on both APIs.
func TestAnEtcdThatSpeaksTLSIsUsed(t *testing.T) {
	t.Parallel()
	files, others := makeTLS(t), makeTLS(t)
	url := startSecure(t, etcdtest.Setup{TLS: files, ClientCerts: true}).URL
	server := []string{"-etcd_servers", url}
	trust := append(server, "-etcd_cafile", files.CAFile)
	both := append(trust, "-etcd_certfile", files.CertFile, "-etcd_keyfile", files.KeyFile)
	for _, b := range []string{"etcd2", "etcd3"} {
		leadsAPodThroughItsLife(t, append(both, "-storage_backend", b)...)
	}
	for name, row := range map[string]struct {
		flags []string
		says  string
	}{
		"no authority":               {server, "-etcd_servers: " + url + " has a certificate that is not trusted (x509: certificate signed by unknown authority): -etcd_cafile names who signs it"},
		"another authority":          {append(server, "-etcd_cafile", others.CAFile), "-etcd_cafile names who signs it"},
		"no certificate":             {trust, "-etcd_servers: " + url + " does not accept us without a certificate that it trusts (tls: certificate required): -etcd_certfile and -etcd_keyfile name it"},
		"another's certificate":      {append(trust, "-etcd_certfile", others.CertFile, "-etcd_keyfile", others.KeyFile), "-etcd_certfile and -etcd_keyfile name it"},
		"a certificate without key":  {append(trust, "-etcd_certfile", files.CertFile), "-etcd_keyfile: a certificate needs its key"},
		"a key without certificate":  {append(trust, "-etcd_keyfile", files.KeyFile), "-etcd_certfile: a key needs its certificate"},
		"a key of another":           {append(trust, "-etcd_certfile", files.CertFile, "-etcd_keyfile", others.KeyFile), "-etcd_keyfile: the certificate in " + files.CertFile + " and the private key in " + others.KeyFile + " do not belong together"},
		"an authority that is none":  {append(server, "-etcd_cafile", files.KeyFile), "-etcd_cafile: " + files.KeyFile + " has no certificate (BEGIN CERTIFICATE)"},
		"a file that is not there":   {append(server, "-etcd_cafile", "/none.pem"), "-etcd_cafile: open /none.pem: no such file or directory"},
		"http where https is spoken": {[]string{"-etcd_servers", strings.Replace(url, "https", "http", 1)}, " serves https, not http"},
	} {
		for _, b := range [][]string{nil, {"-storage_backend", "etcd2"}, {"-storage_backend", "etcd3"}} {
			o, err := options.Parse(append(row.flags[:len(row.flags):len(row.flags)], b...))
			require.NoError(t, err)
			_, err = createMaster(config, o, nil)
			require.Error(t, err, "%s %v", name, b)
			assert.Contains(t, err.Error(), row.says, "%s %v", name, b)
			assert.True(t, strings.HasPrefix(err.Error(), "-etcd_"), "it begins with the flag: %v", err)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	assert.Equal(t, "apiserver: -etcd_keyfile: a certificate needs its key\n", refused(t, append(trust, "-etcd_certfile", files.CertFile)...))
}

// The user may read and write what is below the prefix, and nothing else.
func TestAUserWhoMayOnlyUseThePrefixIsEnoughOnEtcd3(t *testing.T) {
	t.Parallel()
	setup := etcd3Setup()
	setup.Flags = []string{"--bcrypt-cost", "4"} // a password is cheap to check here
	server := startSecure(t, setup)
	require.NoError(t, server.AddUser("kube", "secret-word", "/kube/"))
	require.NoError(t, server.AddUser("stranger", "secret-word", "/other/"))
	require.NoError(t, server.AddUser("half", "secret-word", "/kube/pods/"))
	require.NoError(t, server.EnableAuth("root-secret"))
	at := []string{"-etcd_servers", server.URL, "-storage_backend", "etcd3", "-etcd_prefix", "/kube"}
	right := fileWith(t, "secret-word\n")
	leadsAPodThroughItsLife(t, append(at, "-etcd_username", "kube", "-etcd_password_file", right)...)

	const check = ": check -etcd_username and -etcd_password_file"
	for name, row := range map[string]struct {
		flags []string
		says  string
	}{
		"a wrong password":      {[]string{"-etcd_username", "kube", "-etcd_password_file", fileWith(t, "secret-guess")}, "-etcd_servers: " + server.URL + " does not know the user with this password" + check},
		"a user that is none":   {[]string{"-etcd_username", "none", "-etcd_password_file", right}, "-etcd_servers: " + server.URL + " does not know the user with this password" + check},
		"a user of other keys":  {[]string{"-etcd_username", "stranger", "-etcd_password_file", right}, "-etcd_servers: " + server.URL + " does not let the user read /kube/"},
		"a user of some keys":   {[]string{"-etcd_username", "half", "-etcd_password_file", right}, "-etcd_servers: " + server.URL + " does not let the user read /kube/"},
		"nobody":                {nil, "-etcd_servers: " + server.URL + " wants to know the user: -etcd_username and -etcd_password_file name one"},
		"a user without a file": {[]string{"-etcd_username", "kube"}, "-etcd_password_file: a user needs a password"},
		"a file without a user": {[]string{"-etcd_password_file", right}, "-etcd_username: a password needs its user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, "apiserver: "+row.says+"\n", refused(t, append(at[:len(at):len(at)], row.flags...)...))
		})
	}
}

// secure2 lets etcd's v2 API answer only to root.
func secure2(t *testing.T, url, password string) {
	for _, step := range []struct{ path, body string }{
		{"/v2/auth/users/root", fmt.Sprintf(`{"user": "root", "password": %q}`, password)},
		{"/v2/auth/enable", ""},
		{"/v2/auth/roles/guest", `{"role": "guest", "revoke": {"kv": {"read": ["/*"], "write": ["/*"]}}}`},
	} {
		req, err := http.NewRequest(http.MethodPut, url+step.path, strings.NewReader(step.body))
		require.NoError(t, err)
		req.SetBasicAuth("root", password)
		resp, err := patient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Less(t, resp.StatusCode, 300, step.path)
	}
}

func TestAUserIsToldToEtcd2Too(t *testing.T) {
	t.Parallel()
	url := startEtcd(t).URL
	secure2(t, url, "secret-word")
	at := []string{"-etcd_servers", url, "-storage_backend", "etcd2"}
	leadsAPodThroughItsLife(t, append(at, "-etcd_username", "root", "-etcd_password_file", fileWith(t, "secret-word"))...)
	for name, more := range map[string][]string{
		"a wrong password": {"-etcd_username", "root", "-etcd_password_file", fileWith(t, "secret-guess")},
		"nobody":           nil,
	} {
		assert.Equal(t, "apiserver: -etcd_servers: "+url+" does not let us read /registry on the v2 keys API: check -etcd_username and -etcd_password_file\n",
			refused(t, append(at[:len(at):len(at)], more...)...), name)
	}
}

// It is no 503, which would promise that it comes back by itself.
func TestAPermissionThatIsTakenAwayIsTold(t *testing.T) {
	t.Parallel()
	setup := etcd3Setup()
	setup.Flags = []string{"--bcrypt-cost", "4"}
	server := startSecure(t, setup)
	require.NoError(t, server.AddUser("kube", "secret-word", "/registry/"))
	require.NoError(t, server.EnableAuth("root-secret"))
	d := openDoors(t, "-etcd_servers", server.URL, "-etcd_username", "kube", "-etcd_password_file", fileWith(t, "secret-word"), "-storage_backend", "etcd3")
	d.createTask("web", 80)
	admin, err := clientv3.New(clientv3.Config{Endpoints: []string{server.URL}, Username: "root", Password: "root-secret"})
	require.NoError(t, err)
	defer admin.Close()
	_, err = admin.RoleRevokePermission(t.Context(), "kube", "/registry/", "/registry0")
	require.NoError(t, err)
	text := d.send(http.StatusServiceUnavailable, "POST", "/api/v1beta1/tasks", encodePort(t, "other", 81))
	assert.Equal(t, "Service Unavailable: place task: etcd does not accept the user of this server: etcdserver: permission denied", text)
	assert.Contains(t, d.send(http.StatusServiceUnavailable, "GET", todaysPods, ""), "does not accept the user of this server")
	_, err = admin.RoleGrantPermission(t.Context(), "kube", "/registry/", "/registry0", clientv3.PermissionType(clientv3.PermReadWrite))
	require.NoError(t, err)
	d.createTask("other", 81)
	assert.Len(t, d.podNames(), 2)
}
