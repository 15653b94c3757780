package master

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/leaderelection"
	"kube2014/pkg/client/record"
	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/controller/cronjob"
	"kube2014/pkg/controller/deployment"
	"kube2014/pkg/controller/endpoint"
	"kube2014/pkg/controller/endpointslice"
	"kube2014/pkg/controller/job"
	"kube2014/pkg/controller/node"
	"kube2014/pkg/controller/replication"
	"kube2014/pkg/options"
	"kube2014/pkg/util/workqueue"
)

// tools are what a controller of the controller manager is made from: its Config, in the packages of most of them.
type tools struct {
	Client    *clientv1.Client
	Informers *informers.Informers
	Recorder  record.EventRecorder
	Around    func(workqueue.Sync) workqueue.Sync
}

// makeControllerManager adds the controllers of the controller manager that the flags name. Of several managers, that acts
// which holds the lease.
func (p *Parts) makeControllerManager(c *clientv1.Client) {
	elected := p.election(c)
	for _, row := range []struct {
		name, component, work string // in -controllers, in events, and in a trace
		make                  func(t tools) (run func(ctx context.Context, workers int))
	}{
		{options.CronJobController, "cronjob-controller", "CronJobController", func(t tools) func(context.Context, int) {
			return cronjob.NewCronJobController(cronjob.Config(t)).Run
		}},
		{options.DeploymentController, "deployment-controller", "DeploymentController", func(t tools) func(context.Context, int) {
			return deployment.NewDeploymentController(deployment.Config(t)).Run
		}},
		{options.EndpointController, "endpoint-controller", "EndpointController", func(t tools) func(context.Context, int) {
			return endpoint.NewEndpointController(endpoint.Config{Client: t.Client, Informers: t.Informers, Around: t.Around}).Run
		}},
		{options.EndpointSliceController, "endpoint-slice-controller", "EndpointSliceController", func(t tools) func(context.Context, int) {
			return endpointslice.NewEndpointSliceController(endpointslice.Config(t)).Run
		}},
		{options.JobController, "job-controller", "JobController", func(t tools) func(context.Context, int) {
			return job.NewJobController(job.Config(t)).Run
		}},
		{options.NodeController, "node-controller", "", func(t tools) func(context.Context, int) {
			nodes := node.NewNodeController(node.Config{Client: t.Client, Informers: t.Informers, Recorder: t.Recorder, Around: elected,
				MonitorPeriod: p.o.Parts.NodeMonitorPeriod, MonitorGracePeriod: p.o.Parts.NodeMonitorGracePeriod})
			return func(ctx context.Context, _ int) { nodes.Run(ctx) }
		}},
		{options.ReplicaSetController, "replicaset-controller", "ReplicaSetController", func(t tools) func(context.Context, int) {
			return replication.NewReplicaSetController(replication.Config(t)).Run
		}},
		{options.ReplicationController, "replication-controller", "ReplicationManager", func(t tools) func(context.Context, int) {
			return replication.NewReplicationManager(replication.Config(t)).Run
		}},
	} {
		if !p.o.Controllers.Runs(row.name) {
			continue
		}
		run := row.make(tools{c, p.informers, p.recorder(c, row.component, ""), func(work workqueue.Sync) workqueue.Sync {
			return work.Inside(p.tracer.Work(row.work)).Inside(elected)
		}})
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
