package parts

import (
	"context"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kube2014/pkg/client/leaderelection"
	clientv1 "kube2014/pkg/client/v1"
	controllers "kube2014/pkg/controller"
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

// makeControllerManager adds the controllers of the controller manager that the flags name. Of several managers, that acts
// which holds the lease.
func (p *Parts) makeControllerManager(c *clientv1.Client) {
	elected := p.election(c)
	for _, row := range []struct {
		name, component, work string // in -controllers, in events, and in a trace
		make                  func(t controllers.Config) (run func(ctx context.Context, workers int))
	}{
		{options.CronJobController, "cronjob-controller", "CronJobController", func(t controllers.Config) func(context.Context, int) {
			return cronjob.NewCronJobController(t).Run
		}},
		{options.DeploymentController, "deployment-controller", "DeploymentController", func(t controllers.Config) func(context.Context, int) {
			return deployment.NewDeploymentController(t).Run
		}},
		{options.EndpointController, "endpoint-controller", "EndpointController", func(t controllers.Config) func(context.Context, int) {
			return endpoint.NewEndpointController(t).Run
		}},
		{options.EndpointSliceController, "endpoint-slice-controller", "EndpointSliceController", func(t controllers.Config) func(context.Context, int) {
			return endpointslice.NewEndpointSliceController(t).Run
		}},
		{options.JobController, "job-controller", "JobController", func(t controllers.Config) func(context.Context, int) {
			return job.NewJobController(t).Run
		}},
		{options.NodeController, "node-controller", "", func(t controllers.Config) func(context.Context, int) {
			nodes := node.NewNodeController(node.Config{Client: t.Client, Informers: t.Informers, Recorder: t.Recorder, Around: elected,
				MonitorPeriod: p.o.Parts.NodeMonitorPeriod, MonitorGracePeriod: p.o.Parts.NodeMonitorGracePeriod})
			return func(ctx context.Context, _ int) { nodes.Run(ctx) }
		}},
		{options.ReplicaSetController, "replicaset-controller", "ReplicaSetController", func(t controllers.Config) func(context.Context, int) {
			return replication.NewReplicaSetController(t).Run
		}},
		{options.ReplicationController, "replication-controller", "ReplicationManager", func(t controllers.Config) func(context.Context, int) {
			return replication.NewReplicationManager(t).Run
		}},
	} {
		if !p.o.Controllers.Runs(row.name) {
			continue
		}
		run := row.make(controllers.Config{Client: c, Informers: p.informers, Recorder: p.recorder(c, row.component, ""), Around: func(work workqueue.Sync) workqueue.Sync {
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
