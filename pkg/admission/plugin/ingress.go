package plugin

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"

	"kube2014/pkg/admission"
)

type defaultIngressClass struct {
	scope
	*classes[*networkingv1.IngressClass]
}

// NewDefaultIngressClass creates a plugin that gives new ingresses without a class the one that is marked as default.
var NewDefaultIngressClass = WithoutConfiguration(func() admission.Interface {
	return &defaultIngressClass{on(onCreate, networkingv1.Resource("ingresses")),
		newClasses[*networkingv1.IngressClass](networkingv1.SchemeGroupVersion.WithKind("IngressClass"), "ingressclasses")}
})

// ingressClassAnnotation named the class of an ingress before there was a field.
const ingressClassAnnotation = "kubernetes.io/ingress.class"

// Admit implements admission.MutationInterface.
func (d *defaultIngressClass) Admit(_ context.Context, a *admission.Attributes) error {
	ingress, isIngress := a.Object.(*networkingv1.Ingress)
	if !isIngress || ingress.Spec.IngressClassName != nil {
		return nil
	}
	if _, named := ingress.Annotations[ingressClassAnnotation]; named {
		return nil
	}
	class, err := d.marked(networkingv1.AnnotationIsDefaultIngressClass)
	if class != nil {
		ingress.Spec.IngressClassName = new(class.Name)
	}
	return err
}
