// Package conversion converts own resources between the versions of their CustomResourceDefinition.
package conversion

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/util/services"
)

// Converter converts the objects of one CustomResourceDefinition between its versions. It is safe for concurrent use.
type Converter struct {
	group    string
	versions map[string]bool
	hook     *hook // nil for strategy None
}

// New returns the converter of a CustomResourceDefinition, which must be valid and have its defaults. It keeps nothing of it.
// An error is of a CA bundle or a URL that cannot be used.
func New(crd *apiextensionsv1.CustomResourceDefinition, resolve services.Resolver) (*Converter, error) {
	c := &Converter{group: crd.Spec.Group, versions: map[string]bool{}}
	for i := range crd.Spec.Versions {
		c.versions[crd.Spec.Versions[i].Name] = true
	}
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy == apiextensionsv1.NoneConverter {
		return c, nil
	}
	if conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil {
		return nil, fmt.Errorf("unknown conversion strategy %q for CRD %s", conversion.Strategy, crd.Name)
	}
	var err error
	c.hook, err = newHook(conversion.Webhook, resolve)
	return c, err
}

// Convert returns the objects in a version of their group, in the same order. It does not change the given ones; objects that
// have that version already are returned as they are. A webhook is called once for all others together. It ends with its context.
//
// An error is an internal one (500), has no values of objects but their names, and is not remembered.
func (c *Converter) Convert(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	if !c.has(to) {
		return nil, fmt.Errorf("request to convert CR to an invalid group/version: %s", to)
	}
	converted := make([]*unstructured.Unstructured, len(objects))
	var others []*unstructured.Unstructured
	var places []int // of the others
	for i, object := range objects {
		from := object.GroupVersionKind().GroupVersion()
		switch {
		case !c.has(from):
			return nil, fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
		case from == to:
			converted[i] = object
		case c.hook == nil:
			converted[i] = object.DeepCopy()
			converted[i].SetAPIVersion(to.String())
		default:
			others, places = append(others, object), append(places, i)
		}
	}
	if len(others) == 0 {
		return converted, nil
	}
	answered, err := c.hook.convert(ctx, others, to)
	if err != nil {
		return nil, err
	}
	for i, place := range places {
		converted[place] = answered[i]
	}
	return converted, nil
}

func (c *Converter) has(version schema.GroupVersion) bool {
	return version.Group == c.group && c.versions[version.Version]
}
