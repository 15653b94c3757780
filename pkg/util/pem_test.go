package util

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
	first, key := one.PEM(t)
	second, _ := two.PEM(t)
	cut := first[:len(first)/2]
	for _, row := range []struct{ name, text, problem string }{
		{"two, with words between them", "one:\n" + string(first) + "\ntwo:\n" + string(second), ""},
		{"nothing", "", "there is nothing in the PEM format"},
		{"words", "hello", "there is nothing in the PEM format"},
		{"a key", string(first) + string(key), "PEM block 2 is no certificate"},
		{"half a certificate after a whole one", string(first) + string(cut), "only 1 of 2 PEM blocks can be read"},
		{"half a certificate before a whole one", string(cut) + "\n" + string(first), "only 1 of 2 PEM blocks can be read"},
		{"a certificate of nonsense", "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n", "the certificate in PEM block 1 is broken"},
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		require.NoError(t, os.WriteFile(file, []byte(row.text), 0o600))
		pool, err := ReadCertPool(file)
		if row.problem != "" {
			assert.EqualError(t, err, file+": "+row.problem, row.name)
			continue
		}
		require.NoError(t, err, row.name)
		both := one.Pool()
		both.AddCert(two.Certificate)
		assert.True(t, pool.Equal(both))
	}
	_, err := ReadCertPool("/nowhere")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
