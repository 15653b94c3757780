package serviceaccount

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

// The keys of these tests; to make one of RSA takes its time.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	otherKey = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// public returns a public key in the PEM format.
func public(key any) string { return block("PUBLIC KEY", must(x509.MarshalPKIXPublicKey(key))) }

func write(t testing.TB, text string) string {
	file := filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestKeysAreReadFromEveryFormOfThem(t *testing.T) {
	t.Parallel()
	pair := certtest.Authority(t, "signer")
	signer := &pair.PrivateKey.(*ecdsa.PrivateKey).PublicKey
	for _, row := range []struct {
		name, text string
		want       []any
	}{
		{"public", public(&rsaKey().PublicKey), []any{&rsaKey().PublicKey}},
		{"public, the older form", block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)), []any{&rsaKey().PublicKey}},
		{"private", block("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(p384Key()))), []any{&p384Key().PublicKey}},
		{"private, the older form", block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey())), []any{&rsaKey().PublicKey}},
		{"private, with its curve", block("EC PARAMETERS", []byte("x")) + block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256Key()))), []any{&p256Key().PublicKey}},
		{"a certificate with its key", string(pair.CertPEM) + string(pair.KeyPEM), []any{signer, signer}},
		{"several", "hello\n" + public(&p256Key().PublicKey) + "\n\n" + public(&p521Key().PublicKey), []any{&p256Key().PublicKey, &p521Key().PublicKey}},
	} {
		keys, err := readKeys([]string{write(t, row.text)})
		require.NoError(t, err, row.name)
		require.Len(t, keys, len(row.want), row.name)
		for i, want := range row.want {
			assert.Equal(t, want, keys[i].public, row.name)
		}
	}
	keys, err := readKeys([]string{write(t, public(&p256Key().PublicKey)), write(t, public(&p384Key().PublicKey))})
	assert.NoError(t, err)
	assert.Len(t, keys, 2, "of two files")
}

func TestAFileOfOtherThingsIsToldWithoutThem(t *testing.T) {
	t.Parallel()
	good := public(&p256Key().PublicKey)
	private := block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256Key())))
	edPublic, _, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	for _, row := range []struct{ name, text, problem string }{
		{"nothing", "", " has no key"},
		{"no key", block("EC PARAMETERS", []byte("x")), " has no key"},
		{"half a key", good + private[:len(private)/2], ": only 1 of 2 PEM blocks can be read"},
		{"a private key of another form", good + strings.ReplaceAll(private, "EC PRIVATE KEY", "RSA PRIVATE KEY"), ": PEM block 2 is broken"},
		{"a private key that says to be public", strings.ReplaceAll(private, "EC PRIVATE KEY", "PUBLIC KEY"), ": PEM block 1 is broken"},
		{"a key with a password", strings.ReplaceAll(private, "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), ": PEM block 1 is neither a key without a password nor a certificate"},
		{"Ed25519", public(edPublic), ": PEM block 1 is a key for other things than JWTs of RSA or ECDSA"},
		{"a curve that JWTs do not have", public(&p224.PublicKey), ": PEM block 1 is a key for other things than JWTs of RSA or ECDSA"},
	} {
		file := write(t, row.text)
		_, err := New([]string{write(t, good), file}, "")
		assert.EqualError(t, err, file+row.problem, row.name)
	}
	_, err = New([]string{"/nowhere"}, "")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzKeyFiles(f *testing.F) {
	f.Add(public(&p256Key().PublicKey))
	f.Add(block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey())))
	f.Add(block("EC PRIVATE KEY", must(x509.MarshalECPrivateKey(p256Key()))))
	f.Add("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseKeys("FILE", []byte(text))
		assert.Equal(t, err != nil, len(keys) == 0)
		for _, key := range keys {
			assert.NotEmpty(t, key.algorithms)
		}
	})
}
