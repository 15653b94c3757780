// Package serviceaccount issues the JWTs of service accounts, and authenticates who shows one.
package serviceaccount

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json" // it is case-sensitive, and accepts no name twice

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util"
)

// Authenticator is an authenticator.Token of JWTs.
type Authenticator struct {
	// Lookup returns an object of a resource of the core group, or the NotFound status. If it is set, a token is valid
	// only while the account, and what the token is bound to, are there; and that of a secret, while it is in there. It
	// must be set before the first request.
	Lookup func(ctx context.Context, resource, namespace, name string) (metav1.Object, error)

	keys      *util.Reloaded[[]key]
	issuer    string
	audiences []string
}

// New reads the keys that check JWTs from PEM files: public or private keys of RSA or ECDSA, or
// certificates. A file may have several. A changed file is read again; while it is broken, the
// old keys stay. An error names the file and the block, but not their content.
//
// A token must be of the issuer, unless that is "". It must be for one of the audiences; without any, for its issuer.
func New(files []string, issuer string, audiences ...string) (*Authenticator, error) {
	load := func() ([]key, error) { return readKeys(files) }
	keys, err := util.Reload("-service_account_key_file", load, files...)
	if err != nil {
		return nil, err
	}
	return &Authenticator{keys: keys, issuer: issuer, audiences: audiences}, nil
}

// AuthenticateToken implements authenticator.Token. A token that is no JWT is unknown; a JWT with
// an unknown signature or invalid claims is an error.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	if !isJWT(token) {
		return nil, false, nil
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, false, errors.New("the JWT is broken, or of an algorithm that no key is for")
	}
	for _, key := range a.keys.Get() {
		if !slices.Contains(key.algorithms, jose.SignatureAlgorithm(parsed.Signatures[0].Header.Algorithm)) {
			continue
		}
		payload, err := parsed.Verify(key.public)
		if err != nil {
			continue
		}
		var c claims
		if json.Unmarshal(payload, &c) != nil { // its error would contain a part of the token
			return nil, false, errors.New("the claims of the service account token are broken")
		}
		who, err := c.user(a.issuer, a.audiences)
		if err == nil {
			err = a.checkBound(ctx, &c, token)
		}
		if err != nil {
			return nil, false, err
		}
		return who, true, nil
	}
	return nil, false, errors.New("the JWT is signed by an unknown key")
}

// isJWT reports whether a token has the form of a JWT: three parts, of which the first names an
// algorithm.
func isJWT(token string) bool {
	first, rest, _ := strings.Cut(token, ".")
	if strings.Count(rest, ".") != 1 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(first)
	var header struct {
		Algorithm string `json:"alg"`
	}
	return err == nil && json.Unmarshal(text, &header) == nil && header.Algorithm != ""
}
