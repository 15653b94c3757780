package master

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/serviceaccount"
	admissionwebhook "kube2014/pkg/admission/plugin/webhook"
	"kube2014/pkg/admission/v1beta1"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/trace"
)

// openAdmission initializes the plugins, and installs them at both doors. A plugin says by an interface, such as
// plugin.WantsNamespaces, what it needs.
func (m *Master) openAdmission() {
	m.admission.Each(func(_ string, p admission.Interface) {
		if wants, ok := p.(plugin.WantsNamespaces); ok {
			wants.SetNamespaces(m.lifecycle)
		}
		if wants, ok := p.(serviceaccount.WantsAccounts); ok {
			wants.SetAccounts(core.NewAccounts(m.serving, m.lifecycle))
		}
		if wants, ok := p.(plugin.WantsAuthorizer); ok {
			wants.SetAuthorizer(m.rights)
		}
		if wants, ok := p.(admissionwebhook.WantsServices); ok && m.Today != nil {
			wants.SetServices(m.resolve())
		}
		if wants, ok := p.(plugin.WantsObjects); ok {
			wants.SetObjects(m.Stores.Objects, trace.Untraced(m.Stores.Objects), m.catalogs)
		}
	})
	m.admission.Around = m.tracer.Admission(m.metrics.Admission)
	if chain := m.admission.Only(m.o.Admission.AtFirstDoor); chain != nil {
		m.June2014.Admission = &v1beta1.Admission{Chain: chain, Objects: m.Stores.Objects}
	}
}

// readDecisive lets the plugins read once from the store by what they decide, so that no request waits for it.
func (m *Master) readDecisive() {
	m.admission.Each(func(_ string, p admission.Interface) {
		if one, ok := p.(admission.SkipsNamespaces); ok {
			one.Idle(metav1.NamespaceDefault)
		}
		if reads, ok := p.(plugin.ReadsOnce); ok {
			_ = reads.ReadOnce() // if that fails, a request reads them
		}
	})
}
