package kubeconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// config returns a kubeconfig with these fields of the cluster and the user.
func config(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: s, user: u}}]\n" +
		"clusters: [{name: s, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
}

func write(t testing.TB, dir, name, text string) string {
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

const https = `server: "https://a.b:1/check?x=1"`

func TestAKubeconfigThatIsWrongIsToldByFileAndFieldWithoutSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pair, other := certtest.Authority(t, "ca"), certtest.Authority(t, "ca")
	write(t, dir, "a.crt", string(pair.CertPEM))
	write(t, dir, "a.key", string(pair.KeyPEM))
	write(t, dir, "b.key", string(other.KeyPEM))
	write(t, dir, "empty", " \n")
	write(t, dir, "token", "s3cret with blanks")
	for _, row := range []struct{ name, text, problem string }{
		{"no YAML", "kind: Config\na: b: s3cret", "no YAML, or a field is there twice: line 2"},
		{"no YAML, without a line", "a: *s3cret", "no YAML"},
		{"a field twice", "kind: Config\nkind: s3cret", "no YAML, or a field is there twice: line 2"},
		{"no object", "s3cret", "no kubeconfig, or one with data that is not of the base64 format"},
		{"no base64", config(https, "client-key-data: s3cret!"), "no kubeconfig, or one with data that is not of the base64 format"},
		{"nothing", "", "is empty"},
		{"another version", "apiVersion: v2", "apiVersion: is not v1"},
		{"another kind", "kind: Pod", "kind: is not Config"},
		{"an unknown field", config(https, "tokken: s3cret"), `unknown field "users[0].user.tokken"`},
		{"a field in other letters", config(https, "Token: s3cret"), `unknown field "users[0].user.Token"`},
		{"a way to log in that is not supported", config(https, "exec: {command: s3cret}"), `unknown field "users[0].user.exec"`},
		{"a proxy", config(https+", proxy-url: s3cret", ""), `unknown field "clusters[0].cluster.proxy-url"`},
		{"a number", config(https, "token: 53"), "users.user.token: has a value of another type"},
		{"a text", config(https+", insecure-skip-tls-verify: s3cret", ""), "clusters.cluster.insecure-skip-tls-verify: has a value of another type"},
		{"an unknown context", strings.ReplaceAll(config(https, ""), "current-context: c", "current-context: d"), "current-context: names 0 of the contexts, not one"},
		{"an unknown cluster", strings.ReplaceAll(config(https, ""), "cluster: s", "cluster: d"), "contexts.context.cluster: names 0 of the clusters, not one"},
		{"an unknown user", strings.ReplaceAll(config(https, ""), "user: u", "user: d"), "contexts.context.user: names 0 of the users, not one"},
		{"two users", strings.ReplaceAll(config(https, ""), "users: [", "users: [{name: u},"), "contexts.context.user: names 2 of the users, not one"},

		{"no server", config("", ""), "server: is no URL of http or https"},
		{"no URL", config(`server: "https://s3cret:x"`, ""), "server: is no URL of http or https"},
		{"another scheme", config(`server: "ftp://a"`, ""), "server: is no URL of http or https"},
		{"no host", config(`server: "https:///s3cret"`, ""), "server: is no URL of http or https"},
		{"a user in the URL", config(`server: "https://ann:s3cret@a"`, ""), "server: has a user in its URL"},
		{"a fragment", config(`server: "https://a/#s3cret"`, ""), "server: has a fragment in its URL"},
		{"an authority for http", config(`server: "http://a", certificate-authority: ca.crt`, ""), "server: is no URL of https, so its certificates would not be used"},
		{"a name for http", config(`server: "http://a", tls-server-name: b`, ""), "server: is no URL of https, so its certificates would not be used"},
		{"any authority for http", config(`server: "http://a", insecure-skip-tls-verify: true`, ""), "server: is no URL of https, so its certificates would not be used"},
		{"a certificate for http", config(`server: "http://a"`, "client-certificate: a.crt, client-key: a.key"), "server: is no URL of https, so its certificates would not be used"},

		{"two authorities", config(https+", certificate-authority: a, certificate-authority-data: YQ==", ""), "certificate-authority: contradicts certificate-authority-data"},
		{"an authority that does not count", config(https+", certificate-authority: a, insecure-skip-tls-verify: true", ""), "insecure-skip-tls-verify: contradicts certificate-authority"},
		{"no file of the authority", config(https+", certificate-authority: none.crt", ""), "certificate-authority: open " + dir + "/none.crt: no such file or directory"},
		{"no authority", config(https+", certificate-authority: a.key", ""), "certificate-authority: " + dir + "/a.key has no certificate (BEGIN CERTIFICATE)"},
		{"no authority in the data", config(https+", certificate-authority-data: czNjcmV0", ""), "certificate-authority-data has no certificate (BEGIN CERTIFICATE)"},

		{"two certificates", config(https, "client-certificate: a, client-certificate-data: YQ==, client-key: a"), "client-certificate: contradicts client-certificate-data"},
		{"two keys", config(https, "client-certificate: a, client-key-data: YQ==, client-key: a"), "client-key: contradicts client-key-data"},
		{"no key", config(https, "client-certificate: a"), "client-certificate: a certificate needs its key, and a key its certificate"},
		{"no certificate", config(https, "client-key: a"), "client-certificate: a certificate needs its key, and a key its certificate"},
		{"no file of the certificate", config(https, "client-certificate: none, client-key: a.key"), "client-certificate: open " + dir + "/none: no such file or directory"},
		{"no file of the key", config(https, "client-certificate: a.crt, client-key: none"), "client-key: open " + dir + "/none: no such file or directory"},
		{"another key", config(https, "client-certificate: a.crt, client-key: b.key"), "the certificate in client-certificate and the private key in client-key do not belong together"},

		{"two tokens", config(https, "token: s3cret, tokenFile: token"), "token: contradicts tokenFile"},
		{"no token", config(https, `token: "s3cret\nx"`), "token: has a character that no token has"},
		{"no file of the token", config(https, "tokenFile: none"), "tokenFile: open " + dir + "/none: no such file or directory"},
		{"an empty file of the token", config(https, "tokenFile: empty"), "tokenFile: " + dir + "/empty is empty"},
		{"no token in the file", config(https, "tokenFile: token"), "token: has a character that no token has"},
	} {
		file := write(t, dir, "config", row.text)
		_, err := Read(file)
		if assert.EqualError(t, err, file+": "+row.problem, row.name) {
			assert.NotContains(t, err.Error(), "s3cret", row.name)
		}
	}
	_, err := Read("/nowhere")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestAKubeconfigNeedsLittle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pair := certtest.Authority(t, "ca")
	certificate, key := pair.CertPEM, pair.KeyPEM
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pki"), 0o700))
	write(t, dir, "pki/a.crt", string(certificate))
	absolute := write(t, dir, "pki/a.key", string(key))
	data := func(text []byte) string { return base64.StdEncoding.EncodeToString(text) }
	for _, text := range []string{
		`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"s"}}],"clusters":[{"name":"s","cluster":{"server":"http://a.b"}}]}`,
		config(https+", certificate-authority: pki/a.crt, tls-server-name: x", "client-certificate: ./pki/a.crt, client-key: "+absolute),
		config(https+", certificate-authority-data: "+data(certificate), "client-certificate-data: "+data(certificate)+", client-key-data: "+data(key)+", token: x"),
		config(https+", insecure-skip-tls-verify: true, extensions: []", "client-certificate-data: "+data(certificate)+", client-key: pki/a.key"),
		strings.ReplaceAll(config(https, ""), "context: {", "context: {namespace: x, "),
	} {
		_, err := Read(write(t, dir, "config", text))
		assert.NoError(t, err)
	}
}

// Nobody else sees a key than who has it: not the server, and not the log.
func TestABrokenKeyIsLoggedWithoutIt(t *testing.T) { // not parallel, for the log is everybody's
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	authority := certtest.Authority(t, "ca")
	us := authority.Client(t, "us", nil)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		certificate, key := us.Files(t)
		write(t, dir, "token", "t0ken")
		target := &target{file: "config", as: userInfo{Certificate: certificate, Key: key, TokenFile: dir + "/token"}}
		security := &tls.Config{}
		require.NoError(t, target.identify(security))
		token, err := target.readToken()
		require.NoError(t, err)
		shown := func() *x509.Certificate {
			pair, err := security.GetClientCertificate(nil)
			require.NoError(t, err)
			return pair.Leaf
		}
		certtest.Replace(t, key, us.KeyPEM[:len(us.KeyPEM)/2])
		write(t, dir, "token", "t0ken t0ken")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "us", shown().Subject.CommonName)
		assert.Equal(t, "t0ken", token())

		next := authority.Client(t, "new", nil)
		certtest.Replace(t, certificate, next.CertPEM)
		certtest.Replace(t, key, next.KeyPEM)
		write(t, dir, "token", "t0ken2\n")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "new", shown().Subject.CommonName)
		assert.Equal(t, "t0ken2", token())
	})
	assert.Equal(t, 2, strings.Count(lines.String(), "cannot be read again"))
	assert.NotContains(t, lines.String(), "t0ken")
	for line := range strings.SplitSeq(string(us.KeyPEM), "\n") {
		assert.False(t, len(line) > 3 && strings.Contains(lines.String(), line))
	}
}

func FuzzKubeconfigs(f *testing.F) {
	f.Add(config(https, "token: s3cret"))
	f.Add(config(https+", certificate-authority: ca.crt", "client-certificate: a, client-key: b"))
	f.Add(`{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"s"}}],"clusters":[{"name":"s","cluster":{"server":"http://a.b"}}]}`)
	f.Add("a: &a [*a]")
	f.Add("clusters: null\nusers: {}")
	f.Fuzz(func(t *testing.T, text string) {
		target, err := parseTarget([]byte(text))
		if err != nil {
			assert.Less(t, len(err.Error()), 200+len(text))
			return
		}
		assert.Contains(t, []string{"http", "https"}, target.url.Scheme)
		assert.NotEmpty(t, target.url.Host)
		assert.NoError(t, checkToken(target.as.Token))
	})
}
