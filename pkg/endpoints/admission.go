package endpoints

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/rest"
	"kube2014/pkg/server/request"
)

// admit makes a change with the admission plugins, and reports the outcome to them.
func (r *call) admit(operation admission.Operation, dryRun bool, options runtime.Object, change func(rest.Admission) error) error {
	if r.server.Admission == nil {
		return change(nil)
	}
	begun := r.server.Admission.Begin(r.Context(), admission.Attributes{
		Operation: operation, Kind: r.resource.Kind,
		Resource:    schema.GroupVersionResource{Group: r.info.APIGroup, Version: r.info.APIVersion, Resource: r.info.Resource},
		Subresource: r.info.Subresource, Namespace: r.info.Namespace, Name: r.info.Name,
		User: request.UserFrom(r.Context()), DryRun: dryRun, Options: options,
	})
	begun.Warn = r.warn
	begun.Annotate = request.ObserverFrom(r.Context()).Annotate
	err := change(begun)
	begun.End(err)
	return err
}
