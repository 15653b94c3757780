package serviceaccount

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// The paths of the metadata of the issuer.
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeysPath          = "/openid/v1/jwks"
)

// maxAge is what clients are told: for an hour they need not ask again.
const maxAge = "public, max-age=3600"

// Discovery serves the metadata by which others check the tokens of the issuer: OpenID Connect Discovery 1.0. It has no
// secrets.
type Discovery struct {
	// KeysURI is the https URL of the keys. It must be set before the first request.
	KeysURI string

	authenticator *Authenticator
}

// Discovery returns the metadata of the issuer. The error says why the name of the issuer does not allow that.
func (a *Authenticator) Discovery() (*Discovery, error) {
	if issuer, err := url.Parse(a.issuer); err != nil || issuer.Scheme != "https" || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, errors.New("is no https URL without a query and a fragment")
	}
	return &Discovery{authenticator: a}, nil
}

// configuration has the fields that OpenID requires of a server on which nobody logs in.
type configuration struct {
	Issuer        string   `json:"issuer"`
	KeysURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// ServeConfiguration serves the configuration.
func (d *Discovery) ServeConfiguration(w http.ResponseWriter, _ *http.Request) {
	var algorithms []string
	for _, key := range d.authenticator.keys.Get() {
		algorithms = append(algorithms, string(key.algorithms[0]))
	}
	slices.Sort(algorithms)
	serve(w, "application/json", configuration{d.authenticator.issuer, d.KeysURI, []string{"id_token"}, []string{"public"}, slices.Compact(algorithms)})
}

// ServeKeys serves the public keys.
func (d *Discovery) ServeKeys(w http.ResponseWriter, _ *http.Request) {
	var set jose.JSONWebKeySet
	for _, key := range d.authenticator.keys.Get() {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.public, KeyID: key.id, Algorithm: string(key.algorithms[0]), Use: "sig"})
	}
	serve(w, "application/jwk-set+json", set)
}

func serve(w http.ResponseWriter, mediaType string, metadata any) {
	text, err := json.Marshal(metadata)
	if err != nil {
		panic(err) // the keys have been parsed
	}
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", maxAge)
	_, _ = w.Write(text) // it fails only if the client is gone
}
