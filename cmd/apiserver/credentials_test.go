package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"

	"kube2014/pkg/auth/authenticator/authenticatortest"
	"kube2014/pkg/util/certtest"
	"kube2014/pkg/webhook/webhooktest"
)

// who has all that tells an apiserver who asks.
type who struct {
	files
	clients, proxies *certtest.Pair // who signs certificates
	signer           *ecdsa.PrivateKey
	public           []byte // its public half, in PEM
	issuer           *authenticatortest.Issuer
	flags            []string
}

const (
	rightToken   = "Right-Token-5c1e"
	adminToken   = "admin-token-77ab"
	webhookToken = "webhook-token-0f3d"
	joinToken    = "abcdef.0123456789ab5d9e" // of a secret that join creates
)

// everyWay returns the flags for all ways to tell who asks, and what they need.
func everyWay(t *testing.T) *who {
	w := &who{files: filesOf(t), clients: certtest.Authority(t, "clients"), proxies: certtest.Authority(t, "proxies")}
	var err error
	w.signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKIXPublicKey(&w.signer.PublicKey)
	require.NoError(t, err)
	w.public = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	clients, _ := w.pair("clients", w.clients)
	proxies, _ := w.pair("proxies", w.proxies)
	hook := webhooktest.Serve(t, func(rw http.ResponseWriter, req *http.Request) {
		var review authenticationv1.TokenReview
		assert.NoError(t, json.NewDecoder(req.Body).Decode(&review))
		if review.Status.Authenticated = review.Spec.Token == webhookToken; review.Status.Authenticated {
			review.Status.User = authenticationv1.UserInfo{Username: "hooked", UID: "h", Groups: []string{"hooks"}}
		}
		review.Spec = authenticationv1.TokenReviewSpec{}
		assert.NoError(t, json.NewEncoder(rw).Encode(review))
	})
	w.issuer, err = authenticatortest.Serve()
	require.NoError(t, err)
	t.Cleanup(w.issuer.Close)
	w.flags = []string{
		"-enable_bootstrap_token_auth", "-oidc_issuer_url", w.issuer.URL, "-oidc_client_id", "kube", "-oidc_ca_file", w.write("issuer.pem", string(w.issuer.CA)),
		"-oidc_groups_claim", "groups", "-oidc_signing_algs", "RS256,ES256",
		"-token_auth_file", w.write("tokens", rightToken+",bob,2,\"builders,testers\"\n"+adminToken+",admin,1,system:masters\n"),
		"-client_ca_file", clients, "-requestheader_client_ca_file", proxies, "-requestheader_allowed_names", "front-proxy,other-proxy",
		"-service_account_key_file", w.write("sa.pub", string(w.public)), "-service_account_lookup=false",
		"-authentication_token_webhook_config_file", webhooktest.Kubeconfig(t, hook, "token: for-the-hook"),
	}
	return w
}

// jwt returns a token of a service account, with some claims changed.
func (w *who) jwt(algorithm jose.SignatureAlgorithm, key any, changes map[string]any) credentials {
	now := time.Now().Unix()
	claims := map[string]any{"iss": "https://issuer", "aud": []string{"https://issuer"}, "sub": "system:serviceaccount:default:robot", "iat": now, "nbf": now, "exp": now + 3600,
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": "robot", "uid": "r"}}}
	for name, value := range changes {
		claims[name] = value
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	require.NoError(w.t, err)
	text, err := json.Marshal(claims)
	require.NoError(w.t, err)
	signed, err := signer.Sign(text)
	require.NoError(w.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(w.t, err)
	return bearer(token)
}

// idToken returns a token of the issuer.
func (w *who) idToken(made authenticatortest.Token) credentials {
	token, err := w.issuer.Make(made, time.Now())
	require.NoError(w.t, err)
	return bearer(token)
}

// unsigned returns a JWT that says that it needs no signature.
func unsigned(claims string) credentials {
	encode := base64.RawURLEncoding.EncodeToString
	return bearer(encode([]byte(`{"alg":"none"}`)) + "." + encode([]byte(claims)) + ".")
}

// client returns a certificate of the authority of clients.
func (w *who) client(name string, changes func(*x509.Certificate)) credentials {
	return credentials{certificate: w.clients.Client(w.t, name, changes)}
}

// proxy returns a certificate of the authority of proxies, and headers.
func (w *who) proxy(name string, headers ...string) credentials {
	return credentials{headers, w.proxies.Client(w.t, name, nil)}
}
