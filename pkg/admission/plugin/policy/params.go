package policy

import (
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin/matching"
	"kube2014/pkg/api"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
)

// params finds the parameters of policies. The zero value knows no kinds. It is safe for concurrent use.
type params struct {
	objects storage.Interface
	kinds   func() map[schema.GroupVersionKind]*rest.Resource
}

func newParams(objects storage.Interface, catalogs rest.Catalogs) params {
	return params{objects, rest.Derived(func(rows []*rest.Resource) map[schema.GroupVersionKind]*rest.Resource {
		kinds := map[schema.GroupVersionKind]*rest.Resource{}
		for _, row := range rows {
			if row.StoredKind != "" && !strings.Contains(row.Name, "/") {
				kinds[row.Kind] = row
			}
		}
		return kinds
	}, catalogs)}
}

// find returns the resource of a kind of parameters, nil for none. The error is in the words of today's server.
func (p params) find(kind *admissionregistrationv1.ParamKind) (*rest.Resource, error) {
	if kind == nil {
		return nil, nil
	}
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err == nil && p.kinds != nil {
		if row := p.kinds()[version.WithKind(kind.Kind)]; row != nil {
			return row, nil
		}
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", version.WithKind(kind.Kind))
}

// paramReader reads parameters for one request, which sees all writes that were acknowledged before its first read.
type paramReader struct {
	params
	fresh bool
}

func (r *paramReader) cached() (storage.Reader, error) {
	if !r.fresh {
		if _, err := r.objects.Version(); err != nil { // the cache catches up
			return nil, err
		}
		r.fresh = true
	}
	return r.objects.Cached(), nil
}

var none = []runtime.Object{nil}

// of returns the parameters of a binding, nil as the only one for none. If there are to be some and are none, the policy is passed over,
// unless the binding says that it is an error.
func (r *paramReader) of(kind *admissionregistrationv1.ParamKind, b *binding, a *admission.Attributes) (found []runtime.Object, err error) {
	if kind == nil || b.params == nil {
		return none, nil
	}
	row, err := r.find(kind)
	if err != nil {
		return nil, err
	}
	namespace := ""
	switch {
	case row.Namespaced && b.params.Namespace != "":
		namespace = b.params.Namespace
	case row.Namespaced:
		if namespace = matching.NamespaceOf(a); namespace == "" {
			return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
		}
	case b.params.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	stored, selector, err := r.stored(row.StoredKind, namespace, b.params)
	if err != nil {
		return nil, err
	}
	codec := row.Codec()
	for _, one := range stored {
		object, err := rest.StoredAnswer(codec, one).Object() // a webhook converts each once
		if err != nil {
			return nil, err
		}
		if selector.Matches(labels.Set(object.(rest.Object).GetLabels())) { // those of a stored service of 2014 are others
			found = append(found, object)
		}
	}
	if deny := b.params.ParameterNotFoundAction; len(found) == 0 && deny != nil && *deny == admissionregistrationv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}

// stored returns the objects of which a selector selects the parameters.
func (r *paramReader) stored(kind api.Kind, namespace string, by *admissionregistrationv1.ParamRef) ([]*storage.Object, labels.Selector, error) {
	cache, err := r.cached()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case by.Name != "" && by.Selector != nil:
		return nil, nil, errors.New("paramRef.name and paramRef.selector are mutually exclusive")
	case by.Name != "":
		one, err := cache.Get(api.Key{Kind: kind, Namespace: namespace, ID: by.Name})
		if api.KindOf(err) == api.NotFound {
			return nil, nil, nil
		}
		return []*storage.Object{one}, labels.Everything(), err
	case by.Selector == nil:
		return nil, nil, errors.New("one of name or selector must be provided")
	}
	selector, err := metav1.LabelSelectorAsSelector(by.Selector)
	if err != nil {
		return nil, nil, err
	}
	list, err := cache.List(storage.Selection{Kind: kind, Namespace: namespace})
	if err != nil {
		return nil, nil, err
	}
	return list.Items, selector, nil
}
