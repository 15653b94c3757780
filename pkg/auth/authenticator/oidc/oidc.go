// Package oidc authenticates the ID tokens that an OpenID Connect issuer signs.
package oidc

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/auth/user"
)

// Algorithms are the signature algorithms that Config.Algorithms may have.
var Algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512}

// Config says whose tokens are accepted, and whom they make of their owner.
type Config struct {
	Issuer     string         // an https URL, as it stands in tokens
	ClientID   string         // tokens must be for it
	Roots      *x509.CertPool // of the issuer's certificate; nil for those of the system
	Algorithms []jose.SignatureAlgorithm

	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string // without a claim, there are no groups
	RequiredClaims                map[string]string
}

// Authenticator is an authenticator.Token of one issuer's JWTs. It needs Run.
type Authenticator struct {
	config Config
	keys   *keys
}

// New returns an authenticator that knows no keys yet.
func New(config Config) *Authenticator {
	return &Authenticator{config, &keys{issuer: config.Issuer, fetch: fetcher(config.Roots)}}
}

// Run finds the keys of the issuer. It tries until it succeeds or its context ends. Meanwhile, all tokens of the issuer
// are refused.
func (a *Authenticator) Run(ctx context.Context) { a.keys.find(ctx) }

// AuthenticateToken implements authenticator.Token. A token that names no issuer, or another one, is unknown; one of
// this issuer that does not get in is an error, which has no value of a claim.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string) (*user.Info, bool, error) {
	if !isOf(a.config.Issuer, token) {
		return nil, false, nil
	}
	who, err := a.owner(ctx, token)
	if err != nil {
		return nil, false, fmt.Errorf("oidc: %w", err)
	}
	return who, true, nil
}

// googles is the issuer that may leave out the scheme of its URL.
const googles = "https://accounts.google.com"

func sameIssuer(issuer, named string) bool {
	return named == issuer || issuer == googles && "https://"+named == googles
}

// isOf reports whether a token has the form of a JWT of an issuer. What it says is not verified.
func isOf(issuer, token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var c struct {
		Issuer string `json:"iss"`
	}
	return err == nil && json.Unmarshal(payload, &c) == nil && sameIssuer(issuer, c.Issuer)
}

func (a *Authenticator) owner(ctx context.Context, token string) (*user.Info, error) {
	signed, err := jose.ParseSignedCompact(token, a.config.Algorithms)
	if err != nil {
		return nil, errors.New("the token is broken, or signed by an algorithm that is not listed")
	}
	payload, err := a.keys.verify(ctx, signed)
	if err != nil {
		return nil, err
	}
	if err := checkRegistered(payload, a.config.Issuer, a.config.ClientID, time.Now()); err != nil {
		return nil, err
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return nil, errBroken
	}
	return a.config.user(c)
}

// user returns the owner of a token with these claims.
func (c *Config) user(all claims) (*user.Info, error) {
	name, err := claim[string](all, c.UsernameClaim)
	if err != nil {
		return nil, err
	}
	if c.UsernameClaim == "email" && all.has("email_verified") {
		verified, err := claim[bool](all, "email_verified")
		if err != nil {
			return nil, err
		}
		if !verified {
			return nil, errors.New("the email is not verified")
		}
	}
	who := &user.Info{Name: c.UsernamePrefix + name}
	if who.Groups, err = c.groups(all); err != nil {
		return nil, err
	}
	for name, wanted := range c.RequiredClaims {
		value, err := claim[string](all, name)
		if err != nil {
			return nil, err
		}
		if value != wanted {
			return nil, fmt.Errorf("the claim %s has another value than the one that is required", name)
		}
	}
	if id, err := claim[string](all, "jti"); err == nil && id != "" {
		who.Extra = map[string][]string{"authentication.kubernetes.io/credential-id": {serviceaccount.CredentialID(id)}}
	}
	return who, nil
}

func (c *Config) groups(all claims) ([]string, error) {
	if c.GroupsClaim == "" {
		return nil, nil
	}
	if !all.has(c.GroupsClaim) {
		return nil, all.checkNotElsewhere(c.GroupsClaim)
	}
	groups, err := claim[oneOrMany](all, c.GroupsClaim)
	for i := range groups {
		groups[i] = c.GroupsPrefix + groups[i]
	}
	return groups, err
}
