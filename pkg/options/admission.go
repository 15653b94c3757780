package options

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"slices"
	"strings"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/noderestriction"
	"kube2014/pkg/admission/plugin/policy"
	"kube2014/pkg/admission/plugin/resourcequota"
	"kube2014/pkg/admission/plugin/serviceaccount"
	"kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/server/flags"
	"kube2014/pkg/util"
)

// AdmissionOptions configure the admission of changes.
type AdmissionOptions struct {
	Plugins         util.StringList // those of both doors; nil means the defaults
	Enable, Disable util.StringList // beside the defaults, and of those
	ConfigFile      string

	// NoAccounts means that nobody makes service accounts, so that the plugin ServiceAccount is no default.
	NoAccounts bool
}

func (o *AdmissionOptions) AddFlags(fs *flag.FlagSet) {
	fs.Var(&o.Plugins, "admission_control", "")
	fs.Var(&o.Enable, "enable_admission_plugins", "")
	fs.Var(&o.Disable, "disable_admission_plugins", "")
	fs.StringVar(&o.ConfigFile, "admission_control_config_file", "", "")
}

func (o *AdmissionOptions) Validate(map[string]bool) (errs flags.Problems) {
	known := admissionPlugins().Names()
	for _, one := range []struct {
		flag  string
		names util.StringList
	}{{"admission_control", o.Plugins}, {"enable_admission_plugins", o.Enable}, {"disable_admission_plugins", o.Disable}} {
		for _, name := range one.names {
			errs.AddIf(isGone(name), "-%s: %s is gone: %s", one.flag, name, gonePlugins[name])
		}
		errs.AddNames(one.flag, slices.DeleteFunc(slices.Clone(one.names), isGone), known, "one of "+strings.Join(known, ", "))
		errs.AddIf(one.flag != "admission_control" && len(o.Plugins) > 0 && len(one.names) > 0, "-%s: it does not go with -admission_control, which names all plugins", one.flag)
	}
	for _, name := range o.Enable {
		errs.AddIf(slices.Contains(o.Disable, name), "-enable_admission_plugins: %s is also in -disable_admission_plugins", name)
	}
	return errs
}

// names returns the plugins that are on, in their order.
func (o *AdmissionOptions) names() (names []string) {
	names = slices.Clone(o.Plugins)
	if len(names) == 0 {
		for _, row := range pluginTable {
			isOn := row.isDefault && !slices.Contains(o.Disable, row.name) && !(o.NoAccounts && row.name == serviceaccount.Name)
			if isOn || slices.Contains(o.Enable, row.name) {
				names = append(names, row.name)
			}
		}
	}
	if i := slices.Index(names, resourcequota.Name); i >= 0 { // it must be last, as it reserves quota
		names = append(slices.Delete(names, i, i+1), resourcequota.Name)
	}
	return names
}

// AtFirstDoor reports whether a plugin that is on also decides at the first door: each that -admission_control names,
// otherwise only those of quotas and of nodes, because defaults are not for tasks. The namespace of all tasks exists, and tasks have no service accounts.
func (o *AdmissionOptions) AtFirstDoor(name string) bool {
	switch name {
	case "NamespaceExists", "NamespaceLifecycle", serviceaccount.Name:
		return false
	}
	return len(o.Plugins) > 0 || name == resourcequota.Name || name == noderestriction.Name
}

// ApplyTo returns the plugins in their order. The error joins one for each invalid flag, which it
// names.
func (o *AdmissionOptions) ApplyTo() (*admission.Chain, error) {
	var configurations map[string]json.RawMessage
	if o.ConfigFile != "" {
		var err error
		if configurations, err = admission.ReadConfig(o.ConfigFile); err != nil {
			return nil, flags.InFlag("admission_control_config_file", err)
		}
	}
	var errs flags.Problems
	names := o.names()
	for _, name := range slices.Sorted(maps.Keys(configurations)) {
		errs.AddIf(!slices.Contains(names, name), "-admission_control_config_file: %s: it configures %s, which is not on", o.ConfigFile, flags.Shown(name))
	}
	chain, err := admissionPlugins().New(names, configurations)
	errs.AddIf(err != nil, "-admission_control_config_file: %s: %w", o.ConfigFile, err)
	return chain, errors.Join(errs...)
}

// gonePlugins has plugins of kube-apiserver that today's server no longer has, and what it has instead.
var gonePlugins = map[string]string{
	"DenyEscalatingExec":    "today's server has PodSecurity instead",
	"DenyExecOnPrivileged":  "today's server has PodSecurity instead",
	"Initializers":          "MutatingAdmissionWebhook replaced it",
	"PersistentVolumeLabel": "cloud controller managers label volumes",
	"PodPreset":             "MutatingAdmissionWebhook can do the same",
	"PodSecurityPolicy":     "today's server has PodSecurity instead",
	"SecurityContextDeny":   "today's server has PodSecurity instead",
}

func isGone(name string) bool { return gonePlugins[name] != "" }

// pluginTable has all plugins, in the order in which they are asked. NamespaceLifecycle is the same as NamespaceExists.
var pluginTable = []struct {
	name      string
	factory   admission.Factory
	isDefault bool // at the second door
}{
	{"AlwaysAdmit", plugin.NewAlwaysAdmit, false},
	{"NamespaceLifecycle", plugin.NewNamespaceExists, true},
	{"NamespaceExists", plugin.NewNamespaceExists, false},
	{"LimitRanger", plugin.NewLimitRanger, true},
	{serviceaccount.Name, serviceaccount.New, true},
	{noderestriction.Name, noderestriction.New, false},
	{"TaintNodesByCondition", plugin.NewTaintNodesByCondition, true},
	{"AlwaysPullImages", plugin.NewAlwaysPullImages, false},
	{"Priority", plugin.NewPriority, true},
	{"DefaultTolerationSeconds", plugin.NewDefaultTolerationSeconds, true},
	{"DefaultStorageClass", plugin.NewDefaultStorageClass, true},
	{"StorageObjectInUseProtection", plugin.NewStorageObjectInUseProtection, true},
	{"PersistentVolumeClaimResize", plugin.NewPersistentVolumeClaimResize, true},
	{"RuntimeClass", plugin.NewRuntimeClass, true},
	{"CertificateApproval", plugin.NewCertificateApproval, true},
	{"CertificateSigning", plugin.NewCertificateSigning, true},
	{"CertificateSubjectRestriction", plugin.NewCertificateSubjectRestriction, true},
	{"DefaultIngressClass", plugin.NewDefaultIngressClass, true},
	{policy.NameMutating, policy.NewMutating, true},
	{webhook.NameMutating, webhook.NewMutating, true},
	{policy.NameValidating, policy.NewValidating, true},
	{webhook.NameValidating, webhook.NewValidating, true},
	{"AlwaysDeny", plugin.NewAlwaysDeny, false},
	{resourcequota.Name, resourcequota.New, true},
}

func admissionPlugins() admission.Plugins {
	all := admission.Plugins{}
	for _, row := range pluginTable {
		all[row.name] = row.factory
	}
	return all
}
