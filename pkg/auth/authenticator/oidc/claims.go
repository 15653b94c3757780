package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// errBroken hides the error of a decoder, which may contain a part of the token.
var errBroken = errors.New("the claims of the token are broken")

// leeway is how long before its time a token may be used.
const leeway = time.Minute

// registered are the claims that the standard knows. As in today's server, their names may be in any letters, and each
// must be of its type, also where its value does not matter.
type registered struct {
	Issuer     string            `json:"iss"`
	Subject    string            `json:"sub"`
	Audience   oneOrMany         `json:"aud"`
	Expiry     seconds           `json:"exp"`
	IssuedAt   seconds           `json:"iat"`
	NotBefore  *seconds          `json:"nbf"`
	Nonce      string            `json:"nonce"`
	AccessHash string            `json:"at_hash"`
	ClaimNames map[string]string `json:"_claim_names"`
	Sources    map[string]source `json:"_claim_sources"`
}

// source is where claims are that are not in the token.
type source struct {
	Endpoint string `json:"endpoint"`
	Token    string `json:"access_token"`
}

// checkRegistered returns an error if a signed token must not be used here and now.
func checkRegistered(payload []byte, issuer, clientID string, now time.Time) error {
	var r registered
	if json.Unmarshal(payload, &r) != nil {
		return errBroken
	}
	for _, name := range r.ClaimNames {
		if _, ok := r.Sources[name]; !ok || name == "" {
			return errors.New("the token names a source of claims that it does not have")
		}
	}
	switch {
	case !sameIssuer(issuer, r.Issuer):
		return errors.New("the token is of another issuer")
	case !slices.Contains(r.Audience, clientID):
		return errors.New("the token is for another audience")
	case r.Expiry.time().Before(now):
		return errors.New("the token is expired, or does not say when it expires")
	case r.NotBefore != nil && now.Add(leeway).Before(r.NotBefore.time()):
		return errors.New("the token is not valid yet")
	}
	return nil
}

// claims are all claims of a token, by their exact names.
type claims map[string]json.RawMessage

func (c claims) has(name string) bool {
	_, ok := c[name]
	return ok
}

// claim returns the value of a claim, which must be there, or null for the zero value.
func claim[V any](c claims, name string) (value V, err error) {
	text, ok := c[name]
	if !ok {
		return value, fmt.Errorf("the token has no claim %s", name)
	}
	if json.Unmarshal(text, &value) != nil {
		return value, fmt.Errorf("the claim %s is of a wrong type", name)
	}
	return value, nil
}

// checkNotElsewhere returns an error if a claim is kept by another server. To take it for missing would make somebody
// of the owner whom the issuer does not mean.
func (c claims) checkNotElsewhere(name string) error {
	if !c.has("_claim_names") {
		return nil
	}
	names, err := claim[map[string]string](c, "_claim_names")
	if err != nil {
		return err
	}
	sources, err := claim[map[string]source](c, "_claim_sources")
	if err != nil {
		return err
	}
	if sources[names[name]].Endpoint != "" {
		return fmt.Errorf("the claim %s is kept by another server, which is not supported", name)
	}
	return nil
}

// oneOrMany is a text, or a list of texts.
type oneOrMany []string

// UnmarshalJSON implements json.Unmarshaler.
func (m *oneOrMany) UnmarshalJSON(text []byte) error {
	var many []string
	if json.Unmarshal(text, &many) == nil {
		*m = many
		return nil
	}
	var one string
	err := json.Unmarshal(text, &one)
	*m = oneOrMany{one}
	return err
}

// seconds is a time since 1970, which may have a fraction. As in today's server, a text with a number is one, too.
type seconds int64

func (s seconds) time() time.Time { return time.Unix(int64(s), 0) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *seconds) UnmarshalJSON(text []byte) error {
	var number json.Number
	if err := json.Unmarshal(text, &number); err != nil {
		return err
	}
	if whole, err := number.Int64(); err == nil {
		*s = seconds(whole)
		return nil
	}
	fraction, err := number.Float64()
	*s = seconds(fraction)
	return err
}
