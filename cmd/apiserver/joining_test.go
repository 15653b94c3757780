package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"

	"kube2014/pkg/util/certtest"
)

// A new machine knows a bootstrap token only. With it, it requests a certificate, which today's controller manager approves and signs. Then
// it is a node.
func TestAMachineJoinsByABootstrapTokenAndTodaysSigner(t *testing.T) {
	if os.Getenv("KUBE2014_CONTROLLERS") == "" {
		t.Skip("make parts runs it")
	}
	t.Parallel()
	c, accountKey, ca, caKey := startSecureServer(t, "-scheduler", "none", "-enable_bootstrap_token_auth")
	startTodaysControllers(t, c.kubeconfig, accountKey, ca, caKey)
	client := clientWith(t, nil, nil)
	insecureTLS(client)
	as := func(who credentials) func(code int, method, path, body string) string {
		with := client
		if who.certificate != nil {
			with = clientWith(t, nil, who.certificate)
			insecureTLS(with)
		}
		return func(code int, method, path, body string) string {
			status, text, _ := askWith(t, with, who, method, c.url+path, body)
			require.Equal(t, code, status, "%s %s: %s", method, path, text)
			return text
		}
	}
	admin, machine := as(bearer("admin-token")), as(bearer("abcdef.0123456789abcdef"))
	admin(201, "POST", "/api/v1/namespaces/kube-system/secrets", `{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token",
		"stringData":{"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true","auth-extra-groups":"system:bootstrappers:new"}}`)
	for _, role := range []string{"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient"} {
		admin(201, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", `{"metadata":{"name":"new-`+role+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"`+role+`"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:bootstrappers:new"}]}`)
	}
	const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	machine(403, "GET", "/api/v1/nodes/new", "")

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:new", Organization: []string{"system:nodes"}}}, key)
	require.NoError(t, err)
	text := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request}))
	machine(201, "POST", requests, `{"metadata":{"name":"new"},"spec":{"request":"`+text+`","signerName":"kubernetes.io/kube-apiserver-client-kubelet","usages":["digital signature","client auth"]}}`)
	var csr certificatesv1.CertificateSigningRequest
	eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(machine(200, "GET", requests+"/new", "")), &csr))
		return len(csr.Status.Certificate) > 0
	}, "today's controller manager signs")
	assert.Equal(t, "system:bootstrap:abcdef", csr.Spec.Username)
	assert.Equal(t, "AutoApproved", csr.Status.Conditions[0].Reason)

	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(csr.Status.Certificate, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	require.NoError(t, err)
	node := as(credentials{certificate: &certtest.Pair{Certificate: pair}})
	node(http.StatusCreated, "POST", "/api/v1/nodes", `{"metadata":{"name":"new"}}`)
	node(http.StatusOK, "GET", "/api/v1/nodes/new", "")
	node(http.StatusForbidden, "POST", "/api/v1/nodes", `{"metadata":{"name":"other"}}`)
	node(http.StatusForbidden, "GET", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", "")

	admin(200, "DELETE", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-abcdef", "")
	eventually(t, func() bool {
		status, _, _ := askWith(t, client, bearer("abcdef.0123456789abcdef"), "GET", c.url+requests, "")
		return status == http.StatusUnauthorized
	}, "nobody else joins by the token")
}
