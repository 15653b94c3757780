package plugin

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	"kube2014/pkg/admission"
)

type priority struct {
	scope
	*classes[*schedulingv1.PriorityClass]
}

// NewPriority creates a plugin that sets the priority of pods by their classes, and keeps a second class from being the
// default.
var NewPriority = WithoutConfiguration(func() admission.Interface {
	return &priority{on(admission.Writes, corev1.Resource("pods"), schedulingv1.Resource("priorityclasses")),
		newClasses[*schedulingv1.PriorityClass](schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"), "priorityclasses")}
})

// Admit implements admission.MutationInterface. An update may leave out what a new pod got.
func (p *priority) Admit(_ context.Context, a *admission.Attributes) error {
	pod := PodIn(a)
	if pod == nil {
		return nil
	}
	spec := &pod.Spec
	if old, isUpdate := a.OldObject.(*corev1.Pod); isUpdate {
		spec.Priority = cmp.Or(spec.Priority, old.Spec.Priority)
		spec.PreemptionPolicy = cmp.Or(spec.PreemptionPolicy, old.Spec.PreemptionPolicy)
		return nil
	}
	class, err := p.classOf(spec, a)
	if err != nil {
		return err
	}
	if spec.Priority != nil && *spec.Priority != class.Value {
		return admission.Forbidden(a, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *spec.Priority, class.Value))
	}
	spec.PriorityClassName, spec.Priority = class.Name, new(class.Value)
	policy := class.PreemptionPolicy
	if policy == nil {
		return nil
	}
	if spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != *policy {
		return admission.Forbidden(a, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *spec.PreemptionPolicy, *policy))
	}
	spec.PreemptionPolicy = new(*policy)
	return nil
}

// withoutClass is the class of pods that name none, unless a class is the default.
var withoutClass = &schedulingv1.PriorityClass{PreemptionPolicy: new(corev1.PreemptLowerPriority)}

func (p *priority) classOf(spec *corev1.PodSpec, a *admission.Attributes) (*schedulingv1.PriorityClass, error) {
	if spec.PriorityClassName == "" {
		class, err := p.globalDefault()
		return cmp.Or(class, withoutClass), err
	}
	class, err := p.get(spec.PriorityClassName)
	if class == nil && err == nil {
		err = admission.Forbidden(a, fmt.Errorf("no PriorityClass with name %s was found", spec.PriorityClassName))
	}
	return class, err
}

// globalDefault returns the class of pods that name none, nil if there is none. If a race has made several, it is the
// lowest.
func (p *priority) globalDefault() (lowest *schedulingv1.PriorityClass, err error) {
	all, err := p.all()
	for _, class := range all {
		if class.GlobalDefault && (lowest == nil || class.Value < lowest.Value) {
			lowest = class
		}
	}
	return lowest, err
}

// Validate implements admission.ValidationInterface.
func (p *priority) Validate(_ context.Context, a *admission.Attributes) error {
	class, isClass := a.Object.(*schedulingv1.PriorityClass)
	if !isClass || !class.GlobalDefault {
		return nil
	}
	other, err := p.globalDefault()
	if err != nil || other == nil || a.Operation == admission.Update && other.Name == class.Name {
		return err
	}
	return admission.Forbidden(a, fmt.Errorf("PriorityClass %s is already marked as default. Only one default can exist", other.Name))
}
