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
	Rules: func(c *check.Errors, now, _ *appsv1.ControllerRevision) {
		var data map[string]any
		c.RequiredIf(json.Unmarshal(now.Data.Raw, &data) != nil, field.NewPath("data"), "data must be a valid JSON object")
	},
}
