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
	"kube2014/pkg/admission/plugin/resourcequota"
	"kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/util"
)

// AdmissionOptions configure the admission of changes.
type AdmissionOptions struct {
	Plugins    util.StringList
	ConfigFile string
}

func (o *AdmissionOptions) addFlags(flags *flag.FlagSet) {
	flags.Var(&o.Plugins, "admission_control", "")
	flags.StringVar(&o.ConfigFile, "admission_control_config_file", "", "")
}

func (o *AdmissionOptions) validate(map[string]bool) (errs problems) {
	known := admissionPlugins().Names()
	errs.addNames("admission_control", o.Plugins, known, "one of "+strings.Join(known, ", "))
	if len(o.Plugins) == 0 {
		o.Plugins = util.StringList{plugin.NameNamespaceExists}
	}
	if i := slices.Index(o.Plugins, resourcequota.Name); i >= 0 { // it must be last, as it reserves quota
		o.Plugins = append(slices.Delete(o.Plugins, i, i+1), resourcequota.Name)
	}
	return errs
}

// ApplyTo returns the plugins in their order. The error joins one for each invalid flag, which it
// names.
func (o *AdmissionOptions) ApplyTo() (*admission.Chain, error) {
	var configurations map[string]json.RawMessage
	if o.ConfigFile != "" {
		var err error
		if configurations, err = admission.ReadConfig(o.ConfigFile); err != nil {
			return nil, inFlag("admission_control_config_file", err)
		}
	}
	var errs problems
	for _, name := range slices.Sorted(maps.Keys(configurations)) {
		errs.addIf(!slices.Contains(o.Plugins, name), "-admission_control_config_file: %s: it configures %s, which -admission_control does not name", o.ConfigFile, shown(name))
	}
	chain, err := admissionPlugins().New(o.Plugins, configurations)
	errs.addIf(err != nil, "-admission_control_config_file: %s: %w", o.ConfigFile, err)
	return chain, errors.Join(errs...)
}

func admissionPlugins() *admission.Plugins {
	all := &admission.Plugins{}
	all.Register(plugin.NameAlwaysAdmit, plugin.NewAlwaysAdmit)
	all.Register(plugin.NameAlwaysDeny, plugin.NewAlwaysDeny)
	all.Register(plugin.NameAlwaysPullImages, plugin.NewAlwaysPullImages)
	all.Register(plugin.NameNamespaceExists, plugin.NewNamespaceExists)
	all.Register(plugin.NameNamespaceLifecycle, plugin.NewNamespaceExists)
	all.Register(plugin.NameLimitRanger, plugin.NewLimitRanger)
	all.Register(resourcequota.Name, resourcequota.New)
	all.Register(webhook.NameMutating, webhook.NewMutating)
	all.Register(webhook.NameValidating, webhook.NewValidating)
	return all
}
