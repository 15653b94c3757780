package core

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/rest/policy"
	podutil "kube2014/pkg/util/pods"
)

// podEviction implements POST pods/NAME/eviction: a delete that budgets may refuse.
type podEviction struct {
	pods    *generic.Store[*corev1.Pod]
	budgets *policy.Budgets // nil for none
}

// newPodEviction returns the eviction of pods of a store. A pod that has time to end tells why it ends.
func newPodEviction(pods *generic.Store[*corev1.Pod], budgets *policy.Budgets) podEviction {
	evicted := *pods
	evicted.Mark = func(pod *corev1.Pod) {
		setCondition(pod, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI",
			Message: "Eviction API: evicting", LastTransitionTime: metav1.Time{Time: pods.Now().UTC()}.Rfc3339Copy()})
	}
	return podEviction{&evicted, budgets}
}

func (podEviction) New() rest.Object { return &policyv1.Eviction{} }

func (e podEviction) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	deletion, err := deletionOf(key, object, options)
	if err != nil {
		return nil, err
	}
	for again := true; again; {
		if again, err = e.evict(ctx, key, deletion); err != nil && !again {
			return nil, err
		}
		if err := rest.CheckTime(ctx); err != nil {
			return nil, err
		}
	}
	return rest.MakeAnswer(&metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: metav1.StatusSuccess, Code: http.StatusCreated}), nil
}

// deletionOf returns the options of the delete that an eviction asks for.
func deletionOf(key rest.Key, object rest.Object, options rest.WriteOptions) (deletion metav1.DeleteOptions, err error) {
	admitted, err := ofPod(key, object, "Eviction", options)
	if err != nil {
		return deletion, err
	}
	eviction := admitted.(*policyv1.Eviction)
	if eviction.DeleteOptions != nil {
		deletion = *eviction.DeleteOptions
	}
	at := field.NewPath("deleteOptions")
	errs := metav1validation.ValidateDeleteOptions(&deletion)
	if ignore := deletion.IgnoreStoreReadErrorWithClusterBreakingPotential; ignore != nil && *ignore {
		errs = field.ErrorList{field.Invalid(at.Child("ignoreStoreReadErrorWithClusterBreakingPotential"), true, "can not be set for pod eviction, try after removing the option")}
	}
	if len(errs) > 0 {
		return deletion, rest.Invalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), key.Name, errs)
	}
	if options.DryRun {
		deletion.DryRun = []string{metav1.DryRunAll}
	}
	return deletion, options.Validate(eviction, nil)
}

// evict deletes a pod that no budget guards. It reports whether the pod has changed meanwhile, so that it must be tried again.
func (e podEviction) evict(ctx context.Context, key rest.Key, deletion metav1.DeleteOptions) (again bool, err error) {
	pod, err := generic.ObjectIn[*corev1.Pod](e.pods.Get(ctx, key))
	if err != nil {
		return false, err
	}
	wanted := metav1.Preconditions{}
	if deletion.Preconditions != nil {
		wanted = *deletion.Preconditions
	}
	// The client names no version. The pod must not become ready, and count, before it is deleted.
	mayChange := wanted.ResourceVersion == nil && (wanted.UID == nil || *wanted.UID == pod.UID)
	var budget *policyv1.PodDisruptionBudget
	guarded := !podutil.HasEnded(pod) && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodPending
	if guarded {
		if budget, err = e.budgetOf(pod); err != nil {
			return false, err
		}
	}
	expendable := pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil
	switch {
	case budget == nil:
	case isExpendable(pod, budget):
		expendable = true
	default:
		if err := e.budgets.Take(ctx, rest.Key{Namespace: budget.Namespace, Name: budget.Name}, pod.Name, len(deletion.DryRun) > 0); err != nil {
			return false, err
		}
	}
	if expendable && mayChange {
		wanted.ResourceVersion = &pod.ResourceVersion
		deletion.Preconditions = &wanted
	}
	_, err = e.pods.Delete(ctx, key, rest.DeleteOptions{DeleteOptions: deletion})
	if !expendable || !mayChange || !apierrors.IsConflict(err) {
		return false, err
	}
	if budget != nil {
		return false, policy.TooEarly(budget.Name)
	}
	return true, err
}

// budgetOf returns the budget of a pod, nil for none.
func (e podEviction) budgetOf(pod *corev1.Pod) (*policyv1.PodDisruptionBudget, error) {
	if e.budgets == nil {
		return nil, nil
	}
	budgets, err := e.budgets.Of(pod)
	switch {
	case err != nil || len(budgets) == 0:
		return nil, err
	case len(budgets) > 1:
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}}
	}
	return budgets[0], nil
}

// isExpendable reports whether a budget does not guard a pod because it is not ready.
func isExpendable(pod *corev1.Pod, budget *policyv1.PodDisruptionBudget) bool {
	ready := podutil.Condition(pod.Status.Conditions, corev1.PodReady)
	if ready != nil && ready.Status == corev1.ConditionTrue {
		return false
	}
	unhealthy, status := budget.Spec.UnhealthyPodEvictionPolicy, &budget.Status
	return unhealthy != nil && *unhealthy == policyv1.AlwaysAllow || status.CurrentHealthy >= status.DesiredHealthy && status.DesiredHealthy > 0
}

// bindings implements POST bindings, with the pod's name in the body.
type bindings struct{ pods *generic.Store[*corev1.Pod] }

func (bindings) New() rest.Object { return &corev1.Binding{} }

func (b bindings) Create(ctx context.Context, key rest.Key, object rest.Object, options rest.WriteOptions) (rest.Answer, error) {
	return podBinding(b).Create(ctx, rest.Key{Namespace: key.Namespace, Name: object.GetName()}, object, options)
}

// podBinding implements POST pods/NAME/binding, by which a scheduler assigns a pod to a node.
type podBinding struct{ pods *generic.Store[*corev1.Pod] }

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
	unchecked := b.pods.With(generic.Strategy[*corev1.Pod]{}) // only bind checks and changes the pod
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
