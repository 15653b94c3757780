package options

import (
	"errors"
	"log"

	"kube2014/pkg/auth/authenticator"
	"kube2014/pkg/auth/authenticator/bootstrap"
	"kube2014/pkg/auth/authenticator/serviceaccount"
	"kube2014/pkg/auth/authenticator/tokenfile"
	tokenwebhook "kube2014/pkg/auth/authenticator/webhook"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
	"kube2014/pkg/webhook"
)

// tokens returns the authenticator of bearer tokens, nil if there is none. They are asked in the order of today's server:
// those that ask others last.
func (o *AuthenticationOptions) tokens() (authenticator.Token, error) {
	var all []authenticator.Token
	var errs []error
	if o.TokenFile != "" {
		known, err := tokenfile.New(o.TokenFile)
		all, errs = append(all, known), append(errs, flags.InFlag("token_auth_file", err))
	}
	files := o.ServiceAccountKeyFiles
	if o.SigningKeyFile != "" {
		var err error
		o.Issuer, err = serviceaccount.NewIssuer(o.SigningKeyFile, o.ServiceAccountIssuer)
		errs = append(errs, flags.InFlag("service_account_signing_key_file", err))
		if err == nil && len(files) == 0 {
			files = util.StringList{o.SigningKeyFile}
		}
	}
	if len(files) > 0 {
		known, err := serviceaccount.New(files, o.ServiceAccountIssuer)
		o.ServiceAccounts = known
		all, errs = append(all, known), append(errs, flags.InFlag("service_account_key_file", err))
		if err == nil && o.ServiceAccountIssuer != "" {
			o.discover()
		}
	}
	if o.BootstrapTokens {
		o.Bootstrap = &bootstrap.Authenticator{}
		all = append(all, o.Bootstrap)
	}
	if o.OIDC.Issuer != "" {
		var err error
		o.OpenID, err = o.OIDC.authenticator()
		all, errs = append(all, o.OpenID), append(errs, err)
	}
	if o.WebhookConfigFile != "" {
		client, err := webhook.New(o.WebhookConfigFile)
		all, errs = append(all, tokenwebhook.New(client.Post, o.WebhookCacheTTL)), append(errs, flags.InFlag("authentication_token_webhook_config_file", err))
	}
	if len(all) == 0 {
		return nil, nil
	}
	return authenticator.Cached(authenticator.UnionOfTokens(all...), o.TokenCacheTTL), errors.Join(errs...)
}

// discover sets Discovery, or logs why it is nil: without it, the tokens are as good here.
func (o *AuthenticationOptions) discover() {
	discovery, err := o.ServiceAccounts.Discovery()
	switch {
	case err != nil:
		log.Printf("warning: the keys of service accounts are not published: %v", flags.InFlag("service_account_issuer", err))
	case o.ServiceAccountKeysURI == "" && !o.secure:
		log.Print("warning: the keys of service accounts are not published: -service_account_jwks_uri or -secure_port is needed")
	default:
		discovery.KeysURI, o.Discovery = o.ServiceAccountKeysURI, discovery
	}
}
