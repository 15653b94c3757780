package options

import (
	"flag"
	"fmt"
	"slices"

	"kube2014/pkg/util"
)

// The values of -authorization_mode.
const (
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	ABAC        = "ABAC"
	Webhook     = "Webhook"
	RBAC        = "RBAC"
)

var authorizationModes = []string{AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC}

// AuthorizationOptions are about who may do what.
type AuthorizationOptions struct {
	Modes             util.StringList
	PolicyFile        string // of ABAC
	WebhookConfigFile string
}

func (o *AuthorizationOptions) addFlags(flags *flag.FlagSet) {
	flags.Var(&o.Modes, "authorization_mode", "")
	flags.StringVar(&o.PolicyFile, "authorization_policy_file", "", "")
	flags.StringVar(&o.WebhookConfigFile, "authorization_webhook_config_file", "", "")
}

func (o *AuthorizationOptions) validate(given map[string]bool) (errs []error) {
	for i, mode := range o.Modes {
		switch {
		case !slices.Contains(authorizationModes, mode):
			errs = append(errs, fmt.Errorf("-authorization_mode: %s is not AlwaysAllow, AlwaysDeny, ABAC, Webhook or RBAC", shown(mode)))
		case slices.Contains(o.Modes[:i], mode):
			errs = append(errs, fmt.Errorf("-authorization_mode: %s is named twice", mode))
		}
	}
	if len(o.Modes) == 0 {
		o.Modes = util.StringList{AlwaysAllow}
	}
	if !given["secure_port"] {
		return append(errs, allNeed(given, "secure_port", "authorization_mode", "authorization_policy_file", "authorization_webhook_config_file")...)
	}
	for _, file := range []struct{ mode, flag, path string }{
		{ABAC, "authorization_policy_file", o.PolicyFile},
		{Webhook, "authorization_webhook_config_file", o.WebhookConfigFile},
	} {
		switch {
		case o.Has(file.mode) && file.path == "":
			errs = append(errs, fmt.Errorf("-authorization_mode: %s needs -%s", file.mode, file.flag))
		case !o.Has(file.mode) && file.path != "":
			errs = append(errs, fmt.Errorf("-%s: it needs -authorization_mode %s", file.flag, file.mode))
		}
	}
	return errs
}

// Has reports whether a mode is on.
func (o *AuthorizationOptions) Has(mode string) bool { return slices.Contains(o.Modes, mode) }
