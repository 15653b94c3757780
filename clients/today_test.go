package clients

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// todaysToken is what clients of today's server say who they are with.
const todaysToken = "kube2014"

// startToday starts today's kube-apiserver on an etcd of its own.
func startToday(t *testing.T) *server {
	dir := t.TempDir()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	keyFile, tokenFile := filepath.Join(dir, "key"), filepath.Join(dir, "tokens")
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(block), 0o600))
	require.NoError(t, os.WriteFile(tokenFile, []byte(todaysToken+",admin,1,system:masters\n"), 0o600))
	s := &server{proxy: newProxy(t), scheme: "https", args: []string{
		"--etcd-servers", startEtcd(t), "--cert-dir", dir, "--bind-address", "127.0.0.1",
		"--service-account-issuer", "https://kube2014", "--service-account-key-file", keyFile, "--service-account-signing-key-file", keyFile,
		"--token-auth-file", tokenFile, "--authorization-mode", "AlwaysAllow",
		"--disable-admission-plugins", "ServiceAccount,TaintNodesByCondition", "--service-cluster-ip-range", "10.0.0.0/24",
	}}
	s.start(t)
	return s
}

// startToday takes a port that is free now: the program cannot be told to take one.
func (s *server) startToday(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	s.process = startProcess(t, filepath.Join("..", "bin", today), append([]string{"--secure-port", port}, s.args...)...)
	s.forward(address)
	waitUntilReady(t, s.config())
}
