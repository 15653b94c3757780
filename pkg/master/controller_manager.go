package master

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube2014/pkg/client/leaderelection"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/endpoint"
	"kube2014/pkg/controller/node"
	"kube2014/pkg/controller/replication"
	"kube2014/pkg/options"
	"kube2014/pkg/util/workqueue"
)

// makeControllerManager adds the controllers of the controller manager that the flags name. Of several managers, that acts
// which holds the lease.
func (p *Parts) makeControllerManager(c *clientv1.Client) {
	elected := p.election(c)
	around := func(name string) func(workqueue.Sync) workqueue.Sync {
		return func(work workqueue.Sync) workqueue.Sync { return work.Inside(p.tracer.Work(name)).Inside(elected) }
	}
	for _, row := range []controller{
		{options.EndpointController, func(c *clientv1.Client) func(context.Context, int) {
			return endpoint.NewEndpointController(endpoint.Config{Client: c, Informers: p.informers, Around: around("EndpointController")}).Run
		}},
		{options.NodeController, func(c *clientv1.Client) func(context.Context, int) {
			nodes := node.NewNodeController(node.Config{Client: c, Informers: p.informers, Recorder: p.recorder(c, "node-controller", ""),
				MonitorPeriod: p.o.Parts.NodeMonitorPeriod, MonitorGracePeriod: p.o.Parts.NodeMonitorGracePeriod, Around: elected})
			return func(ctx context.Context, _ int) { nodes.Run(ctx) }
		}},
		{options.ReplicationController, func(c *clientv1.Client) func(context.Context, int) {
			return replication.NewReplicationManager(replication.Config{Client: c, Informers: p.informers,
				Recorder: p.recorder(c, "replication-controller", ""), Around: around("ReplicationManager")}).Run
		}},
	} {
		if !p.o.Controllers.Runs(row.name) {
			continue
		}
		run := row.make(c)
		p.addLoop(func(ctx context.Context) { run(ctx, syncWorkers) })
	}
}

const (
	// The lease of the controller manager. It has another name than today's: both can run, with controllers of their own.
	leaseNamespace, leaseName = metav1.NamespaceSystem, "kube2014-controller-manager"
)

// election adds what acquires the lease, and returns what waits for it; nil without leader election.
func (p *Parts) election(c *clientv1.Client) func(workqueue.Sync) workqueue.Sync {
	o := p.o.Parts
	if !o.LeaderElect {
		return nil
	}
	host, _ := os.Hostname() // for people; the rest is unique
	elector := leaderelection.New(leaderelection.Config{
		Client: c, Recorder: p.recorder(c, "controller-manager", ""), Namespace: leaseNamespace, Name: leaseName,
		Identity: host + "_" + string(uuid.NewUUID()), LeaseDuration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod,
	})
	p.addLoop(elector.Run)
	return elector.Inside
}
