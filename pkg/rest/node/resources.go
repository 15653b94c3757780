// Package node has the classes of runtimes.
package node

import (
	nodev1 "k8s.io/api/node/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/api/v1/validation/podspec"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = nodev1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource { return runtimeclasses.Rows(b) }

var runtimeclasses = generic.Resource[*nodev1.RuntimeClass]{
	Row:                 rest.ClusterScoped(group, "RuntimeClass", "runtimeclasses", printers.RuntimeClasses),
	AllowCreateOnUpdate: true,
	Validate: func(c *check.Errors, now, old *nodev1.RuntimeClass) {
		if old != nil {
			return
		}
		c.RequireLabel(field.NewPath("handler"), now.Handler)
		if now.Overhead != nil {
			for _, name := range check.SortedKeys(now.Overhead.PodFixed) {
				at := field.NewPath("overhead", "limits").Key(string(name))
				c.ContainerResource(at, name)
				c.Quantity(name, now.Overhead.PodFixed[name], at)
			}
		}
		if now.Scheduling != nil {
			at := field.NewPath("scheduling")
			c.Add(metavalidation.ValidateLabels(now.Scheduling.NodeSelector, at.Child("nodeSelector"))...)
			podspec.Tolerations(c, now.Scheduling.Tolerations, at.Child("tolerations"))
		}
	},
}
