package plugin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"kube2014/pkg/admission"
)

type runtimeClass struct {
	scope
	*classes[*nodev1.RuntimeClass]
}

// NewRuntimeClass creates a plugin that gives new pods the overhead, the node selector and the tolerations of their
// runtime class, and refuses another overhead.
var NewRuntimeClass = WithoutConfiguration(func() admission.Interface {
	return &runtimeClass{on(onCreate, corev1.Resource("pods")),
		newClasses[*nodev1.RuntimeClass](nodev1.SchemeGroupVersion.WithKind("RuntimeClass"), "runtimeclasses")}
})

var errOverhead = errors.New("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")

// Admit implements admission.MutationInterface.
func (r *runtimeClass) Admit(_ context.Context, a *admission.Attributes) error {
	pod := PodIn(a)
	class, err := r.classOf(pod, a)
	if class == nil || err != nil {
		return err
	}
	if class.Overhead != nil {
		if len(pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
			return admission.Forbidden(a, errOverhead)
		}
		pod.Spec.Overhead = class.Overhead.DeepCopy().PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
		wanted := class.Scheduling.NodeSelector[key]
		if own, selects := pod.Spec.NodeSelector[key]; selects && own != wanted {
			return admission.Forbidden(a, fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, wanted, key, own))
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = wanted
	}
	pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, class.DeepCopy().Scheduling.Tolerations)
	return nil
}

// Validate implements admission.ValidationInterface.
func (r *runtimeClass) Validate(_ context.Context, a *admission.Attributes) error {
	pod := PodIn(a)
	class, err := r.classOf(pod, a)
	switch {
	case err != nil || pod == nil:
		return err
	case class == nil || class.Overhead == nil:
		if pod.Spec.Overhead != nil {
			return admission.Forbidden(a, errors.New("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
		}
	case !equality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead):
		return admission.Forbidden(a, errOverhead)
	}
	return nil
}

// classOf returns the class of a pod, nil if it names none.
func (r *runtimeClass) classOf(pod *corev1.Pod, a *admission.Attributes) (*nodev1.RuntimeClass, error) {
	if pod == nil || pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	class, err := r.get(*pod.Spec.RuntimeClassName)
	if class == nil && err == nil {
		err = admission.Forbidden(a, fmt.Errorf("pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName))
	}
	return class, err
}

// mergeTolerations joins two lists, without tolerations that another one includes. Of equal ones it keeps the first.
func mergeTolerations(first, second []corev1.Toleration) (merged []corev1.Toleration) {
	all := slices.Concat(first, second)
	for i, one := range all {
		isIncluded := slices.ContainsFunc(merged, func(other corev1.Toleration) bool { return includes(other, one) }) ||
			slices.ContainsFunc(all[i+1:], func(other corev1.Toleration) bool {
				return includes(other, one) && !equality.Semantic.DeepEqual(other, one)
			})
		if !isIncluded {
			merged = append(merged, one)
		}
	}
	return merged
}

// includes reports whether a toleration tolerates all that another one does.
func includes(t, other corev1.Toleration) bool {
	isForKey := t.Key == other.Key || t.Key == "" && t.Operator == corev1.TolerationOpExists
	isAsLong := t.Effect != corev1.TaintEffectNoExecute || t.TolerationSeconds == nil ||
		other.TolerationSeconds != nil && *other.TolerationSeconds <= *t.TolerationSeconds
	switch {
	case equality.Semantic.DeepEqual(t, other):
		return true
	case !isForKey || !isAsLong || t.Effect != "" && t.Effect != other.Effect:
		return false
	case t.Operator == corev1.TolerationOpEqual || t.Operator == "":
		return other.Operator == corev1.TolerationOpEqual && other.Value == t.Value
	}
	return t.Operator == corev1.TolerationOpExists
}
