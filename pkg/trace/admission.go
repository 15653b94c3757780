package trace

import (
	"strings"

	"kube2014/pkg/admission"
)

// Admission traces the calls of a chain's plugins.
func (t *Tracer) Admission(call admission.Call, next func() error) error {
	method := map[admission.Step]string{admission.Admit: "Admit", admission.Validate: "Validate"}[call.Step]
	a := call.Attributes
	what := strings.Trim(a.Resource.Resource+"/"+a.Name+"/"+a.Subresource, "/")
	return t.tell(call.Plugin+"."+method+"("+strings.ToLower(string(a.Operation))+" "+value(what)+")", next)
}
