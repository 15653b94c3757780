package kubernetesservice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"kube2014/pkg/api"
	"kube2014/pkg/controller/endpointslice"
	"kube2014/pkg/rest"
)

// serverManager is the label managed-by of the server's slices, except the one that has the name of its service: there are
// others only if servers have several ports. Today's server has that one alone, without the label.
const serverManager = "apiserver.kube2014"

// serverSlices keeps the slices of the service of the server, also while no controller runs.
type serverSlices struct{ rest.Resource }

// sync writes what the endpoints of the server say.
func (s serverSlices) sync(endpoints rest.Answer) error {
	object, err := endpoints.Object()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, slice := range endpointslice.SlicesOf(object.(*corev1.Endpoints)) {
		if wanted[slice.Name] = true; slice.Name != api.ServerService {
			slice.Labels[discoveryv1.LabelManagedBy] = serverManager
		}
		if err := s.write(slice); err != nil {
			return err
		}
	}
	return s.deleteOthers(wanted)
}

// write creates or updates a slice. Another server may be as fast.
func (s serverSlices) write(slice *discoveryv1.EndpointSlice) error {
	key, ctx := rest.Key{Namespace: slice.Namespace, Name: slice.Name}, context.Background()
	_, _, err := s.Storage.(rest.Updater).Update(ctx, key, func(current rest.Object) (rest.Object, error) {
		next := current.(*discoveryv1.EndpointSlice)
		next.Labels, next.Ports, next.Endpoints = slice.Labels, slice.Ports, slice.Endpoints
		return next, nil
	}, rest.AsServer())
	if apierrors.IsNotFound(err) {
		_, err = s.Storage.(rest.Creater).Create(ctx, key, slice, rest.WriteOptions{})
	}
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return err
}

func (s serverSlices) deleteOthers(wanted map[string]bool) error {
	ctx, ours := context.Background(), labels.Set{discoveryv1.LabelServiceName: api.ServerService, discoveryv1.LabelManagedBy: serverManager}
	list, err := s.Storage.(rest.Lister).List(ctx, serverKey.Namespace, rest.ListOptions{Labels: ours.AsSelector(), Fields: fields.Everything()})
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		if name := item.Key().ID; !wanted[name] {
			_, err := s.Storage.(rest.Deleter).Delete(ctx, rest.Key{Namespace: serverKey.Namespace, Name: name}, rest.DeleteOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}
