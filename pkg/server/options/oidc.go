package options

import (
	"errors"
	"flag"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"kube2014/pkg/auth/authenticator/oidc"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
)

// OIDCOptions configure the authentication by ID tokens of an OpenID Connect issuer.
type OIDCOptions struct {
	oidc.Config                 // the issuer "" is none, the prefix of users "" the default and - none
	CAFile      string          // who signs the issuer's certificate; "" for whom the system trusts
	SigningAlgs util.StringList // none for RS256
}

// oidcFlags are the flags that need an issuer, and that one's.
var oidcFlags = []string{"oidc_client_id", "oidc_ca_file", "oidc_username_claim", "oidc_username_prefix", "oidc_groups_claim", "oidc_groups_prefix",
	"oidc_required_claim", "oidc_signing_algs", "oidc_issuer_url"}

// pairs is a flag like name=value, which may be repeated.
type pairs map[string]string

func (p pairs) String() string { return "" }

// Set adds a pair.
func (p pairs) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return errors.New("is not like name=value")
	}
	p[name] = strings.TrimSpace(value)
	return nil
}

func (o *OIDCOptions) AddFlags(fs *flag.FlagSet) {
	o.RequiredClaims = map[string]string{}
	flags.Add(fs, &o.Issuer, "oidc_issuer_url", asIssuer, "")
	fs.StringVar(&o.ClientID, "oidc_client_id", "", "")
	fs.StringVar(&o.CAFile, "oidc_ca_file", "", "")
	fs.StringVar(&o.UsernameClaim, "oidc_username_claim", "sub", "")
	fs.StringVar(&o.UsernamePrefix, "oidc_username_prefix", "", "")
	fs.StringVar(&o.GroupsClaim, "oidc_groups_claim", "", "")
	fs.StringVar(&o.GroupsPrefix, "oidc_groups_prefix", "", "")
	fs.Var(pairs(o.RequiredClaims), "oidc_required_claim", "")
	fs.Var(&o.SigningAlgs, "oidc_signing_algs", "")
}

// asIssuer parses the URL of an issuer. It is kept as it is: tokens must have the same one.
func asIssuer(text string) (string, error) {
	if _, err := flags.AsHTTPS(text); err != nil {
		return "", err
	}
	if parsed, err := url.Parse(text); err != nil || parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", errors.New("has a user, a query or a fragment, which no issuer has")
	}
	return text, nil
}

// Validate returns errors. An issuer of the server's own tokens would let in by one check what the other one refuses.
func (o *OIDCOptions) Validate(given map[string]bool, own string) (errs flags.Problems) {
	if !given["oidc_issuer_url"] {
		return flags.AllNeed(given, "oidc_issuer_url", oidcFlags...)
	}
	errs.AddIf(o.ClientID == "", "%w", flags.Needs("oidc_issuer_url", "oidc_client_id"))
	errs.AddIf(o.Issuer != "" && o.Issuer == own, "-oidc_issuer_url: it is that of -service_account_issuer")
	errs.AddIf(o.UsernameClaim == "", "-oidc_username_claim: it is empty")
	var known []string
	for _, algorithm := range oidc.Algorithms {
		known = append(known, string(algorithm))
	}
	errs.AddNames("oidc_signing_algs", o.SigningAlgs, known, "an algorithm of "+strings.Join(known, ", "))
	return errs
}

// authenticator returns the authenticator of the issuer's tokens. The error names the flag.
func (o *OIDCOptions) authenticator() (*oidc.Authenticator, error) {
	config := o.Config
	switch {
	case o.UsernamePrefix == "-":
		config.UsernamePrefix = ""
	case o.UsernamePrefix == "" && o.UsernameClaim != "email":
		config.UsernamePrefix = o.Issuer + "#" // nobody of the issuer is taken for somebody else
	}
	for _, algorithm := range orDefault(o.SigningAlgs, string(jose.RS256)) {
		config.Algorithms = append(config.Algorithms, jose.SignatureAlgorithm(algorithm))
	}
	if o.CAFile != "" {
		authorities, err := certs.ReadCABundle("-oidc_ca_file", o.CAFile)
		if err != nil {
			return nil, flags.InFlag("oidc_ca_file", err)
		}
		config.Roots = authorities.Pool()
	}
	return oidc.New(config), nil
}
