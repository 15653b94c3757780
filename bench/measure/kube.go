package measure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
)

// KubeFlags returns the flags of a kube-apiserver on an etcd, but for its port, and adds those about authorization. Its files are in a
// folder: tokens, the lines of who comes with a token, and what it makes itself.
func KubeFlags(dir, etcd, tokens string, authorization ...string) ([]string, error) {
	if err := writeCredentials(dir, tokens); err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "key.pem")
	return append([]string{
		"--etcd-servers", etcd, "--bind-address", "127.0.0.1", "--cert-dir", dir, "--token-auth-file", filepath.Join(dir, "tokens.csv"),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24",
	}, authorization...), nil
}

// writeCredentials writes the files that KubeFlags names: a key for the tokens of service
// accounts, and who comes with a token. A certificate kube-apiserver makes itself.
func writeCredentials(dir, tokens string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), text, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(tokens), 0o600)
}
