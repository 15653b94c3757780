package pems

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/util/certtest"
)

func FuzzPEM(f *testing.F) {
	pair := certtest.Authority(f, "ca").Server(f, "a")
	cert, key := string(pair.CertPEM), string(pair.KeyPEM)
	for _, text := range []string{
		"", "-----BEGIN", cert, key, cert + key, key + cert + cert, cert[:len(cert)-30], "text\n" + cert,
		strings.ReplaceAll(cert, "CERTIFICATE", "TRUSTED CERTIFICATE"), strings.ReplaceAll(key, "PRIVATE", "RSA PRIVATE"),
		strings.ReplaceAll(key, "PRIVATE", "ENCRYPTED PRIVATE"), strings.ReplaceAll(key, "\n", "\r\n"), "-----BEGIN  PRIVATE KEY-----\n-----END  PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
	} {
		f.Add(text, key)
		f.Add(cert, text)
	}
	f.Fuzz(func(t *testing.T, certText, keyText string) {
		made, err := Pair("CERT", []byte(certText), "KEY", []byte(keyText))
		assert.NotEqual(t, made == nil, err == nil)
		if err != nil {
			assert.Less(t, len(err.Error()), 100, "it tells nothing of the text")
			return
		}
		assert.NotNil(t, made.Leaf)
		_, err = PrivateKey("KEY", []byte(keyText))
		assert.NoError(t, err)
	})
}
