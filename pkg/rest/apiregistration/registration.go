package apiregistration

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/rest"
)

// automanaged is the label of the APIServices that a server creates: onstart for built-in kinds, and true for those of
// CustomResourceDefinitions, which go with them.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// Register creates the local APIServices of versions, and deletes those of versions that are gone. It is safe to call on
// several servers at once.
func Register(ctx context.Context, services *Services, versions []schema.GroupVersion) error {
	list, err := services.List(ctx, "", rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()})
	if err != nil {
		return err
	}
	missing := map[string]*apiregistrationv1.APIService{}
	for _, version := range versions {
		if version.Group != apiregistrationv1.GroupName {
			local := localService(version)
			missing[local.Name] = local
		}
	}
	var errs []error
	for _, item := range list.Items {
		name := item.Key().ID
		if missing[name] == nil && item.GetLabels()[automanaged] == "true" {
			if _, err := services.Delete(ctx, rest.Key{Name: name}, rest.DeleteOptions{}); !apierrors.IsNotFound(err) {
				errs = append(errs, err)
			}
		}
		delete(missing, name)
	}
	for _, local := range missing {
		errs = append(errs, services.Ensure(ctx, local))
	}
	return errors.Join(errs...)
}

func localService(version schema.GroupVersion) *apiregistrationv1.APIService {
	p, isBuiltIn := priorityOf(version)
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: version.Version + "." + version.Group, Labels: map[string]string{automanaged: map[bool]string{true: "onstart", false: "true"}[isBuiltIn]}},
		Spec:       apiregistrationv1.APIServiceSpec{Group: version.Group, Version: version.Version, GroupPriorityMinimum: p.group, VersionPriority: p.version},
	}
}
