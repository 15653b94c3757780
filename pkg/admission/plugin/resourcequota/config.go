package resourcequota

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// limit is the limit of a quota for the number of objects of a resource.
type limit struct {
	quota, resource string // the names in the quota
	hard            int64
	at              *field.Path // in the configuration
}

// limitsIn returns the lowest limit of each resource in ResourceQuota objects.
func limitsIn(configuration json.RawMessage) (map[schema.GroupResource]limit, error) {
	objects, err := admission.ObjectsIn[corev1.ResourceQuota](configuration, corev1.SchemeGroupVersion.WithKind("ResourceQuota"))
	if err != nil {
		return nil, err
	}
	limits := map[schema.GroupResource]limit{}
	for _, configured := range objects {
		if err := check(configured.Path, &configured.Object); err != nil {
			return nil, err
		}
		quota := configured.Object
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			resource, at := counted(string(name)), configured.Path.Child("spec", "hard").Key(string(name))
			value := quota.Spec.Hard[name]
			hard, isInteger := value.AsInt64()
			switch lowest, there := limits[resource]; {
			case !isInteger || hard < 0:
				return nil, fmt.Errorf("%s: is no integer of at least 0", at)
			case !there || hard < lowest.hard:
				limits[resource] = limit{quota.Name, string(name), hard, at}
			}
		}
	}
	return limits, nil
}

// counted returns the resource of a name in a quota: count/RESOURCE.GROUP, or RESOURCE of the core
// group.
func counted(name string) schema.GroupResource {
	if resource, ok := strings.CutPrefix(name, "count/"); ok {
		return schema.ParseGroupResource(resource)
	}
	return corev1.Resource(name)
}

// check returns an error if a quota has a field that is not supported.
func check(path *field.Path, quota *corev1.ResourceQuota) error {
	switch {
	case quota.Name == "":
		return fmt.Errorf("%s: is missing", path.Child("metadata", "name"))
	case quota.Namespace != "" && quota.Namespace != corev1.NamespaceDefault:
		return fmt.Errorf("%s: there is only the namespace default", path.Child("metadata", "namespace"))
	case len(quota.Spec.Scopes) > 0:
		return fmt.Errorf("%s: all objects are counted", path.Child("spec", "scopes"))
	case quota.Spec.ScopeSelector != nil:
		return fmt.Errorf("%s: all objects are counted", path.Child("spec", "scopeSelector"))
	}
	return nil
}

// countable returns the resources whose objects can be counted: those in a namespace, except endpoints, which
// the server creates itself, without admission.
func countable(catalogs rest.Catalogs) map[schema.GroupResource]api.Kind {
	kinds := map[schema.GroupResource]api.Kind{}
	for row := range catalogs.Rows() {
		if row.Namespaced && row.Stored != "" && row.Stored != api.EndpointsKind {
			kinds[row.GroupResource()] = row.Stored
		}
	}
	return kinds
}
