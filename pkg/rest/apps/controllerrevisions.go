package apps

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var controllerrevisions = generic.Kind[*appsv1.ControllerRevision]{
	Row: rest.InNamespaces(group, "ControllerRevision", "controllerrevisions", printers.ControllerRevisions),
	Rules: func(c *check.Errors, now, old *appsv1.ControllerRevision) {
		c.Nonnegative(field.NewPath("revision"), now.Revision)
		at := field.NewPath("data")
		if old != nil {
			c.Immutable(at, now.Data, old.Data)
			return
		}
		var data any
		_ = json.Unmarshal(now.Data.Raw, &data) // it is a part of a valid document, or missing
		_, isObject := data.(map[string]any)
		c.RequiredIf(data == nil, at, "data is mandatory")
		c.RequiredIf(data != nil && !isObject, at, "data must be a valid JSON object")
	},
}
