package master

import (
	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/admission/plugin/resourcequota"
	"kube2014/pkg/admission/v1beta1"
	v1 "kube2014/pkg/api/v1"
)

// openAdmission lets the plugins decide about the changes at both doors. All tasks are in the namespace
// default, which is there.
func (m *Master) openAdmission() {
	m.admission.Each(func(_ string, p admission.Interface) {
		if wants, ok := p.(resourcequota.WantsObjects); ok {
			wants.SetObjects(m.Stores.Objects)
		}
	})
	if m.Second != nil {
		m.Second.Admission = m.admission
	}
	if chain := m.admission.Without(plugin.NameNamespaceExists).Without(plugin.NameNamespaceLifecycle); chain != nil {
		m.First.Admission = &v1beta1.Door{Chain: chain, Objects: m.Stores.Objects, Scheme: v1.Scheme}
	}
}
