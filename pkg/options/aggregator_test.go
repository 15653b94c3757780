package options

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/util/certtest"
)

func TestTheCertificateForOtherServersIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		authority := certtest.Authority(t, "proxies")
		first, second := authority.Client(t, "first", nil), authority.Client(t, "second", nil)
		certFile, keyFile := first.Files(t)
		o, err := Parse([]string{"-proxy_client_cert_file", certFile, "--proxy-client-key-file=" + keyFile, "-enable_aggregator_routing"})
		require.NoError(t, err)
		clientCertificate, err := o.Aggregator.ApplyTo()
		require.NoError(t, err)
		assert.True(t, o.Aggregator.RouteToEndpoints)
		shown := func() string {
			time.Sleep(time.Hour) // the bubble's clock: it takes no time
			certificate, err := clientCertificate()
			require.NoError(t, err)
			return certificate.Leaf.Subject.CommonName
		}
		assert.Equal(t, "first", shown())
		certtest.Replace(t, certFile, second.CertPEM)
		assert.Equal(t, "first", shown(), "its key comes later")
		certtest.Replace(t, keyFile, second.KeyPEM)
		assert.Equal(t, "second", shown())
	})
}

func TestWithoutItsFlagsTheAggregatorShowsNoCertificate(t *testing.T) {
	t.Parallel()
	o := New().Aggregator
	clientCertificate, err := o.ApplyTo()
	require.NoError(t, err)
	assert.Nil(t, clientCertificate)
	assert.False(t, o.RouteToEndpoints)
}

func TestAWrongCertificateForOtherServersIsAnErrorOfItsFlag(t *testing.T) {
	t.Parallel()
	_, err := Parse([]string{"-proxy_client_cert_file", "a"})
	assert.EqualError(t, err, "-proxy_client_cert_file: it needs -proxy_client_key_file")
	_, err = Parse([]string{"-proxy_client_key_file", "a"})
	assert.EqualError(t, err, "-proxy_client_key_file: it needs -proxy_client_cert_file")
	_, err = Parse([]string{"-enable_aggregator_routing=x"})
	assert.EqualError(t, err, `-enable_aggregator_routing: "x" is neither true nor false`)
	certFile, keyFile := certtest.Authority(t, "proxies").Client(t, "proxy", nil).Files(t)
	for _, files := range [][2]string{{"/nowhere", keyFile}, {certFile, "/nowhere"}, {keyFile, keyFile}, {certFile, certFile}} {
		o, err := Parse(strings.Fields("-proxy_client_cert_file " + files[0] + " -proxy_client_key_file " + files[1]))
		require.NoError(t, err)
		_, err = o.Aggregator.ApplyTo()
		assert.ErrorContains(t, err, "-proxy_client_cert_file: ")
	}
}
