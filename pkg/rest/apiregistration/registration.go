package apiregistration

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// automanaged is the label of the APIServices that a server creates. Its values are those of Managed.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// Managed tells when a server creates, restores and deletes the local APIServices of its versions.
type Managed string

// OnStart means once, when the server starts, for built-in kinds. Continuously is for those of CustomResourceDefinitions.
const (
	OnStart      Managed = "onstart"
	Continuously Managed = "true"
)

// Register creates the local APIServices of the catalogs' versions that are managed so, restores their specs, and deletes those
// of versions that are gone. It returns the version of the store that it has seen. It is safe to call on several servers at once.
func Register(ctx context.Context, services *Services, how Managed, catalogs rest.Catalogs) (seen uint64, err error) {
	known, err := services.Objects.List(storage.Selection{Kind: Kind})
	if err != nil {
		return 0, err
	}
	// The catalogs are read after the list, which may have what another server has created for a newer definition.
	missing := map[string]*apiregistrationv1.APIService{}
	for row := range catalogs.Rows() {
		if local := localService(row.GroupVersion); local.Labels[automanaged] == string(how) && row.GroupVersion.Group != apiregistrationv1.GroupName {
			missing[local.Name] = local
		}
	}
	var errs []error
	for _, item := range known.Items {
		name := item.Key().ID
		local := missing[name]
		delete(missing, name)
		if item.GetLabels()[automanaged] == string(how) {
			errs = append(errs, restore(ctx, services, item, local))
		}
	}
	for _, local := range missing {
		errs = append(errs, services.Ensure(ctx, local))
	}
	return known.Version, errors.Join(errs...)
}

// restore gives a stored APIService the spec of a local one, or deletes it if that is nil. If somebody else changes it meanwhile,
// it is left for the next time.
func restore(ctx context.Context, services *Services, item *storage.Object, local *apiregistrationv1.APIService) error {
	key := rest.Key{Name: item.Key().ID}
	stored, err := services.Decoded(item)
	if err != nil {
		return err
	}
	switch {
	case local == nil:
		uid := stored.UID
		_, err = services.Delete(ctx, key, rest.DeleteOptions{DeleteOptions: metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}})
	case !equality.Semantic.DeepEqual(stored.Spec, local.Spec):
		_, _, err = services.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
			current.(*apiregistrationv1.APIService).Spec = local.Spec
			return current, nil
		}, rest.AsServer())
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Keep registers continuously what a catalog has, whenever the catalog or an APIService changes. It returns nil when the context
// ends.
func Keep(ctx context.Context, services *Services, catalog *rest.Catalog) error {
	for ctx.Err() == nil {
		changed := catalog.Changed()
		seen, err := Register(ctx, services, Continuously, rest.Catalogs{catalog})
		if err != nil {
			return err
		}
		if err := wait(ctx, services, seen, changed); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// wait waits until a catalog or an APIService has changed.
func wait(ctx context.Context, services *Services, seen uint64, changed <-chan struct{}) error {
	watcher, err := services.Objects.Watch(storage.Selection{Kind: Kind}, seen)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	either, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-changed:
			cancel()
		case <-either.Done():
		}
	}()
	if _, err = watcher.Next(either); either.Err() != nil {
		return nil
	}
	return err
}

func localService(version schema.GroupVersion) *apiregistrationv1.APIService {
	p, isBuiltIn := PrioritiesOf(version)
	how := Continuously
	if isBuiltIn {
		how = OnStart
	}
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group, Labels: map[string]string{automanaged: string(how)}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: version.Group, Version: version.Version, GroupPriorityMinimum: p.Group, VersionPriority: p.Version},
	}
}
