package core

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/rest"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/rest/policy"
	podutil "kube2014/pkg/util/pods"
)

// podEviction implements POST pods/NAME/eviction: a delete that budgets may refuse.
type podEviction struct {
	pods    *genericregistry.Store[*corev1.Pod]
	budgets *policy.Budgets // nil for none
}

// newPodEviction returns the eviction of pods of a store. A pod that has time to end tells why it ends.
func newPodEviction(pods *genericregistry.Store[*corev1.Pod], budgets *policy.Budgets) podEviction {
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
	pod, err := genericregistry.ObjectIn[*corev1.Pod](e.pods.Get(ctx, key))
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
