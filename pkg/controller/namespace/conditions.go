package namespace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// condition is what a condition says, in the words of today's controller: when all is well, and otherwise.
type condition struct {
	kind                  corev1.NamespaceConditionType
	okReason, okMessage   string
	badReason, badMessage string
	items                 func(*remains) []string // what is wrong; nil for a condition that is always well
}

var conditions = []condition{
	{kind: corev1.NamespaceDeletionDiscoveryFailure, okReason: "ResourcesDiscovered", okMessage: "All resources successfully discovered",
		badReason: "DiscoveryFailed", badMessage: "Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: %s", items: func(left *remains) (all []string) {
			for _, version := range left.stale {
				all = append(all, fmt.Sprintf("%v: stale GroupVersion discovery: %[1]v", version))
			}
			return all
		}},
	{kind: corev1.NamespaceDeletionGVParsingFailure, okReason: "ParsedGroupVersions", okMessage: "All legacy kube types successfully parsed"},
	{kind: corev1.NamespaceDeletionContentFailure, okReason: "ContentDeleted", okMessage: "All content successfully deleted, may be waiting on finalization",
		badReason: "ContentDeletionFailed", badMessage: "Failed to delete all resource types, %d remaining: %s", items: func(left *remains) (errs []string) {
			for _, err := range left.errs {
				errs = append(errs, err.Error())
			}
			return errs
		}},
	{kind: corev1.NamespaceContentRemaining, okReason: "ContentRemoved", okMessage: "All content successfully removed",
		badReason: "SomeResourcesRemain", badMessage: "Some resources are remaining: %[2]s", items: func(left *remains) (all []string) {
			for resource, number := range left.objects {
				all = append(all, fmt.Sprintf("%s has %d resource instances", resource, number))
			}
			return all
		}},
	{kind: corev1.NamespaceFinalizersRemaining, okReason: "ContentHasNoFinalizers", okMessage: "All content-preserving finalizers finished",
		badReason: "SomeFinalizersRemain", badMessage: "Some content in the namespace has finalizers remaining: %[2]s", items: func(left *remains) (all []string) {
			for finalizer, number := range left.finalizers {
				all = append(all, fmt.Sprintf("%s in %d resource instances", finalizer, number))
			}
			return all
		}},
}

// setConditions sets the conditions of a namespace, and reports whether they have changed.
func setConditions(status *corev1.NamespaceStatus, left *remains, now time.Time) (changed bool) {
	for _, c := range conditions {
		next := corev1.NamespaceCondition{Type: c.kind, Status: corev1.ConditionFalse, Reason: c.okReason, Message: c.okMessage, LastTransitionTime: metav1.Time{Time: now}}
		if c.items != nil {
			if items := c.items(left); len(items) > 0 {
				slices.Sort(items)
				next.Status, next.Reason, next.Message = corev1.ConditionTrue, c.badReason, fmt.Sprintf(c.badMessage, len(items), strings.Join(items, ", "))
			}
		}
		i := slices.IndexFunc(status.Conditions, func(old corev1.NamespaceCondition) bool { return old.Type == c.kind })
		if i < 0 {
			status.Conditions, changed = append(status.Conditions, next), true
			continue
		}
		old := &status.Conditions[i]
		if old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		changed = changed || *old != next
		*old = next
	}
	return changed
}
