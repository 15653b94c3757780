package authenticatortest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// Issuer is an OpenID Connect issuer. It is safe for concurrent use.
type Issuer struct {
	URL   string
	CA    []byte // who signs its certificate, in PEM; nil if it is not served
	Close func()

	keys map[string]crypto.Signer

	mu        sync.Mutex // guards what follows
	published []string
	fetches   int
}

// newKeys makes keys once: it takes time.
var newKeys = sync.OnceValues(func() (map[string]crypto.Signer, error) {
	keys := map[string]crypto.Signer{}
	for _, name := range []string{"rsa", "other"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, err
		}
		keys[name] = key
	}
	for name, curve := range map[string]elliptic.Curve{"p256": elliptic.P256(), "p384": elliptic.P384()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			return nil, err
		}
		keys[name] = key
	}
	return keys, nil
})

// New returns an issuer at a URL, as a handler that nobody serves. It has the keys rsa, p256 and p384, which are
// published, and other, which is not. Their names are their ids. All issuers of a process have the same keys.
func New(url string) (*Issuer, error) {
	keys, err := newKeys()
	return &Issuer{URL: url, Close: func() {}, keys: keys, published: []string{"rsa", "p256", "p384"}}, err
}

// Serve returns an issuer that is served over TLS until it is closed.
func Serve() (*Issuer, error) {
	i, err := New("")
	if err != nil {
		return nil, err
	}
	server := httptest.NewTLSServer(i)
	i.URL, i.Close = server.URL, server.Close
	i.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return i, nil
}

// Publish replaces the published keys.
func (i *Issuer) Publish(names ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.published = names
}

// Fetches returns how often the keys were fetched.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch req.URL.Path {
	case "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, i.URL, i.URL+"/keys")
	case "/keys":
		var set jose.JSONWebKeySet
		i.mu.Lock()
		defer i.mu.Unlock()
		i.fetches++
		for name, key := range i.keys {
			if slices.Contains(i.published, name) {
				set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: name, Use: "sig"})
			}
		}
		_ = json.NewEncoder(w).Encode(set) // the client may be gone
	default:
		http.NotFound(w, req)
	}
}

// hide replaces the URL of the issuer, which has another port each time.
func (i *Issuer) hide(text string) string { return strings.ReplaceAll(text, i.URL, "$issuer") }
