package certs_test

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/certtest"
)

// made returns the certificate of the pair that SelfSigned finds or makes in a folder.
func made(t *testing.T, dir string, hosts ...string) *x509.Certificate {
	t.Helper()
	certFile, keyFile, err := certs.SelfSigned(dir, hosts...)
	require.NoError(t, err)
	certificate, err := certs.ServingCertificate(certFile, keyFile)
	require.NoError(t, err, "they belong together")
	pair, err := certificate(nil)
	require.NoError(t, err)
	return pair.Leaf
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestASelfSignedPairIsMadeOnceAndUsedAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	first := made(t, dir, "192.0.2.1", "api.example", "localhost", "127.0.0.1")
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(first.DNSNames))), len(first.DNSNames), "each name is there once")
	assert.Len(t, first.IPAddresses, 3)
	hostname, err := os.Hostname()
	require.NoError(t, err)
	for _, name := range []string{"192.0.2.1", "api.example", "localhost", "127.0.0.1", "::1", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", hostname} {
		assert.NoError(t, first.VerifyHostname(name))
	}
	assert.Error(t, first.VerifyHostname("other.example"))
	assert.False(t, first.IsCA, "who trusts it trusts nothing else")

	info, err := os.Stat(filepath.Join(dir, certs.KeyName))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 2, "nothing else is left")
	assert.True(t, first.Equal(made(t, dir, "192.0.2.2")))
}

func TestAnUnspecifiedAddressStandsForAllOfTheMachine(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0", "::"} {
		certificate := made(t, t.TempDir(), address, "")
		assert.Error(t, certificate.VerifyHostname(address))
		assert.NoError(t, certificate.VerifyHostname("127.0.0.1"))
	}
}

func TestACertificateThatEndsSoonIsMadeAnewForTheSameKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := made(t, dir)
		time.Sleep(300 * 24 * time.Hour)
		require.True(t, first.Equal(made(t, dir)))
		last := first
		for _, days := range []time.Duration{40, 340, 400} {
			time.Sleep(days * 24 * time.Hour)
			second := made(t, dir)
			assert.False(t, last.Equal(second), "after %d more days", days)
			last = second
			assert.True(t, second.NotAfter.After(time.Now().Add(300*24*time.Hour)))
			assert.Equal(t, first.PublicKey, second.PublicKey)
		}
	})
}

func TestACrashLeavesWhatTheNextStartCanUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := made(t, dir)
	require.NoError(t, os.Remove(filepath.Join(dir, certs.CertName)), "it crashed after writing the key")
	assert.Equal(t, first.PublicKey, made(t, dir).PublicKey)
}

func TestTwoProcessesMayMakeAPairAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				certFile, keyFile, err := certs.SelfSigned(dir)
				if assert.NoError(t, err) {
					_, err = certs.ServingCertificate(certFile, keyFile)
					assert.NoError(t, err)
				}
			})
		}
		all.Wait()
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, files, 2)
	}
}

func TestWhatSomebodyElsePutThereStays(t *testing.T) {
	t.Parallel()
	ca := certtest.Authority(t, "ca")
	expired, other := ca.Client(t, "a", certtest.Expired), ca.Server(t, "b")
	for _, row := range []struct {
		name, cert, key string // their content, "" for no file
		want            string // "" if they are used
	}{
		{"another one's certificate, even if it has expired", string(expired.CertPEM), string(expired.KeyPEM), ""},
		{"a certificate without its key", string(other.CertPEM), "", "c.pem is there, but not its key, k.pem; remove it to have both made anew"},
		{"a pair that does not match", string(other.CertPEM), string(expired.KeyPEM), "the certificate in c.pem and the private key in k.pem do not belong together; remove both to have them made anew"},
		{"a broken certificate", "?", string(other.KeyPEM), "c.pem has no certificate (BEGIN CERTIFICATE); remove both to have them made anew"},
		{"a broken key", string(other.CertPEM), "?", "k.pem has no private key (BEGIN PRIVATE KEY); remove both to have them made anew"},
		{"a broken key without a certificate", "", "?", "k.pem has no private key (BEGIN PRIVATE KEY)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			contents := map[string]string{}
			for name, content := range map[string]string{certs.CertName: row.cert, certs.KeyName: row.key} {
				if content != "" {
					contents[name] = content
					require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
				}
			}
			_, _, err := certs.SelfSigned(dir)
			if row.want == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, named(row.want, filepath.Join(dir, certs.CertName), filepath.Join(dir, certs.KeyName)))
			}
			files, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, files, len(contents))
			for name, content := range contents {
				assert.Equal(t, content, contentOf(t, filepath.Join(dir, name)))
			}
		})
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, _, err := certs.SelfSigned(filepath.Join(file, "dir"))
	assert.ErrorContains(t, err, "not a directory")
	_, _, err = certs.SelfSigned(t.TempDir(), "ünï")
	assert.ErrorContains(t, err, "ünï")
}
