package networking

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

// classAnnotation is how ingresses named their class before they had a field for it.
const classAnnotation = "kubernetes.io/ingress.class"

var ingresses = generic.Resource[*networkingv1.Ingress]{
	Row:           rest.InNamespaces(group, "Ingress", "ingresses", printers.Ingresses, "ing"),
	HasGeneration: true,
	Validate: func(c *check.Errors, now, old *networkingv1.Ingress) {
		spec, at := &now.Spec, field.NewPath("spec")
		c.InvalidIf(len(spec.Rules) == 0 && spec.DefaultBackend == nil, at, spec.Rules, "either `defaultBackend` or `rules` must be specified")
		if spec.DefaultBackend != nil {
			backend(c, spec.DefaultBackend, at.Child("defaultBackend"))
		}
		for i := range spec.Rules {
			ingressRule(c, &spec.Rules[i], at.Child("rules").Index(i))
		}
		for i, tls := range spec.TLS {
			at := at.Child("tls").Index(i)
			for j, name := range tls.Hosts {
				host(c, at.Child("hosts").Index(j), name)
			}
			c.OptionalName(at.Child("secretName"), tls.SecretName)
		}
		class := spec.IngressClassName
		if class != nil {
			c.Name(at.Child("ingressClassName"), *class)
		}
		annotation, annotated := now.Annotations[classAnnotation]
		c.InvalidIf(old == nil && class != nil && annotated && annotation != *class, field.NewPath("annotations").Child(classAnnotation), annotation,
			"must match `ingressClassName` when both are specified")
	},
}

// host requires a DNS subdomain, which may begin with a wildcard.
func host(c *check.Errors, at *field.Path, name string) {
	if strings.Contains(name, "*") {
		c.Each(at, name, utilvalidation.IsWildcardDNS1123Subdomain(name))
	} else {
		c.Subdomain(at, name)
	}
}

func ingressRule(c *check.Errors, rule *networkingv1.IngressRule, at *field.Path) {
	if rule.Host != "" {
		_, err := netip.ParseAddr(rule.Host)
		c.InvalidIf(err == nil, at.Child("host"), rule.Host, "must be a DNS name, not an IP address")
		host(c, at.Child("host"), rule.Host)
	}
	if rule.HTTP == nil {
		return
	}
	at = at.Child("http", "paths")
	c.Some(at, len(rule.HTTP.Paths), "")
	for i := range rule.HTTP.Paths {
		ingressPath(c, &rule.HTTP.Paths[i], at.Index(i))
	}
}

func ingressPath(c *check.Errors, p *networkingv1.HTTPIngressPath, at *field.Path) {
	if p.PathType == nil {
		c.Add(field.Required(at.Child("pathType"), "pathType must be specified"))
		return
	}
	text, whole := p.Path, strings.HasPrefix(p.Path, "/")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		c.InvalidIf(!whole, at.Child("path"), text, "must be an absolute path")
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			c.InvalidIf(strings.Contains(text, part), at.Child("path"), text, fmt.Sprintf("must not contain '%s'", part))
		}
		for _, end := range []string{"/..", "/."} {
			c.InvalidIf(strings.HasSuffix(text, end), at.Child("path"), text, fmt.Sprintf("cannot end with '%s'", end))
		}
	case networkingv1.PathTypeImplementationSpecific:
		c.InvalidIf(text != "" && !whole, at.Child("path"), text, "must be an absolute path")
	}
	backend(c, &p.Backend, at.Child("backend"))
}

// backend requires a service with a port, or another object.
func backend(c *check.Errors, b *networkingv1.IngressBackend, at *field.Path) {
	switch {
	case b.Resource != nil && b.Service != nil:
		c.Add(field.Invalid(at, "", "cannot set both resource and service backends"))
	case b.Resource != nil:
		reference(c, b.Resource, at.Child("resource"))
	case b.Service != nil:
		at, name, port := at, b.Service.Name, b.Service.Port
		if c.Require(at.Child("service", "name"), name) {
			c.Each(at.Child("service", "name"), name, apivalidation.NameIsDNSLabel(name, false))
		}
		switch {
		case port.Name != "" && port.Number != 0:
			c.Add(field.Invalid(at, "", "cannot set both port name & port number"))
		case port.Name != "":
			c.Each(at.Child("service", "port", "name"), port.Name, utilvalidation.IsValidPortName(port.Name))
		case port.Number != 0:
			c.PortNumber(at.Child("service", "port", "number"), port.Number)
		default:
			c.Add(field.Required(at, "port name or number is required"))
		}
	default:
		c.Add(field.Invalid(at, "", "resource or service backend is required"))
	}
}

// reference requires the kind and the name of an object.
func reference(c *check.Errors, to *corev1.TypedLocalObjectReference, at *field.Path) {
	if to.APIGroup != nil {
		c.Subdomain(at.Child("apiGroup"), *to.APIGroup)
	}
	segment := func(name, value string) {
		if c.Require(at.Child(name), value) {
			c.Each(at.Child(name), value, path.IsValidPathSegmentName(value))
		}
	}
	segment("kind", to.Kind)
	segment("name", to.Name)
}

const (
	inCluster, inNamespace = networkingv1.IngressClassParametersReferenceScopeCluster, networkingv1.IngressClassParametersReferenceScopeNamespace

	maxController = 250 // characters
)

var ingressClasses = generic.Resource[*networkingv1.IngressClass]{
	Row:           rest.ClusterScoped(group, "IngressClass", "ingressclasses", printers.IngressClasses),
	HasGeneration: true,
	Default: func(class *networkingv1.IngressClass) {
		if p := class.Spec.Parameters; p != nil {
			p.Scope = cmp.Or(p.Scope, new(inCluster))
		}
	},
	Validate: func(c *check.Errors, now, old *networkingv1.IngressClass) {
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
