package options

import (
	"flag"
	"time"

	"kube2014/pkg/util"
)

// AuthenticationOptions are about who sends a request.
type AuthenticationOptions struct {
	Anonymous              bool
	ClientCAFile           string
	TokenFile              string
	WebhookConfigFile      string
	WebhookCacheTTL        time.Duration
	RequestHeader          RequestHeaderOptions
	ServiceAccountKeyFiles util.StringList
}

// RequestHeaderOptions are about a proxy that tells who sends a request.
type RequestHeaderOptions struct {
	ClientCAFile    string // who signs the proxy's certificate
	AllowedNames    util.StringList
	UsernameHeaders util.StringList
	GroupHeaders    util.StringList
}

func (o *AuthenticationOptions) addFlags(flags *flag.FlagSet) {
	o.Anonymous, o.WebhookCacheTTL = true, 2*time.Minute
	flags.Var((*boolValue)(&o.Anonymous), "anonymous_auth", "")
	flags.StringVar(&o.ClientCAFile, "client_ca_file", "", "")
	flags.StringVar(&o.TokenFile, "token_auth_file", "", "")
	flags.StringVar(&o.WebhookConfigFile, "authentication_token_webhook_config_file", "", "")
	flags.Var((*durationValue)(&o.WebhookCacheTTL), "authentication_token_webhook_cache_ttl", "")
	flags.StringVar(&o.RequestHeader.ClientCAFile, "requestheader_client_ca_file", "", "")
	flags.Var(&o.RequestHeader.AllowedNames, "requestheader_allowed_names", "")
	flags.Var(&o.RequestHeader.UsernameHeaders, "requestheader_username_headers", "")
	flags.Var(&o.RequestHeader.GroupHeaders, "requestheader_group_headers", "")
	flags.Var(&o.ServiceAccountKeyFiles, "service_account_key_file", "")
}

func (o *AuthenticationOptions) validate(given map[string]bool) (errs []error) {
	if !given["secure_port"] {
		return allNeed(given, "secure_port", "anonymous_auth", "client_ca_file", "token_auth_file", "authentication_token_webhook_config_file",
			"authentication_token_webhook_cache_ttl", "requestheader_client_ca_file", "requestheader_allowed_names",
			"requestheader_username_headers", "requestheader_group_headers", "service_account_key_file")
	}
	if !given["authentication_token_webhook_config_file"] {
		errs = append(errs, allNeed(given, "authentication_token_webhook_config_file", "authentication_token_webhook_cache_ttl")...)
	}
	if !given["requestheader_client_ca_file"] {
		errs = append(errs, allNeed(given, "requestheader_client_ca_file", "requestheader_allowed_names", "requestheader_username_headers", "requestheader_group_headers")...)
	}
	return errs
}
