// Package policy has the budgets of pods that may be disrupted.
package policy

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
)

var group = policyv1.SchemeGroupVersion

// Resources returns the table of the group, and the budgets, from which evictions take.
func Resources(b rest.Base) ([]rest.Resource, Budgets) {
	store, rows := poddisruptionbudgets.Build(b)
	return rows, Budgets{store}
}

var poddisruptionbudgets = generic.Resource[*policyv1.PodDisruptionBudget]{
	Row:           rest.InNamespaces(group, "PodDisruptionBudget", "poddisruptionbudgets", printers.PodDisruptionBudgets, "pdb"),
	HasGeneration: true,
	Name:          path.ValidatePathSegmentName,
	Validate: func(c *check.Errors, now, _ *policyv1.PodDisruptionBudget) {
		spec, at := &now.Spec, field.NewPath("spec")
		c.InvalidIf(spec.MinAvailable != nil && spec.MaxUnavailable != nil, at, spec, "minAvailable and maxUnavailable cannot be both set")
		c.Share(at.Child("minAvailable"), spec.MinAvailable)
		c.AtMostAll(at.Child("minAvailable"), spec.MinAvailable)
		c.Share(at.Child("maxUnavailable"), spec.MaxUnavailable)
		c.AtMostAll(at.Child("maxUnavailable"), spec.MaxUnavailable)
		c.Selector(at.Child("selector"), spec.Selector)
	},
	ValidateStatus: func(c *check.Errors, now, _ *policyv1.PodDisruptionBudget) {
		status, at := &now.Status, field.NewPath("status")
		c.Add(metav1validation.ValidateConditions(status.Conditions, at.Child("conditions"))...)
	},
}

const (
	// maxDisrupted bounds the disrupted pods that the controller of budgets has not seen yet.
	maxDisrupted = 2000
	// soon is the time in seconds after which that controller has probably seen a new budget.
	soon = 10
)

// Budgets is the storage of budgets. It is safe for concurrent use, also on several servers.
type Budgets struct {
	*genericregistry.Store[*policyv1.PodDisruptionBudget]
}

// Of returns the budgets that select a pod.
func (b Budgets) Of(pod *corev1.Pod) (all []*policyv1.PodDisruptionBudget, err error) {
	list, err := b.Objects.List(storage.Selection{Kind: poddisruptionbudgets.Row.StoredKind, Namespace: pod.Namespace})
	if err != nil {
		return nil, rest.StatusError(err, poddisruptionbudgets.Row.GroupResource(), "")
	}
	for _, item := range list.Items {
		budget, err := b.Decoded(item)
		if err != nil {
			return nil, err
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) { // an invalid selector selects nothing
			all = append(all, budget)
		}
	}
	return all, nil
}

// Take notes in a budget that a pod is disrupted. The error is a 429 if the budget does not allow it. Of concurrent calls
// only as many succeed as it allows: each one changes the version that it has read. A budget that is gone allows everything.
func (b Budgets) Take(ctx context.Context, key rest.Key, pod string, dryRun bool) error {
	unchecked := b.With(genericregistry.Strategy[*policyv1.PodDisruptionBudget]{}) // only take checks and changes the budget
	_, _, err := unchecked.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
		budget := current.(*policyv1.PodDisruptionBudget)
		return budget, take(budget, pod, metav1.Time{Time: b.Now().UTC()}.Rfc3339Copy())
	}, rest.WriteOptions{DryRun: dryRun})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// take changes the status of a budget that allows a disruption.
func take(budget *policyv1.PodDisruptionBudget, pod string, now metav1.Time) error {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return TooEarly(budget.Name)
	case status.DisruptionsAllowed < 0:
		return forbidden(budget.Name, "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisrupted:
		return forbidden(budget.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return refusal(0, why(budget))
	}
	status.DisruptionsAllowed--
	if status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse,
			Reason: policyv1.InsufficientPodsReason, ObservedGeneration: status.ObservedGeneration, LastTransitionTime: now})
	}
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[pod] = now
	return nil
}

// why returns the reason for which a budget allows no disruption.
func why(budget *policyv1.PodDisruptionBudget) string {
	status := &budget.Status
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	told := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	text := "The disruption budget " + budget.Name
	switch {
	case told && condition.Reason == policyv1.SyncFailedReason: // the numbers are not to be trusted
		return text + " does not allow evicting pods currently because it failed sync: " + condition.Message
	case status.CurrentHealthy <= status.DesiredHealthy:
		return text + fmt.Sprintf(" needs %d healthy pods and has %d currently", status.DesiredHealthy, status.CurrentHealthy)
	case told:
		return text + fmt.Sprintf(" does not allow evicting pods currently (%s): %s", condition.Reason, condition.Message)
	}
	return text + " does not allow evicting pods currently"
}

// TooEarly returns the error for a pod whose budget is not known yet, or not any more.
func TooEarly(budget string) error {
	return refusal(soon, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget))
}

func refusal(retryAfter int, cause string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: cause}}
	return err
}

func forbidden(name, text string) error {
	return apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), name, errors.New(text))
}
