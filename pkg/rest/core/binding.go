package core

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

// bindings implements POST bindings, with the pod's name in the body.
type bindings struct {
	pods *genericregistry.Store[*corev1.Pod]
}

func (bindings) New() rest.Object { return &corev1.Binding{} }

func (b bindings) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	return podBinding(b).Create(ctx, rest.Key{Namespace: key.Namespace, Name: object.GetName()}, object, options)
}

// podBinding implements POST pods/NAME/binding, by which a scheduler assigns a pod to a node.
type podBinding struct {
	pods *genericregistry.Store[*corev1.Pod]
}

func (podBinding) New() rest.Object { return &corev1.Binding{} }

func (b podBinding) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	admitted, err := ofPod(key, object, "Binding", options)
	if err != nil {
		return nil, err
	}
	binding := admitted.(*corev1.Binding)
	errs := validation.ValidateBinding(binding)
	if name := binding.Target.Name; name != "" { // it becomes a part of keys
		for _, wrong := range apivalidation.NameIsDNSSubdomain(name, false) {
			errs = append(errs, field.Invalid(field.NewPath("target", "name"), name, wrong))
		}
	}
	if len(errs) > 0 {
		return nil, rest.Invalid(corev1.SchemeGroupVersion.WithKind("Binding").GroupKind(), key.Name, errs)
	}
	if err := options.Validate(binding, nil); err != nil {
		return nil, err
	}
	conflict := func(format string, args ...interface{}) error {
		return apierrors.NewConflict(corev1.Resource("pods/binding"), key.Name, fmt.Errorf(format, args...))
	}
	bind := func(current rest.Object) (rest.Object, error) {
		pod := current.(*corev1.Pod)
		switch {
		case binding.UID != "" && binding.UID != pod.UID:
			return nil, conflict("Precondition failed: UID in precondition: %v, UID in object meta: %v", binding.UID, pod.UID)
		case pod.DeletionTimestamp != nil:
			return nil, conflict("pod %s is being deleted, cannot be assigned to a host", pod.Name)
		case pod.Spec.NodeName != "":
			return nil, conflict("pod %v is already assigned to node %q", pod.Name, pod.Spec.NodeName)
		case len(pod.Spec.SchedulingGates) > 0:
			return nil, conflict("pod %v has non-empty .spec.schedulingGates", pod.Name)
		}
		pod.Spec.NodeName = binding.Target.Name
		if pod.Annotations == nil && len(binding.Annotations) > 0 {
			pod.Annotations = map[string]string{}
		}
		maps.Copy(pod.Annotations, binding.Annotations)
		setCondition(pod, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.Time{Time: b.pods.Now().UTC()}.Rfc3339Copy()})
		return pod, nil
	}
	unchecked := b.pods.With(genericregistry.Strategy[*corev1.Pod]{}) // only bind checks and changes the pod
	if _, _, err := unchecked.Update(ctx, key, bind, rest.WriteOptions{DryRun: options.DryRun}); err != nil {
		return nil, err
	}
	return rest.MakeAnswer(&metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// ofPod passes what a client wants to be done with a pod to the mutating plugins. It must name the pod.
func ofPod(key rest.Key, object rest.Object, kind string, options rest.WriteOptions) (rest.Object, error) {
	if err := rest.CheckNamespace(object, key.Namespace); err != nil {
		return nil, err
	}
	object.SetNamespace(key.Namespace)
	admitted, err := options.Mutate(object, nil)
	if err == nil && admitted.GetName() != key.Name {
		err = apierrors.NewBadRequest("name in URL does not match name in " + kind + " object")
	}
	return admitted, err
}

// setCondition sets a condition of a pod. The one of its type is replaced.
func setCondition(pod *corev1.Pod, condition corev1.PodCondition) {
	isSame := func(other corev1.PodCondition) bool { return other.Type == condition.Type }
	if i := slices.IndexFunc(pod.Status.Conditions, isSame); i >= 0 {
		pod.Status.Conditions[i] = condition
	} else {
		pod.Status.Conditions = append(pod.Status.Conditions, condition)
	}
}
