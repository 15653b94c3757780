package certs_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server/certs"
	"kube2014/pkg/util/certtest"
)

// named writes the paths of two files into a text about c.pem and k.pem.
func named(text, certFile, keyFile string) string {
	return strings.NewReplacer("c.pem", certFile, "k.pem", keyFile).Replace(text)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func TestAKeyMayHaveAnyOfTheUsualForms(t *testing.T) {
	t.Parallel()
	ca := certtest.Authority(t, "ca")
	elliptic := ca.Server(t, "a")
	sec1, err := x509.MarshalECPrivateKey(elliptic.PrivateKey.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	withRSA := ca.ServerWithKey(t, key, "a")
	for name, row := range map[string]struct {
		pair *certtest.Pair
		key  []byte
	}{
		"PKCS 8":                      {elliptic, elliptic.KeyPEM},
		"SEC 1":                       {elliptic, block("EC PRIVATE KEY", sec1)},
		"after the curve, by OpenSSL": {elliptic, append(block("EC PARAMETERS", []byte("x")), block("EC PRIVATE KEY", sec1)...)},
		"RSA in PKCS 8":               {withRSA, withRSA.KeyPEM},
		"PKCS 1":                      {withRSA, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			certFile, keyFile := row.pair.Files(t)
			certtest.Replace(t, keyFile, row.key)
			_, err := certs.ServingCertificate(certFile, keyFile)
			assert.NoError(t, err)
		})
	}
}

func TestThePairsFirstErrorNamesTheFileAndWhatIsWrong(t *testing.T) {
	t.Parallel()
	ca := certtest.Authority(t, "ca")
	pair, other := ca.Server(t, "a"), ca.Server(t, "a")
	legacy := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "DES-EDE3-CBC,00"}, Bytes: []byte("x")})
	for _, row := range []struct {
		name      string
		cert, key []byte // nil: no file
		want      string
	}{
		{"no certificate file", nil, pair.KeyPEM, "open c.pem: no such file or directory"},
		{"no key file", pair.CertPEM, nil, "open k.pem: no such file or directory"},
		{"they are swapped", pair.KeyPEM, pair.CertPEM, "c.pem has no certificate (BEGIN CERTIFICATE)"},
		{"no key", pair.CertPEM, pair.CertPEM, "k.pem has no private key (BEGIN PRIVATE KEY)"},
		{"an empty file", []byte{}, pair.KeyPEM, "c.pem has no certificate (BEGIN CERTIFICATE)"},
		{"a broken certificate", block("CERTIFICATE", []byte("secret")), pair.KeyPEM, "c.pem: certificate 1 cannot be read"},
		{"a broken issuer", append(bytes.Clone(pair.CertPEM), block("CERTIFICATE", []byte("secret"))...), pair.KeyPEM, "c.pem: certificate 2 cannot be read"},
		{"a broken key", pair.CertPEM, block("PRIVATE KEY", []byte("secret")), "k.pem: the private key cannot be read"},
		{"a key of an unknown kind", pair.CertPEM, block("SECRET PRIVATE KEY", []byte("secret")), "k.pem: the private key cannot be read"},
		{"an encrypted key", pair.CertPEM, block("ENCRYPTED PRIVATE KEY", []byte("x")), "k.pem: the private key is encrypted, and there is nobody to ask for its password"},
		{"a key encrypted as of old", pair.CertPEM, legacy, "k.pem: the private key is encrypted, and there is nobody to ask for its password"},
		{"another pair's key", pair.CertPEM, other.KeyPEM, "the certificate in c.pem and the private key in k.pem do not belong together"},
		{"a huge certificate", bytes.Repeat([]byte("x"), 1<<20+1), pair.KeyPEM, "c.pem is larger than 1048576 bytes"},
		{"a huge key", pair.CertPEM, bytes.Repeat([]byte("x"), 1<<20+1), "k.pem is larger than 1048576 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			certFile, keyFile := filepath.Join(dir, "c"), filepath.Join(dir, "k")
			for file, content := range map[string][]byte{certFile: row.cert, keyFile: row.key} {
				if content != nil {
					require.NoError(t, os.WriteFile(file, content, 0o600))
				}
			}
			_, err := certs.ServingCertificate(certFile, keyFile)
			assert.EqualError(t, err, named(row.want, certFile, keyFile))
		})
	}
}

func TestABundleHasAllCertificatesOfItsFile(t *testing.T) {
	t.Parallel()
	one, two := certtest.Authority(t, "one"), certtest.Authority(t, "two")
	file, _ := one.Files(t)
	certtest.Replace(t, file, append(append([]byte("a comment\n"), one.CertPEM...), two.CertPEM...))
	bundle, err := certs.ReadCABundle("-client_ca_file", file)
	require.NoError(t, err)
	wanted := one.Pool()
	wanted.AddCert(two.Leaf)
	assert.True(t, wanted.Equal(bundle.Pool()))
	assert.Equal(t, []*x509.Certificate{one.Leaf, two.Leaf}, bundle.Certificates())
}

func TestAFileWithoutACertificateIsNoBundle(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ca")
	_, err := certs.ReadCABundle("-client_ca_file", file)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for _, content := range [][]byte{{}, []byte("text"), certtest.Authority(t, "ca").KeyPEM} {
		require.NoError(t, os.WriteFile(file, content, 0o600))
		_, err = certs.ReadCABundle("-client_ca_file", file)
		assert.EqualError(t, err, file+" has no certificate (BEGIN CERTIFICATE)")
	}
	require.NoError(t, os.WriteFile(file, block("CERTIFICATE", []byte("secret")), 0o600))
	_, err = certs.ReadCABundle("-client_ca_file", file)
	assert.EqualError(t, err, file+": certificate 1 cannot be read")
}
