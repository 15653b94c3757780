package master

import (
	"errors"
	"fmt"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/resourcequota"
	"kube2014/pkg/admission/plugin/serviceaccount"
	"kube2014/pkg/admission/v1beta1"
	"kube2014/pkg/rest/core"
)

// openAdmission initializes the plugins, and installs them at both doors. A plugin says by an interface, such as
// plugin.WantsNamespaces, what it needs. The error names a flag.
func (m *Master) openAdmission() error {
	var errs []error
	m.admission.Each(func(name string, p admission.Interface) {
		if wants, ok := p.(plugin.WantsNamespaces); ok {
			wants.SetNamespaces(m.lifecycle)
		}
		if wants, ok := p.(serviceaccount.WantsAccounts); ok {
			wants.SetAccounts(core.NewAccounts(m.lifecycle))
		}
		if wants, ok := p.(resourcequota.WantsObjects); ok {
			if err := wants.SetObjects(m.Stores.Objects, m.catalogs); err != nil {
				errs = append(errs, fmt.Errorf("-admission_control_config_file: %s: %s: %w", m.o.Admission.ConfigFile, name, err))
			}
		}
	})
	m.admission.Around = m.tracer.Admission(m.metrics.Admission)
	if chain := m.admission.Only(m.o.Admission.AtFirstDoor); chain != nil {
		m.First.Admission = &v1beta1.Door{Chain: chain, Objects: m.Stores.Objects}
	}
	return errors.Join(errs...)
}
