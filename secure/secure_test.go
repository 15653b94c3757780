package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// contents returns what is in the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	found := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = string(text)
	}
	return found
}

func TestTheFilesAreMadeOnceForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "it's \"here\"", "secure")
	require.NoError(t, os.MkdirAll(dir, 0o755), "an empty folder is as good as none")
	var out, log bytes.Buffer
	require.Zero(t, run([]string{"-dir", dir}, &out, &log), log.String())
	assert.Contains(t, out.String(), `["admin" "alice" "bob" "system:node:127.0.0.1"]`)
	first := contents(t, dir)
	assert.Len(t, first, 14)
	for name := range first {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode(), name)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing half made is left")

	require.Zero(t, run([]string{"-dir", dir, "-port", "7443"}, &out, &log), log.String())
	second := contents(t, dir)
	assert.Equal(t, strings.Replace(first[kubeconfigFile], ":6443", ":7443", 1), second[kubeconfigFile])
	assert.Equal(t, strings.Replace(first[reviewsFile], ":6443/apis/", ":7443/apis/", 1), second[reviewsFile])
	first[kubeconfigFile], first[reviewsFile] = second[kubeconfigFile], second[reviewsFile]
	assert.Equal(t, first, second)
	for line := range strings.Lines(first[tokensFile]) {
		token, _, _ := strings.Cut(line, ",")
		assert.Len(t, token, 26)
		assert.NotContains(t, out.String()+log.String(), token)
	}
}

func TestAnExampleThatWasChangedStays(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "secure")
	var out, log bytes.Buffer
	require.Zero(t, run([]string{"-dir", dir}, &out, &log), log.String())
	policy := filepath.Join(dir, "audit-policy.yaml")
	require.NoError(t, os.WriteFile(policy, []byte("mine"), 0o600))
	require.Zero(t, run([]string{"-dir", dir}, &out, &log), log.String())
	assert.Equal(t, "mine", contents(t, dir)["audit-policy.yaml"])
	require.NoError(t, os.Remove(policy))
	require.Zero(t, run([]string{"-dir", dir}, &out, &log), log.String())
	assert.Contains(t, contents(t, dir)["audit-policy.yaml"], "kind: Policy", "it was made by an earlier version, which had none")
}

func TestTheAuthoritySignsTheServerAndTheAdmin(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, makeCertificates(dir))
	files := contents(t, dir)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(files[caFile])))
	server, err := tls.X509KeyPair([]byte(files[serverCert]), []byte(files[serverKey]))
	require.NoError(t, err)
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		_, err = server.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		assert.NoError(t, err)
	}
	admin, err := tls.X509KeyPair([]byte(files[adminCert]), []byte(files[adminKey]))
	require.NoError(t, err)
	_, err = admin.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	assert.NoError(t, err)
	assert.Equal(t, "CN=admin,O=system:masters", admin.Leaf.Subject.String())
	_, err = admin.Leaf.Verify(x509.VerifyOptions{Roots: roots})
	assert.Error(t, err, "it is no server's")
}

func TestAnotherAuthoritySignsTheAggregatorAndTheServerBehindIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, makeAggregation(dir))
	files := contents(t, dir)
	require.NoError(t, makeAggregation(dir))
	assert.Equal(t, files, contents(t, dir), "they are made once")
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(files[frontProxyCA])))
	extension, err := tls.X509KeyPair([]byte(files[extensionCert]), []byte(files[extensionKey]))
	require.NoError(t, err)
	_, err = extension.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "extension.default.svc"})
	assert.NoError(t, err)
	aggregator, err := tls.X509KeyPair([]byte(files[aggregatorCert]), []byte(files[aggregatorKey]))
	require.NoError(t, err)
	_, err = aggregator.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	assert.NoError(t, err)
}

func TestEachUserOfTheTokenFileHasAContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() // is there: nothing is made in it but what earlier versions did not have
	tokens := filepath.Join(dir, tokensFile)
	require.NoError(t, os.WriteFile(tokens, []byte("a,carol,1\nb,\"the \"\"one\"\": x\",2\nc,carol,1\nd,admin,3\n"), 0o600))
	names, err := prepare(dir, 1)
	require.NoError(t, err)
	assert.Equal(t, []string{"admin", "carol", `the "one": x`}, names)
	files := contents(t, dir)
	assert.Len(t, files, 9)
	assert.NotContains(t, files, caFile)
}

func TestWhatIsWrongIsToldWithoutSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := filepath.Join(dir, tokensFile)
	for _, text := range []string{"secret\n", "secret,\"user\n"} {
		require.NoError(t, os.WriteFile(tokens, []byte(text), 0o600))
		_, err := prepare(dir, 1)
		require.ErrorContains(t, err, tokens)
		assert.NotContains(t, err.Error(), "secret")
	}
	for _, args := range [][]string{{"-port", "65536"}, {"x"}, {"-x"}} {
		var log bytes.Buffer
		assert.Equal(t, 2, run(args, &log, &log))
		assert.NotEmpty(t, log.String())
	}
	var log bytes.Buffer
	assert.Equal(t, 1, run([]string{"-dir", filepath.Join(tokens, "secure")}, &log, &log), "a file is no folder")
	assert.NotEmpty(t, log.String())
}
