package networking

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

const (
	inCluster, inNamespace = networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace

	maxController = 250 // characters
)

var ingressClasses = generic.Kind[*networkingv1.IngressClass]{
	Row:     rest.ClusterScoped(group, "IngressClass", "ingressclasses", printers.IngressClasses),
	Counted: true,
	Default: func(class *networkingv1.IngressClass) {
		if p := class.Spec.Parameters; p != nil {
			p.Scope = cmp.Or(p.Scope, new(inCluster))
		}
	},
	Rules: func(c *check.Errors, now, old *networkingv1.IngressClass) {
		controller, at := now.Spec.Controller, field.NewPath("spec")
		if len(controller) > maxController {
			c.Add(field.TooLong(at.Child("controller"), "", maxController))
		}
		c.Add(utilvalidation.IsDomainPrefixedPath(at.Child("controller"), controller)...)
		if now.Spec.Parameters != nil {
			parameters(c, now.Spec.Parameters, at.Child("parameters"))
		}
	},
}

func parameters(c *check.Errors, p *networkingv1.IngressClassParametersReference, at *field.Path) {
	reference(c, &corev1.TypedLocalObjectReference{APIGroup: p.APIGroup, Kind: p.Kind, Name: p.Name}, at)
	switch scope := *p.Scope; {
	case !check.Supported(c, at.Child("scope"), scope, inCluster, inNamespace):
	case scope == inCluster:
		c.Forbid(p.Namespace != nil, at.Child("namespace"), "`parameters.scope` is set to 'Cluster'")
	case p.Namespace == nil:
		c.Add(field.Required(at.Child("namespace"), "`parameters.scope` is set to 'Namespace'"))
	default:
		c.Each(at.Child("namespace"), *p.Namespace, apivalidation.ValidateNamespaceName(*p.Namespace, false))
	}
}
