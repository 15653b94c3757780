// Package flowcontrol has which requests are served first. The server follows it where priority and fairness is on.
package flowcontrol

import (
	"cmp"
	"slices"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
	"kube2014/pkg/rest/generic"
	"kube2014/pkg/server/flowcontrol"
)

var group = flowcontrolv1.SchemeGroupVersion

// Resources returns the table of the group.
func Resources(b generic.Base) []rest.Resource {
	return slices.Concat(flows.Rows(b), levels.Rows(b))
}

// Their rules compare objects with the built-in ones, which are stored as these kinds.
var (
	flows = generic.Kind[*flowcontrolv1.FlowSchema]{
		Row:     rest.ClusterScoped(group, "FlowSchema", "flowschemas", printers.FlowSchemas),
		Counted: true,
		Default: func(o *flowcontrolv1.FlowSchema) {
			o.Spec.MatchingPrecedence = cmp.Or(o.Spec.MatchingPrecedence, 1000)
		},
		Rules:         flowRules,
		PrepareStatus: func(now, old *flowcontrolv1.FlowSchema) { metav1.ResetObjectMetaForStatus(now, old) },
		StatusResets:  fieldmanager.Fields{"metadata"},
	}

	levels = generic.Kind[*flowcontrolv1.PriorityLevelConfiguration]{
		Row:           rest.ClusterScoped(group, "PriorityLevelConfiguration", "prioritylevelconfigurations", printers.PriorityLevels),
		Counted:       true,
		Default:       defaultLevel,
		Rules:         levelRules,
		PrepareStatus: func(now, old *flowcontrolv1.PriorityLevelConfiguration) { metav1.ResetObjectMetaForStatus(now, old) },
		StatusResets:  fieldmanager.Fields{"metadata"},
	}
)

func defaultLevel(o *flowcontrolv1.PriorityLevelConfiguration) {
	if exempt := o.Spec.Exempt; exempt != nil {
		exempt.NominalConcurrencyShares = cmp.Or(exempt.NominalConcurrencyShares, new(int32(0)))
		exempt.LendablePercent = cmp.Or(exempt.LendablePercent, new(int32(0)))
	}
	if limited := o.Spec.Limited; limited != nil {
		limited.NominalConcurrencyShares = cmp.Or(limited.NominalConcurrencyShares, new(int32(flowcontrol.DefaultShares)))
		limited.LendablePercent = cmp.Or(limited.LendablePercent, new(int32(0)))
		if q := limited.LimitResponse.Queuing; q != nil {
			q.Queues, q.HandSize, q.QueueLengthLimit = cmp.Or(q.Queues, 64), cmp.Or(q.HandSize, 8), cmp.Or(q.QueueLengthLimit, 50)
		}
	}
}
