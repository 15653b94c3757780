package master

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	restflowcontrol "kube2014/pkg/rest/flowcontrol"
	"kube2014/pkg/server"
	"kube2014/pkg/server/flowcontrol"
)

// addFlowControl lets requests wait as the flow schemas and the priority levels in the store say, if a flag turns that on.
func (m *Master) addFlowControl(delegate *server.Delegate) {
	if !m.o.Generic.PriorityAndFairness {
		return
	}
	followed := restflowcontrol.NewFollowed(m.Stores.Objects)
	stored := m.observer().Cached(m.Stores.Objects)
	m.generic.FlowControl = flowcontrol.New(flowcontrol.Config{
		Seats: m.o.Generic.MaxReads + m.o.Generic.MaxChanges, Read: followed.Get, Mandatory: restflowcontrol.Mandatory(),
		Counts: func() map[schema.GroupResource]int {
			counts := map[schema.GroupResource]int{}
			for _, kind := range stored() {
				counts[schema.GroupResource{Group: kind.Group, Resource: kind.Resource}] = kind.Objects
			}
			return counts
		},
	})
	m.metrics.ReadFlows(m.generic.FlowControl.States)
	delegate.AddPostStartHook("priority-and-fairness-config-consumer", func(ctx context.Context) error { return untilDone(ctx, followed.Load) })
	delegate.AddLoop(m.generic.FlowControl.Run)
	if servesToday(m.o) {
		delegate.AddLoop(func(ctx context.Context) { restflowcontrol.TellDangling(ctx, m.base()) })
	}
}
