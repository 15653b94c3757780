package resourcequota

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/quota"
)

// find returns a resource with objects in namespaces that the server has, and whether there is one.
func (c *ResourceQuotaController) find(wanted schema.GroupResource) (schema.GroupVersionResource, bool) {
	for _, r := range c.Resources() {
		if at := clientv1.ResourceOf(r); at.GroupResource() == wanted && r.Namespaced {
			return at, true
		}
	}
	return schema.GroupVersionResource{}, false
}

// count returns what is used of a quota. Of what the server does not have nothing is used; a count of a resource that it
// does not have is left out.
func (c *ResourceQuotaController) count(ctx context.Context, client *clientv1.Client, of *corev1.ResourceQuota) (corev1.ResourceList, error) {
	used := corev1.ResourceList{}
	counted := map[schema.GroupResource]bool{}
	for name := range of.Spec.Hard {
		resource := quota.ResourceOf(name)
		at, exists := c.find(resource)
		if !exists || quota.Ignores(resource) {
			if !strings.Contains(string(name), "/") {
				used[name] = zero()
			}
			continue
		}
		if counted[resource] {
			continue
		}
		counted[resource] = true
		for _, name := range quota.Names(of, resource) {
			used[name] = zero()
		}
		if err := addUsed(ctx, client, of, at, used); err != nil {
			return nil, err
		}
	}
	return used, nil
}

func zero() resource.Quantity { return *resource.NewQuantity(0, resource.DecimalSI) }

// addUsed adds what the objects of a resource use of a quota.
func addUsed(ctx context.Context, client *clientv1.Client, of *corev1.ResourceQuota, at schema.GroupVersionResource, used corev1.ResourceList) error {
	now, names := time.Now(), quota.Names(of, at.GroupResource())
	add := func(object runtime.Object) {
		if !quota.Covers(of, at.GroupResource(), object) {
			return
		}
		usage := quota.Usage(at.GroupResource(), object, now)
		for _, name := range names {
			sum := used[name].DeepCopy()
			sum.Add(usage[name])
			used[name] = sum
		}
	}
	switch at.GroupResource() {
	case corev1.Resource("pods"):
		return each(ctx, client.Pods().Resource, add)
	case corev1.Resource("services"):
		return each(ctx, client.Services(), add)
	case corev1.Resource("persistentvolumeclaims"):
		return each(ctx, client.PersistentVolumeClaims(), add)
	}
	return each(ctx, client.Metadata(at), add)
}

// each calls a function with all objects of a resource.
func each[T clientv1.Object](ctx context.Context, objects clientv1.Resource[T], do func(runtime.Object)) error {
	for object, err := range objects.All(ctx, metav1.ListOptions{}) {
		if err != nil {
			return err
		}
		do(object)
	}
	return nil
}
