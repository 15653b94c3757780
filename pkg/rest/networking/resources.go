// Package networking gives services their addresses and node ports, and serves the resources of the group
// networking.k8s.io that show them.
package networking

import (
	"context"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/api/v1/validation/check"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/generic"
)

var group = networkingv1.SchemeGroupVersion

var addressRow = rest.ClusterScoped(group, "IPAddress", string(addressKind), printers.IPAddresses, "ip")

var cidrs = generic.Kind[*networkingv1.ServiceCIDR]{
	Row: rest.ClusterScoped(group, "ServiceCIDR", "servicecidrs", printers.ServiceCIDRs),
	Rules: func(c *check.Errors, now, old *networkingv1.ServiceCIDR) {
		all := now.Spec.CIDRs
		changed := old != nil && (len(all) != 1 || all[0] != old.Spec.CIDRs[0])
		c.InvalidIf(changed, field.NewPath("spec", "cidrs").Index(0), all[:min(1, len(all))], "field is immutable")
	},
}

// readOnly has the verbs of objects that only the server writes.
type readOnly struct {
	rest.Getter
	rest.Lister
	rest.Watcher
}

// blocks is the storage of blocks of addresses. There is one, that of the server's ranges: clients cannot create or delete
// them.
type blocks struct {
	readOnly
	rest.Updater
}

// Resources returns the table.
func Resources(b generic.Base) []rest.Resource {
	addresses := generic.NewStore(b, addressRow, generic.Strategy[*networkingv1.IPAddress]{})
	store, rows := cidrs.Build(b)
	rows[0] = cidrs.Row.With(blocks{readOnly{store, store, store}, store})
	return slices.Concat(ingresses.Rows(b), ingressClasses.Rows(b), networkPolicies.Rows(b), rows, []rest.Resource{addressRow.With(readOnly{addresses, addresses, addresses})})
}

// Bootstrap creates the block of the server's ranges, unless there is one. It is safe to run on several servers at once.
func Bootstrap(ctx context.Context, b generic.Base, ranges Ranges) error {
	block := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{ranges.ClusterIPs.String()}}}
	meta.SetStatusCondition(&block.Status.Conditions, metav1.Condition{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes default Service CIDR is ready", LastTransitionTime: metav1.Time{Time: b.Now().UTC()}})
	store, _ := cidrs.Build(b)
	return store.With(generic.Strategy[*networkingv1.ServiceCIDR]{}).Ensure(ctx, block) // with its status
}
