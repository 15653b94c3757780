package options

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/server"
	"kube2014/pkg/util/certtest"
)

func TestControllersAreSelectedAsInTodaysControllerManager(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string][3]bool{
		"":                                     {true, true, true},
		"-controllers=-namespace-controller":   {false, true, true},
		"-trace":                               {},
		"-controllers=*,-namespace-controller": {false, true, true},
		"-controllers=namespace-controller":    {true, false, false},
		"-controllers=":                        {},
		"-controllers=serviceaccount-controller,namespace-controller": {true, false, true},
	} {
		var args []string
		if flags != "" {
			args = []string{flags}
		}
		o, err := Parse(args)
		require.NoError(t, err, flags)
		got := [3]bool{o.Controllers.Runs(NamespaceController), o.Controllers.Runs(RootCAPublisher), o.Controllers.Runs(ServiceAccountController)}
		assert.Equal(t, want, got, flags)
		assert.Equal(t, want != [3]bool{}, o.Controllers.Any(), flags)
		assert.Equal(t, flags != "-trace", o.Controllers.EnableGarbageCollector, flags)
	}
	o, err := Parse([]string{"-trace"})
	require.NoError(t, err)
	assert.True(t, o.Controllers.Runs(ReplicationController), "it runs only if -run names the controller manager")
	o, err = Parse([]string{"-trace", "-controllers=*"})
	require.NoError(t, err)
	assert.True(t, o.Controllers.Any())
	_, err = Parse([]string{"-controllers", "*,-nope"})
	assert.EqualError(t, err, `-controllers: "-nope" is not *, and neither with nor without a - before it one of clusterrole-aggregation-controller, cronjob-controller, deployment-controller, endpoints-controller, endpointslice-controller, endpointslice-mirroring-controller, garbage-collector-controller, job-controller, namespace-controller, node-lifecycle-controller, persistentvolume-protection-controller, persistentvolumeclaim-protection-controller, replicaset-controller, replicationcontroller-controller, resourcequota-controller, root-ca-certificate-publisher-controller, serviceaccount-controller, serviceaccount-token-controller, validatingadmissionpolicy-status-controller, volumeattributesclass-protection-controller`)
}

func TestTheCertificateOfPodsIsThatOfTheFlagOrTheLastOneShown(t *testing.T) {
	t.Parallel()
	authority := certtest.Authority(t, "ca")
	pair := authority.Server(t, "127.0.0.1")
	dir := t.TempDir()
	write := func(name string, texts ...[]byte) string {
		file := filepath.Join(dir, name)
		var all []byte
		for _, text := range texts {
			all = append(all, text...)
		}
		require.NoError(t, os.WriteFile(file, all, 0o600))
		return file
	}
	chain, key := write("chain", pair.CertPEM, authority.CertPEM), write("key", pair.KeyPEM)
	rootCA := func(args ...string) (string, error) {
		o, err := Parse(args)
		require.NoError(t, err)
		require.NoError(t, o.SecureServing.ApplyTo(&server.Config{}, &o.Authentication))
		return o.Controllers.RootCA(&o.SecureServing)
	}
	none, err := rootCA()
	require.NoError(t, err)
	assert.Empty(t, none)
	served, err := rootCA("-secure_port", "0", "-tls_cert_file", chain, "-tls_private_key_file", key)
	require.NoError(t, err)
	assert.Equal(t, string(authority.CertPEM), served)
	named, err := rootCA("-secure_port", "0", "-tls_cert_file", chain, "-tls_private_key_file", key, "-root_ca_file", write("root", pair.CertPEM))
	require.NoError(t, err)
	assert.Equal(t, string(pair.CertPEM), named)
	_, err = rootCA("-root_ca_file", write("none", []byte("x")))
	assert.ErrorContains(t, err, "-root_ca_file: ")
	_, err = rootCA("-root_ca_file", filepath.Join(dir, "missing"))
	assert.ErrorContains(t, err, "-root_ca_file: ")
}

func TestTokensAreSignedByAKey(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"-controllers=*,serviceaccount-token-controller"})
	assert.EqualError(t, err, "-controllers: serviceaccount-token-controller needs -service_account_signing_key_file")
	for _, wrong := range []string{"http://x", "x", "https:///x"} {
		_, err = Parse([]string{"-service_account_issuer", "https://x", "-service_account_jwks_uri", wrong})
		assert.EqualError(t, err, `-service_account_jwks_uri: "`+wrong+`" is not an https URL`)
	}
	_, err = Parse([]string{"-service_account_jwks_uri", "https://x/keys"})
	assert.EqualError(t, err, "-service_account_jwks_uri: it needs -service_account_issuer")
}
