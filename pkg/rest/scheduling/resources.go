// Package scheduling has the priorities of pods.
package scheduling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
	genericregistry "kube2014/pkg/rest/generic/registry"
)

var group = schedulingv1.SchemeGroupVersion

const (
	systemPrefix = "system-"
	// highest is the highest priority that users may define.
	highest = 1_000_000_000
)

// system has the classes that every server has, which alone may have the prefix and a higher priority.
var system = []schedulingv1.PriorityClass{
	{ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: 2*highest + 1000,
		Description: "Used for system critical pods that must not be moved from their current node."},
	{ObjectMeta: metav1.ObjectMeta{Name: "system-cluster-critical"}, Value: 2 * highest,
		Description: "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
}

// Resources returns the table of the group.
func Resources(b rest.Base) []rest.Resource {
	store, rows := priorityclasses.Build(b)
	rows[0] = rows[0].With(classes{store})
	return rows
}

// classes is the storage of priority classes. Those of every server go only with a collection.
type classes struct {
	*genericregistry.Store[*schedulingv1.PriorityClass]
}

// Delete implements rest.Deleter.
func (s classes) Delete(ctx context.Context, key rest.Key, options rest.DeleteOptions) (rest.Answer, error) {
	if slices.ContainsFunc(system, func(known schedulingv1.PriorityClass) bool { return known.Name == key.Name }) {
		return nil, apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), key.Name, errors.New("this is a system priority class and cannot be deleted"))
	}
	return s.Store.Delete(ctx, key, options)
}

// Bootstrap creates the classes that every server has. It is safe to run on several servers at once.
func Bootstrap(ctx context.Context, b rest.Base) error {
	store, _ := priorityclasses.Build(b)
	for i := range system {
		if err := store.Ensure(ctx, system[i].DeepCopy()); err != nil {
			return err
		}
	}
	return nil
}

var priorityclasses = generic.Resource[*schedulingv1.PriorityClass]{
	Row: rest.ClusterScoped(group, "PriorityClass", "priorityclasses", printers.PriorityClasses, "pc"),
	Prepare: func(now, old *schedulingv1.PriorityClass) {
		if old == nil {
			now.Generation = 1
		}
	},
	Default: func(class *schedulingv1.PriorityClass) {
		class.PreemptionPolicy = cmp.Or(class.PreemptionPolicy, new(corev1.PreemptLowerPriority))
	},
	Validate: func(c *check.Errors, now, old *schedulingv1.PriorityClass) {
		if old != nil {
			c.Forbid(now.Value != old.Value, field.NewPath("value"), "may not be changed in an update.")
			return
		}
		if strings.HasPrefix(now.Name, systemPrefix) {
			why := whyNotSystem(now)
			c.Forbid(why != "", field.NewPath("metadata", "name"), "priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+why)
		} else {
			c.Forbid(now.Value > highest, field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %v", highest))
		}
		check.RequireSupported(c, field.NewPath("preemptionPolicy"), *now.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	},
}

// whyNotSystem returns the reason for which a class is none of those of every server, "" if it is one.
func whyNotSystem(class *schedulingv1.PriorityClass) string {
	for _, known := range system {
		switch {
		case known.Name != class.Name:
		case known.Value != class.Value:
			return fmt.Sprintf("value of %v PriorityClass must be %v", known.Name, known.Value)
		case class.GlobalDefault:
			return fmt.Sprintf("globalDefault of %v PriorityClass must be false", known.Name)
		default:
			return ""
		}
	}
	return fmt.Sprintf("%v is not a known system priority class", class.Name)
}
