// Package apps has the kinds that make pods of templates.
package apps

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = appsv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(controllerrevisions.Rows(b), daemonsets.Rows(b), deployments.Rows(b), replicasets.Rows(b), statefulsets.Rows(b))
}

var controllerrevisions = generic.Kind[*appsv1.ControllerRevision]{
	Row: rest.InNamespaces(group, "ControllerRevision", "controllerrevisions", printers.ControllerRevisions),
	Rules: func(c *check.Errors, now, _ *appsv1.ControllerRevision) {
		var data map[string]any
		c.RequiredIf(json.Unmarshal(now.Data.Raw, &data) != nil, field.NewPath("data"), "data must be a valid JSON object")
	},
}

var (
	specPath, statusPath = field.NewPath("spec"), field.NewPath("status")
	templatePath         = specPath.Child("template")
	selectorPath         = specPath.Child("selector")
)

// selected checks a selector, and the template of the pods that it must select. The error about an empty selector names
// the kind.
func selected(c *check.Errors, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, kind string) {
	c.RequiredIf(selector == nil, selectorPath, "")
	notEmpty(c, selector, kind)
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
		c.Add(field.Invalid(selectorPath, selector, "invalid label selector"))
		return
	}
	matching(c, selector, template)
	validation.PodTemplate(c, template, templatePath)
}

func notEmpty(c *check.Errors, selector *metav1.LabelSelector, kind string) {
	if selector != nil {
		c.Selector(selectorPath, selector)
		c.InvalidIf(len(selector.MatchLabels)+len(selector.MatchExpressions) == 0, selectorPath, selector, "empty selector is invalid for "+kind)
	}
}

// matching requires that a valid selector selects the pods of a template.
func matching(c *check.Errors, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec) {
	valid, err := metav1.LabelSelectorAsSelector(selector)
	c.InvalidIf(err == nil && !valid.Empty() && !valid.Matches(labels.Set(template.Labels)), templatePath.Child("metadata", "labels"), template.Labels,
		"`selector` does not match template `labels`")
}

// running requires that the pods of a template run until they are deleted.
func running(c *check.Errors, spec *corev1.PodSpec, kind string) {
	at := templatePath.Child("spec")
	check.Supported(c, at.Child("restartPolicy"), spec.RestartPolicy, corev1.RestartPolicyAlways)
	c.Forbid(spec.ActiveDeadlineSeconds != nil, at.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported")
}

// count is a number of a status.
type count struct {
	name  string
	value int32
}

// replicas checks the numbers of a status: those of parts are at most that of all.
func replicas(c *check.Errors, all int32, parts ...count) {
	for _, part := range parts {
		c.InvalidIf(part.value > all, statusPath.Child(part.name), part.value, "cannot be greater than status.replicas")
	}
}

// line returns a selector as the subresource scale shows it.
func line(selector *metav1.LabelSelector) string {
	valid, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return ""
	}
	return valid.String()
}
