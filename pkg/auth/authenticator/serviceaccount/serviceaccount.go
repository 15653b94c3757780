// Package serviceaccount knows service accounts by JWTs. There are no objects of service
// accounts in this server: who has the key says who there is.
package serviceaccount

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json" // tells a from A, and takes no name twice

	"kube2014/pkg/auth/user"
	"kube2014/pkg/util"
)

// Authenticator is an authenticator.Token of JWTs.
type Authenticator struct {
	keys      *util.Reloaded[[]key]
	audiences []string
}

// New reads the keys that JWTs are signed by from files in the PEM format: public or private
// keys of RSA or ECDSA, or certificates, several in a file if need be. They are read again when
// a file has changed; while one is broken, the keys before it stay. An error names the file and
// the block, but nothing of what it says.
//
// Audiences are those whose tokens this server accepts; without any, a token must be for
// its issuer.
func New(files []string, audiences ...string) (*Authenticator, error) {
	load := func() ([]key, error) { return readKeys(files) }
	keys, err := util.Reload("-service_account_key_file", load, files...)
	if err != nil {
		return nil, err
	}
	return &Authenticator{keys, audiences}, nil
}

// AuthenticateToken implements authenticator.Token. What is no JWT is not known; a JWT that
// none of the keys has signed, or that does not hold, is an error.
func (a *Authenticator) AuthenticateToken(_ context.Context, token string) (*user.Info, bool, error) {
	if !isJWT(token) {
		return nil, false, nil
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, false, errors.New("the JWT is broken, or of an algorithm that no key is for")
	}
	for _, key := range a.keys.Get() {
		if !key.isFor(parsed.Signatures[0].Header.Algorithm) {
			continue
		}
		payload, err := parsed.Verify(key.public)
		if err != nil {
			continue
		}
		var told claims
		if json.Unmarshal(payload, &told) != nil { // its error would tell what is in the token
			return nil, false, errors.New("the claims of the service account token are broken")
		}
		who, err := told.user(a.audiences)
		return who, err == nil, err
	}
	return nil, false, errors.New("the JWT is signed by an unknown key")
}

// isJWT reports whether a token has the form of a JWT: a header that names its algorithm, and
// two more parts.
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
