package options

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/audit"
	"kube2014/pkg/server"
	genericoptions "kube2014/pkg/server/options"
)

func TestTheFlagsOfTheAuditAreRead(t *testing.T) {
	t.Parallel()
	o, err := Parse(strings.Fields("-audit_log_path /a/b -audit-log-maxage 7 -audit_log_maxbackup=3 -audit_log_maxsize 50 -audit_policy_file p"))
	require.NoError(t, err)
	assert.Equal(t, genericoptions.AuditOptions{Log: audit.File{Path: "/a/b", MaxAge: 7, MaxBackups: 3, MaxSize: 50}, PolicyFile: "p"}, o.Audit)
}

func TestWhatIsWrongWithTheFlagsOfTheAuditIsTold(t *testing.T) {
	t.Parallel()
	_, err := Parse(strings.Fields("-audit_log_maxage -1 -audit_log_maxbackup x -audit_log_maxsize 99999999999 -audit_policy_file p"))
	assert.EqualError(t, err, `-audit_log_maxage: "-1" is not a number between 0 and 1048576`+"\n"+
		`-audit_log_maxbackup: "x" is not a number between 0 and 1048576`+"\n"+
		`-audit_log_maxsize: "99999999999" is not a number between 0 and 1048576`+"\n"+
		"-audit_policy_file: it needs -audit_log_path")
}

func TestAnAuditIsMadeOnlyIfThereIsAPath(t *testing.T) {
	t.Parallel()
	c := &server.Config{}
	require.NoError(t, (&genericoptions.AuditOptions{}).ApplyTo(c))
	assert.Nil(t, c.Audit)
	dir := t.TempDir()
	o := genericoptions.AuditOptions{Log: audit.File{Path: filepath.Join(dir, "audit.log")}, PolicyFile: filepath.Join(dir, "policy.yaml")}
	err := o.ApplyTo(c)
	assert.ErrorContains(t, err, "-audit_policy_file: ")
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Nil(t, c.Audit)
	require.NoError(t, os.WriteFile(o.PolicyFile, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Request}]"), 0o600))
	require.NoError(t, o.ApplyTo(c))
	assert.NotNil(t, c.Audit)
	o.Log.Path = filepath.Join(o.PolicyFile, "audit.log")
	o.PolicyFile = o.Log.Path
	both, ok := o.ApplyTo(c).(interface{ Unwrap() []error })
	require.True(t, ok)
	require.Len(t, both.Unwrap(), 2)
	assert.ErrorContains(t, errors.Join(both.Unwrap()...), "-audit_log_path: ")
}
