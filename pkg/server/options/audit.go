package options

import (
	"errors"
	"flag"
	"fmt"
	"strconv"

	"kube2014/pkg/audit"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flags"
)

// AuditOptions configure the audit log.
type AuditOptions struct {
	Log        audit.File // the path "" turns it off
	PolicyFile string
}

func (o *AuditOptions) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.Log.Path, "audit_log_path", "", "")
	flags.Add(fs, &o.Log.MaxAge, "audit_log_maxage", asAmount, 0)
	flags.Add(fs, &o.Log.MaxBackups, "audit_log_maxbackup", asAmount, 0)
	flags.Add(fs, &o.Log.MaxSize, "audit_log_maxsize", asAmount, 0)
	fs.StringVar(&o.PolicyFile, "audit_policy_file", "", "")
}

func (o *AuditOptions) Validate(given map[string]bool) flags.Problems {
	if o.Log.Path != "" {
		return nil
	}
	return flags.AllNeed(given, "audit_log_path", "audit_log_maxage", "audit_log_maxbackup", "audit_log_maxsize", "audit_policy_file")
}

// ApplyTo sets the server's audit log, if there is a path. The error joins one for each invalid flag,
// which it names.
func (o *AuditOptions) ApplyTo(c *server.Config) error {
	if o.Log.Path == "" {
		return nil
	}
	out, err := o.Log.Open()
	auditor, policyErr := audit.FromFile(o.PolicyFile, out)
	if err = errors.Join(flags.InFlag("audit_log_path", err), flags.InFlag("audit_policy_file", policyErr)); err != nil {
		return err
	}
	c.Audit = auditor
	return nil
}

// maxAmount prevents overflows.
const maxAmount = 1 << 20

func asAmount(text string) (int, error) {
	amount, err := strconv.Atoi(text)
	if err != nil || amount < 0 || amount > maxAmount {
		return 0, fmt.Errorf("is not a number between 0 and %d", maxAmount)
	}
	return amount, nil
}
