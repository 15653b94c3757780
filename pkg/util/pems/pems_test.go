package pems

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

func TestAPoolHasAllCertificatesOfAFileOrThereIsNone(t *testing.T) {
	t.Parallel()
	one, two := certtest.Authority(t, "one"), certtest.Authority(t, "two")
	first, second, key := string(one.CertPEM), string(two.CertPEM), string(one.KeyPEM)
	cut := first[:len(first)/2]
	for _, row := range []struct{ name, text, problem string }{
		{"two, with words between them", "one:\n" + first + "\ntwo:\n" + second, ""},
		{"a key along with them", first + key + second, ""},
		{"nothing", "", " has no certificate (BEGIN CERTIFICATE)"},
		{"words", "hello", " has no certificate (BEGIN CERTIFICATE)"},
		{"a key", key, " has no certificate (BEGIN CERTIFICATE)"},
		{"half a certificate after a whole one", first + cut, ": only 1 of 2 PEM blocks can be read"},
		{"half a certificate before a whole one", cut + "\n" + first, ": only 1 of 2 PEM blocks can be read"},
		{"a certificate of nonsense", "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n", ": certificate 1 cannot be read"},
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(file, []byte(row.text), 0o600))
		pool, err := ReadPool(file)
		if row.problem != "" {
			assert.EqualError(t, err, file+row.problem, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		both := one.Pool()
		both.AddCert(two.Leaf)
		assert.True(t, pool.Equal(both), row.name)
	}
	_, err := ReadPool("/nowhere")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
