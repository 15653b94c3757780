package options

import (
	"errors"
	"flag"
	"slices"

	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/auth/authorizer/abac"
	"kube2014/pkg/auth/authorizer/rbac"
	sarwebhook "kube2014/pkg/auth/authorizer/webhook"
	"kube2014/pkg/auth/user"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
	"kube2014/pkg/webhook"
)

// The values of -authorization_mode.
const (
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	ABAC        = "ABAC"
	Webhook     = "Webhook"
	RBAC        = "RBAC"
	Node        = "Node"
)

var authorizationModes = []string{AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node}

// AuthorizationOptions configure the authorization of requests.
type AuthorizationOptions struct {
	Modes             util.StringList
	PolicyFile        string // of ABAC
	WebhookConfigFile string
}

func (o *AuthorizationOptions) AddFlags(fs *flag.FlagSet) {
	fs.Var(&o.Modes, "authorization_mode", "")
	fs.StringVar(&o.PolicyFile, "authorization_policy_file", "", "")
	fs.StringVar(&o.WebhookConfigFile, "authorization_webhook_config_file", "", "")
}

func (o *AuthorizationOptions) Validate(given map[string]bool) (errs flags.Problems) {
	errs.AddNames("authorization_mode", o.Modes, authorizationModes, "AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC or Node")
	if len(o.Modes) == 0 {
		o.Modes = util.StringList{AlwaysAllow}
	}
	if !given["secure_port"] {
		return append(errs, flags.AllNeed(given, "secure_port", "authorization_mode", "authorization_policy_file", "authorization_webhook_config_file")...)
	}
	for _, file := range []struct{ mode, flag, path string }{
		{ABAC, "authorization_policy_file", o.PolicyFile}, {Webhook, "authorization_webhook_config_file", o.WebhookConfigFile},
	} {
		errs.AddIf(o.Has(file.mode) && file.path == "", "-authorization_mode: %s needs -%s", file.mode, file.flag)
		errs.AddIf(!o.Has(file.mode) && file.path != "", "-%s: it needs -authorization_mode %s", file.flag, file.mode)
	}
	return errs
}

// Has reports whether a mode is enabled.
func (o *AuthorizationOptions) Has(mode string) bool { return slices.Contains(o.Modes, mode) }

// ApplyTo sets the server's authorizer, and returns it: system:masters may do everything, then the
// modes decide in their order. Only RBAC uses the roles; nodes is what decides for Node. The error joins one for each
// invalid flag, which it names. Today's server calls this BuildAuthorizer.
func (o *AuthorizationOptions) ApplyTo(c *server.Config, roles rbac.Source, nodes authorizer.Authorizer) (authorizer.UnionAuthorizer, error) {
	all, errs := []authorizer.Authorizer{authorizer.PrivilegedGroups{user.Masters}}, []error(nil)
	for _, mode := range o.Modes {
		switch mode {
		case AlwaysAllow:
			all = append(all, authorizer.AlwaysAllow{})
		case AlwaysDeny:
			all = append(all, authorizer.AlwaysDeny{})
		case ABAC:
			policy, err := abac.FromFile(o.PolicyFile)
			all, errs = append(all, policy), append(errs, flags.InFlag("authorization_policy_file", err))
		case Webhook:
			client, err := webhook.New(o.WebhookConfigFile)
			all, errs = append(all, sarwebhook.New(client.Post)), append(errs, flags.InFlag("authorization_webhook_config_file", err))
			c.GetsWait = true
		case RBAC:
			all = append(all, rbac.New(roles))
		case Node:
			all = append(all, nodes)
		}
	}
	union := authorizer.Union(all...)
	c.Auth.Authorizer = union
	return union, errors.Join(errs...)
}
