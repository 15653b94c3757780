package options

import (
	"errors"
	"flag"
	"log"
	"slices"
	"strings"
	"time"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authenticator/bootstrap"
	"kube2014/pkg/auth/authenticator/oidc"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	tokenwebhook "kube2014/pkg/auth/authenticator/webhook"
	"kube2014/pkg/server"
	"kube2014/pkg/server/certs"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
)

// AuthenticationOptions configure the authentication of requests.
type AuthenticationOptions struct {
	Anonymous              bool
	ClientCAFile           string
	TokenFile              string
	WebhookConfigFile      string
	WebhookCacheTTL        time.Duration
	RequestHeader          RequestHeaderOptions
	ServiceAccountKeyFiles util.StringList
	ServiceAccountLookup   bool   // a token is valid only while its account is there
	SigningKeyFile         string // signs the tokens of service accounts; "" for none
	ServiceAccountIssuer   string // of these tokens; "" for any
	ServiceAccountKeysURI  string // the URL of the keys, for others; "" for that of the secure port
	BootstrapTokens        bool
	OIDC                   OIDCOptions

	// TokenCacheTTL is how long the owner of a token is known without a new check; 0 means not at all. It has no flag:
	// whoever calls ApplyTo sets it.
	TokenCacheTTL time.Duration

	// Issuer signs tokens, nil if there are none; ServiceAccounts authenticates them. Discovery has what others need to
	// check them, nil if the issuer or the keys have no https URL. Bootstrap and OpenID authenticate other tokens, nil for
	// none. ApplyTo sets these fields.
	Issuer          *serviceaccount.Issuer
	ServiceAccounts *serviceaccount.Authenticator
	Discovery       *serviceaccount.Discovery
	Bootstrap       *bootstrap.Authenticator
	OpenID          *oidc.Authenticator

	// ClientCA and ProxyCA are who signs the certificates of clients, and of the front proxy; nil for none. ApplyTo sets them.
	ClientCA, ProxyCA *certs.CABundle

	anonymousByUser, secure bool
}

// RequestHeaderOptions configure a proxy that authenticates users.
type RequestHeaderOptions struct {
	ClientCAFile             string // the authorities of the proxy's certificate
	authenticator.FrontProxy        // ApplyTo completes it
}

// headerNames is a flag with names of headers, or what they begin with.
type headerNames util.StringList

func (n *headerNames) String() string { return (*util.StringList)(n).String() }

// Set appends names.
func (n *headerNames) Set(text string) error {
	if strings.ContainsAny(text, " \t:") {
		return errors.New("has a character that no name of a header has")
	}
	return (*util.StringList)(n).Set(text)
}

func (o *AuthenticationOptions) AddFlags(fs *flag.FlagSet) {
	flags.Add(fs, &o.Anonymous, "anonymous_auth", flags.AsBool, true)
	fs.StringVar(&o.ClientCAFile, "client_ca_file", "", "")
	fs.StringVar(&o.TokenFile, "token_auth_file", "", "")
	fs.StringVar(&o.WebhookConfigFile, "authentication_token_webhook_config_file", "", "")
	flags.Add(fs, &o.WebhookCacheTTL, "authentication_token_webhook_cache_ttl", flags.AsDuration, tokenwebhook.DefaultTTL)
	fs.StringVar(&o.RequestHeader.ClientCAFile, "requestheader_client_ca_file", "", "")
	fs.Var((*util.StringList)(&o.RequestHeader.AllowedNames), "requestheader_allowed_names", "")
	fs.Var((*headerNames)(&o.RequestHeader.UsernameHeaders), "requestheader_username_headers", "")
	fs.Var((*headerNames)(&o.RequestHeader.UIDHeaders), "requestheader_uid_headers", "")
	fs.Var((*headerNames)(&o.RequestHeader.GroupHeaders), "requestheader_group_headers", "")
	fs.Var((*headerNames)(&o.RequestHeader.ExtraPrefixes), "requestheader_extra_headers_prefix", "")
	fs.Var(&o.ServiceAccountKeyFiles, "service_account_key_file", "")
	flags.Add(fs, &o.ServiceAccountLookup, "service_account_lookup", flags.AsBool, true)
	fs.StringVar(&o.SigningKeyFile, "service_account_signing_key_file", "", "")
	fs.StringVar(&o.ServiceAccountIssuer, "service_account_issuer", "", "")
	flags.Add(fs, &o.ServiceAccountKeysURI, "service_account_jwks_uri", flags.AsHTTPS, "")
	flags.Add(fs, &o.BootstrapTokens, "enable_bootstrap_token_auth", flags.AsBool, false)
	o.OIDC.AddFlags(fs)
}

func (o *AuthenticationOptions) Validate(given map[string]bool) (errs flags.Problems) {
	o.anonymousByUser, o.secure = given["anonymous_auth"], given["secure_port"]
	errs.AddIf(o.SigningKeyFile != "" && o.ServiceAccountIssuer == "", "%w", flags.Needs("service_account_signing_key_file", "service_account_issuer"))
	errs.AddIf(o.ServiceAccountKeysURI != "" && o.ServiceAccountIssuer == "", "%w", flags.Needs("service_account_jwks_uri", "service_account_issuer"))
	if !given["secure_port"] {
		return append(errs, flags.AllNeed(given, "secure_port", slices.Concat(requestHeaderFlags, oidcFlags, []string{"anonymous_auth", "client_ca_file", "token_auth_file", "authentication_token_webhook_config_file",
			"authentication_token_webhook_cache_ttl", "requestheader_client_ca_file", "service_account_key_file", "service_account_lookup", "enable_bootstrap_token_auth"})...)...)
	}
	errs = append(errs, o.OIDC.Validate(given, o.ServiceAccountIssuer)...)
	if !given["authentication_token_webhook_config_file"] {
		errs = append(errs, flags.AllNeed(given, "authentication_token_webhook_config_file", "authentication_token_webhook_cache_ttl")...)
	}
	if !given["requestheader_client_ca_file"] {
		errs = append(errs, flags.AllNeed(given, "requestheader_client_ca_file", requestHeaderFlags...)...)
	}
	uids := o.RequestHeader.UIDHeaders
	errs.AddIf(len(uids) > 0 && !slices.ContainsFunc(uids, func(name string) bool { return strings.EqualFold(name, "X-Remote-Uid") }),
		"-requestheader_uid_headers: X-Remote-Uid is not among them: the aggregator needs it")
	return errs
}

// requestHeaderFlags are the flags that need a front proxy.
var requestHeaderFlags = []string{"requestheader_allowed_names", "requestheader_username_headers", "requestheader_uid_headers", "requestheader_group_headers",
	"requestheader_extra_headers_prefix"}

// wantsClientCerts reports whether clients authenticate by certificates.
func (o *AuthenticationOptions) wantsClientCerts() bool {
	return o.ClientCAFile != "" || o.RequestHeader.ClientCAFile != ""
}

// ApplyTo sets the server's authenticator, and returns that of bearer tokens, nil if there is none.
// AlwaysAllow turns anonymous requests off. The error joins one for each invalid flag, which it
// names. Today's server calls this BuildAuthenticator.
func (o *AuthenticationOptions) ApplyTo(c *server.Config, authorization *AuthorizationOptions) (authenticator.Token, error) {
	var users []authenticator.Request
	var errs []error
	if proxy := &o.RequestHeader; proxy.ClientCAFile != "" {
		var err error
		o.ProxyCA, err = certs.ReadCABundle("-requestheader_client_ca_file", proxy.ClientCAFile)
		errs = append(errs, flags.InFlag("requestheader_client_ca_file", err))
		proxy.Roots = o.ProxyCA.Pool
		proxy.UsernameHeaders, proxy.GroupHeaders = orDefault(proxy.UsernameHeaders, "X-Remote-User"), orDefault(proxy.GroupHeaders, "X-Remote-Group")
		users = append(users, authenticator.RequestHeader(proxy.FrontProxy))
	}
	if o.ClientCAFile != "" {
		var err error
		o.ClientCA, err = certs.ReadCABundle("-client_ca_file", o.ClientCAFile)
		errs = append(errs, flags.InFlag("client_ca_file", err))
		users = append(users, authenticator.X509(o.ClientCA.Pool))
	}
	tokens, err := o.tokens()
	errs = append(errs, err)
	if tokens != nil {
		users = append(users, authenticator.Bearer(tokens), authenticator.WebSocket(tokens))
	}
	all := authenticator.Groups(authenticator.Union(users...))
	switch {
	case !o.Anonymous:
	case !authorization.Has(AlwaysAllow):
		all = authenticator.Anonymous(all)
	case o.anonymousByUser:
		log.Print("warning: -anonymous_auth is taken for false: with -authorization_mode AlwaysAllow everybody could do everything")
	}
	c.Auth.Authenticator = all
	c.GetsWait = c.GetsWait || o.WebhookConfigFile != "" || o.OIDC.Issuer != ""
	return tokens, errors.Join(errs...)
}

func orDefault(list []string, name string) []string {
	if len(list) == 0 {
		return []string{name}
	}
	return list
}
