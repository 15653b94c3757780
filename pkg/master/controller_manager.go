package master

import (
	"context"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/endpoint"
	"kube2014/pkg/controller/node"
	"kube2014/pkg/controller/replication"
	"kube2014/pkg/options"
)

// makeControllerManager adds the controllers of the controller manager that the flags name.
func (p *Parts) makeControllerManager(c *clientv1.Client) {
	for _, row := range []controller{
		{options.EndpointController, func(c *clientv1.Client) func(context.Context, int) {
			return endpoint.NewEndpointController(endpoint.Config{Client: c, Informers: p.informers, Around: p.tracer.Work("EndpointController")}).Run
		}},
		{options.NodeController, func(c *clientv1.Client) func(context.Context, int) {
			nodes := node.NewNodeController(node.Config{Client: c, Informers: p.informers, Recorder: p.recorder(c, "node-controller", ""),
				MonitorPeriod: p.o.Parts.NodeMonitorPeriod, MonitorGracePeriod: p.o.Parts.NodeMonitorGracePeriod})
			return func(ctx context.Context, _ int) { nodes.Run(ctx) }
		}},
		{options.ReplicationController, func(c *clientv1.Client) func(context.Context, int) {
			return replication.NewReplicationManager(replication.Config{Client: c, Informers: p.informers,
				Recorder: p.recorder(c, "replication-controller", ""), Around: p.tracer.Work("ReplicationManager")}).Run
		}},
	} {
		if !p.o.Controllers.Runs(row.name) {
			continue
		}
		run := row.make(c)
		p.addLoop(func(ctx context.Context) { run(ctx, syncWorkers) })
	}
}
