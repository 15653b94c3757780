package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clientv1 "kube2014/pkg/client/v1"
)

// remains is what is left in a namespace after an attempt to delete everything.
type remains struct {
	objects    map[string]int // by RESOURCE.GROUP
	finalizers map[string]int // the objects that have one
	errs       []error
	stale      []schema.GroupVersion // may have more
}

func (r *remains) isEmpty() bool { return len(r.objects) == 0 && len(r.errs) == 0 && len(r.stale) == 0 }

// deleteAll deletes all objects in a namespace: the pods first, as they may use the others until they have ended.
func (n *NamespaceController) deleteAll(ctx context.Context, namespace string) *remains {
	left := &remains{objects: map[string]int{}, finalizers: map[string]int{}}
	resources := n.Resources()
	if n.Others != nil {
		var others []metav1.APIResource
		others, left.stale = n.Others()
		resources = slices.Concat(resources, slices.DeleteFunc(others, func(r metav1.APIResource) bool {
			return slices.Contains(left.stale, schema.GroupVersion{Group: r.Group, Version: r.Version})
		}))
	}
	for _, pods := range []bool{true, false} {
		for _, resource := range resources {
			if isPods := resource.Group == "" && resource.Name == "pods"; resource.Namespaced && isPods == pods {
				if err := n.deleteIn(ctx, namespace, resource, left); err != nil {
					left.errs = append(left.errs, err)
				}
			}
		}
		if len(left.objects) > 0 {
			break
		}
	}
	return left
}

// deleteIn deletes the objects of a resource in a namespace, and adds those that are left.
func (n *NamespaceController) deleteIn(ctx context.Context, namespace string, resource metav1.APIResource, left *remains) error {
	at := clientv1.ResourceOf(resource)
	objects := n.Client.In(namespace).Metadata(at)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err == nil && len(list.Items) > 0 {
		if err := deleteEach(ctx, objects, resource, list.Items); err != nil {
			return err
		}
		list, err = objects.List(ctx, metav1.ListOptions{})
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // the resource has been removed meanwhile
		return nil
	case err != nil:
		return err
	case len(list.Items) == 0:
		return nil
	}
	left.objects[resource.Name+"."+resource.Group] += len(list.Items)
	isHeld := false
	for _, object := range list.Items {
		for _, finalizer := range object.GetFinalizers() {
			left.finalizers[finalizer]++
		}
		isHeld = isHeld || object.GetDeletionTimestamp() != nil
	}
	if !isHeld {
		return fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", namespace, at)
	}
	return nil
}

// deleteEach deletes objects. Those that depend on them are collected in the background.
func deleteEach(ctx context.Context, objects clientv1.Resource[*metav1.PartialObjectMetadata], resource metav1.APIResource, items []*metav1.PartialObjectMetadata) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if slices.Contains(resource.Verbs, "deletecollection") {
		if err := objects.DeleteCollection(ctx, options, metav1.ListOptions{}); !apierrors.IsMethodNotSupported(err) {
			return err
		}
	}
	var errs []error
	for _, item := range items {
		if err := objects.Delete(ctx, item.Name, options); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
