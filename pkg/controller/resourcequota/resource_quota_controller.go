// Package resourcequota counts what is used of quotas, as a client of the API, and writes it into their status. The
// admission plugin of quotas writes the status after each object that it lets in; the controller does after deletions,
// after changes of quotas, and after what the plugin could not finish.
package resourcequota

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
)

const (
	// resyncPeriod is how often all quotas are counted again.
	resyncPeriod = 5 * time.Minute
	// deletionPause is the pause from a deletion until its quotas are counted, changePause that from any other change:
	// few of those matter, as the plugin has counted new objects.
	deletionPause = 100 * time.Millisecond
	changePause   = time.Second
)

// ResourceQuotaController keeps the status of quotas. It counts what the server lists, and writes it only if the quota
// has not changed since. Its work can be interrupted at any moment and repeated, also by several controllers at once.
type ResourceQuotaController struct {
	*controller.Loop // over quotas
	quotas           *cache.SharedInformer[*corev1.ResourceQuota]
	monitors         *monitors
}

// NewResourceQuotaController returns a controller.
func NewResourceQuotaController(config controller.Config) *ResourceQuotaController {
	c := &ResourceQuotaController{}
	c.Loop = controller.NewLoop(config, "resource quota controller", c.sync)
	c.monitors = &monitors{controller: c, all: map[string]*monitor{}}
	c.quotas = controller.Own(c.Loop, config.Client.ResourceQuotas().Everywhere(), resyncPeriod)
	c.quotas.Store().AddIndex(cache.NamespaceIndex, cache.NamespaceOf)
	add := func(quota *corev1.ResourceQuota) { c.Queue.Add(cache.Key(quota)) }
	controller.Handle(c.Loop, c.quotas, cache.ResourceEventHandler[*corev1.ResourceQuota]{OnAdd: add, OnUpdate: func(old, quota *corev1.ResourceQuota) {
		isOwn := equality.Semantic.DeepEqual(quota.Spec, old.Spec) && equality.Semantic.DeepEqual(quota.Spec.Hard, quota.Status.Hard)
		if old == quota || !isOwn { // a change of what is used is that of the plugin, or its own
			add(quota)
		}
	}})
	return c
}

// Run works with a number of workers until the context ends. It is called once.
func (c *ResourceQuotaController) Run(ctx context.Context, workers int) {
	c.monitors.ctx = ctx
	go c.monitors.checkForever(ctx)
	c.Loop.Run(ctx, workers)
}

// sync counts what is used of a quota, and writes it into its status if that differs.
func (c *ResourceQuotaController) sync(ctx context.Context, key string) error {
	namespace, name, _ := strings.Cut(key, "/")
	client := c.Client.In(namespace)
	quota, err := client.ResourceQuotas().Get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	c.monitors.follow(quota)
	used, err := c.count(ctx, client, quota)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(quota.Status, corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: used}) {
		return nil
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: used}
	_, err = client.ResourceQuotas().UpdateStatus(ctx, quota)
	return c.Outrun(key, deletionPause, err) // after a conflict, something was created meanwhile
}
