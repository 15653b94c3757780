package parts

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	accountissuer "kube2014/pkg/auth/authenticator/serviceaccount"
	clientv1 "kube2014/pkg/client/v1"
	controllers "kube2014/pkg/controller"
	"kube2014/pkg/controller/clusterroleaggregation"
	"kube2014/pkg/controller/endpointslice"
	"kube2014/pkg/controller/garbagecollector"
	"kube2014/pkg/controller/namespace"
	"kube2014/pkg/controller/resourcequota"
	"kube2014/pkg/controller/serviceaccount"
	"kube2014/pkg/controller/validatingadmissionpolicystatus"
	"kube2014/pkg/controller/volumeprotection"
	"kube2014/pkg/options"
	"kube2014/pkg/rest"
	genericoptions "kube2014/pkg/server/options"
)

// controller is a row of a table of controllers: its name in -controllers, and what makes it.
type controller struct {
	name string
	make func(c *clientv1.Client) (run func(ctx context.Context, workers int))
}

// AddControllers adds the controllers of the server. Others returns the resources of other servers, nil if there are none. The error names a flag.
func (p *Parts) AddControllers(catalogs rest.Catalogs, others func() ([]metav1.APIResource, []schema.GroupVersion)) error {
	o := &p.o.Controllers
	certificate, err := o.RootCA(&p.o.SecureServing)
	if err != nil {
		return err
	}
	resources, issuer := rest.Derived(rest.Deletable, catalogs), p.o.Authentication.Issuer
	for _, c := range []controller{
		{options.ClusterRoleAggregation, func(c *clientv1.Client) func(context.Context, int) {
			return clusterroleaggregation.NewClusterRoleAggregationController(controllers.Config{Client: c, Around: p.tracer.Work("ClusterRoleAggregationController")}).Run
		}},
		{options.EndpointSliceMirroring, func(c *clientv1.Client) func(context.Context, int) {
			return endpointslice.NewMirroringController(controllers.Config{Client: c, Informers: p.informers, Around: p.tracer.Work("MirroringController")}).Run
		}},
		{options.GarbageCollector, func(c *clientv1.Client) func(context.Context, int) {
			return garbagecollector.NewGarbageCollector(controllers.Config{Client: c, Resources: resources, Others: others,
				Recorder: p.recorder(c, options.GarbageCollector, ""), Around: p.tracer.Work("GarbageCollector")}).Run
		}},
		{options.NamespaceController, func(c *clientv1.Client) func(context.Context, int) {
			return namespace.NewNamespaceController(namespace.Config{Client: c, Informers: p.informers, Resources: resources, Others: others, Grace: o.NamespaceGrace, Around: p.tracer.Work("NamespaceController")}).Run
		}},
		{options.VolumeProtection, func(c *clientv1.Client) func(context.Context, int) {
			return volumeprotection.NewVolumeController(controllers.Config{Client: c, Around: p.tracer.Work("VolumeController")}).Run
		}},
		{options.ClaimProtection, func(c *clientv1.Client) func(context.Context, int) {
			return volumeprotection.NewClaimController(controllers.Config{Client: c, Around: p.tracer.Work("ClaimController")}).Run
		}},
		{options.ClassProtection, func(c *clientv1.Client) func(context.Context, int) {
			return volumeprotection.NewClassController(controllers.Config{Client: c, Around: p.tracer.Work("ClassController")}).Run
		}},
		{options.QuotaController, func(c *clientv1.Client) func(context.Context, int) {
			return resourcequota.NewResourceQuotaController(controllers.Config{Client: c, Resources: resources, Around: p.tracer.Work("ResourceQuotaController")}).Run
		}},
		{options.ServiceAccountController, func(c *clientv1.Client) func(context.Context, int) {
			return serviceaccount.NewServiceAccountsController(controllers.Config{Client: c, Informers: p.informers, Around: p.tracer.Work("ServiceAccountsController")}).Run
		}},
		{options.RootCAPublisher, func(c *clientv1.Client) func(context.Context, int) {
			return serviceaccount.NewRootCAPublisher(controllers.Config{Client: c, Informers: p.informers, Around: p.tracer.Work("RootCAPublisher")}, certificate).Run
		}},
		{options.TokensController, func(c *clientv1.Client) func(context.Context, int) {
			return serviceaccount.NewTokensController(controllers.Config{Client: c, Informers: p.informers, Around: p.tracer.Work("TokensController")}, signer(issuer), certificate).Run
		}},
		{options.PolicyStatus, func(c *clientv1.Client) func(context.Context, int) {
			return validatingadmissionpolicystatus.NewStatusController(controllers.Config{Client: c, Resources: rest.Derived(rest.APIResources, catalogs),
				Around: p.tracer.Work("StatusController")}).Run
		}},
	} {
		if !o.Runs(c.name) || c.name == options.TokensController && issuer == nil || c.name == options.ClusterRoleAggregation && !p.o.Authorization.Has(genericoptions.RBAC) {
			continue
		}
		client, err := p.client(c.name)
		if err != nil {
			return err
		}
		run := c.make(client)
		p.addLoop(func(ctx context.Context) { run(ctx, syncWorkers) })
	}
	return nil
}

func signer(issuer *accountissuer.Issuer) serviceaccount.Signer {
	return func(namespace, account string, uid types.UID, secret string) (string, error) {
		return issuer.IssueForSecret(accountissuer.Bound{Namespace: namespace, ServiceAccount: accountissuer.Ref{Name: account, UID: string(uid)}, Secret: &accountissuer.Ref{Name: secret}})
	}
}
