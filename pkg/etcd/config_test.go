package etcd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/etcd/etcdtest"
)

func TestWhatIsWrongInAConfigurationIsNamedByItsField(t *testing.T) {
	t.Parallel()
	ours, others := etcdtest.MakeTLS(t), etcdtest.MakeTLS(t)
	none := filepath.Join(t.TempDir(), "none.pem")
	text := filepath.Join(t.TempDir(), "text.pem")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	for name, row := range map[string]struct {
		config      Config
		field, says string
	}{
		"no server":                       {Config{Servers: []string{}}, "Servers", "there is no etcd server"},
		"a server that is no URL":         {Config{Servers: []string{"x:1"}}, "Servers", "is not a URL"},
		"a CA that is not there":          {Config{CAFile: none}, "CAFile", "no such file or directory"},
		"a CA that is none":               {Config{CAFile: text}, "CAFile", "text.pem has no certificate (BEGIN CERTIFICATE)"},
		"a certificate that is not there": {Config{CertFile: none, KeyFile: ours.KeyFile}, "CertFile", "no such file or directory"},
		"a certificate that is none":      {Config{CertFile: ours.KeyFile, KeyFile: ours.KeyFile}, "CertFile", "client-key.pem has no certificate (BEGIN CERTIFICATE)"},
		"a key that is not there":         {Config{CertFile: ours.CertFile, KeyFile: none}, "KeyFile", "no such file or directory"},
		"a key of another certificate":    {Config{CertFile: ours.CertFile, KeyFile: others.KeyFile}, "KeyFile", "do not belong together"},
		"a certificate without a key":     {Config{CertFile: ours.CertFile}, "KeyFile", "a certificate needs its key"},
		"a key without a certificate":     {Config{KeyFile: ours.KeyFile}, "CertFile", "a key needs its certificate"},
		"a CA for no server":              {Config{CAFile: ours.CAFile, Servers: []string{"http://x:1"}}, "CAFile", "no server has an https URL"},
		"a certificate for no server":     {Config{CertFile: ours.CertFile, KeyFile: ours.KeyFile, Servers: []string{"http://x:1"}}, "CertFile", "no server has an https URL"},
		"a key for no server":             {Config{KeyFile: ours.KeyFile, Servers: []string{"http://x:1"}}, "KeyFile", "no server has an https URL"},
		"a user without a password":       {Config{Username: "root"}, "Password", "a user needs a password"},
		"a password without a user":       {Config{Password: "secret"}, "Username", "a password needs its user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if row.config.Servers == nil {
				row.config.Servers = []string{"https://127.0.0.1:1"}
			}
			_, v2Err := NewClient(row.config)
			_, v3Err := NewV3(row.config)
			for _, err := range []error{v2Err, v3Err} {
				var wrong *ConfigError
				require.ErrorAs(t, err, &wrong)
				assert.Equal(t, row.field, wrong.Field)
				assert.ErrorContains(t, wrong.Err, row.says)
				assert.NotContains(t, err.Error(), "secret")
			}
		})
	}
}
