package registry

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kube2014/pkg/api/v1/validation"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/fieldmanager"
)

// ScaledBy tells how objects are scaled.
type ScaledBy[T rest.Object] struct {
	// Paths are those of the wanted replicas by version. Nil means spec.replicas, in the only one.
	Paths managedfields.ResourcePathMappings
	Get   func(T) (wanted, current int32, selector string)
	Set   func(object T, wanted int32)
	// Missing returns an error for an object whose scale cannot be read. It may be nil.
	Missing func(T) error
}

// scale implements GET, PUT and PATCH of NAME/scale, through which clients scale any kind.
type scale[T rest.Object] struct {
	store    *Store[T]
	of       ScaledBy[T]
	managers *fieldmanager.Manager // of scales
}

var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// ScaleRow returns the row of the subresource scale of a kind.
func ScaleRow[T rest.Object](row rest.Resource, store *Store[T], of ScaledBy[T]) rest.Resource {
	scales := row.Subresource("scale", nil)
	scales.Kind, scales.Printer, scales.Untyped = scaleKind, printers.Scales, rest.Untyped{}
	if of.Paths == nil {
		of.Paths = managedfields.ResourcePathMappings{row.GroupVersion.String(): fieldpath.MakePathOrDie("spec", "replicas")}
	}
	scales.Storage = scale[T]{store, of, fieldmanager.New(scales, "scale", nil, nil)}
	return scales
}

func (s scale[T]) Get(ctx context.Context, key rest.Key) (rest.Answer, error) {
	answer, err := s.store.Get(ctx, key)
	if s.of.Missing != nil {
		object, err := ObjectIn[T](answer, err)
		if err != nil {
			return nil, err
		}
		if err := s.of.Missing(object); err != nil {
			return nil, err
		}
	}
	return s.answer(answer, err)
}

func (scale[T]) New() rest.Object { return &autoscalingv1.Scale{} }

func (s scale[T]) Update(ctx context.Context, key rest.Key, change rest.Change, options rest.WriteOptions) (rest.Answer, bool, error) {
	answer, _, err := s.store.Update(ctx, key, func(current rest.Object) (rest.Object, error) {
		object := current.(T)
		s.store.managers.Complete(object)
		managed := managedfields.NewScaleHandler(object.GetManagedFields(), s.store.row.Kind.GroupVersion(), s.of.Paths)
		before := s.scaleOf(object)
		entries, err := managed.ToSubresource()
		if err != nil {
			return nil, err
		}
		before.ManagedFields = append([]metav1.ManagedFieldsEntry{}, entries...)
		changed, err := change(before.DeepCopy())
		if err != nil {
			return nil, err
		}
		if options.Manager != nil {
			if err := s.managers.Update(before, changed, *options.Manager); err != nil {
				return nil, rest.Invalid(scaleKind.GroupKind(), key.Name, field.ErrorList{err})
			}
		}
		if changed, err = mutate(changed, before, options); err != nil {
			return nil, err
		}
		after := changed.(*autoscalingv1.Scale)
		if errs := validation.ValidateScaleUpdate(after, s.scaleOf(object)); len(errs) > 0 {
			return nil, rest.Invalid(scaleKind.GroupKind(), key.Name, errs)
		}
		if err := options.Validate(after, s.scaleOf(object)); err != nil {
			return nil, err
		}
		if after.ResourceVersion != "" {
			object.SetResourceVersion(after.ResourceVersion)
		}
		object.SetUID(after.UID)
		s.of.Set(object, after.Spec.Replicas)
		if entries, err = managed.ToParent(after.ManagedFields); err != nil {
			return nil, err
		}
		object.SetManagedFields(append([]metav1.ManagedFieldsEntry{}, entries...))
		return object, nil
	}, rest.WriteOptions{DryRun: options.DryRun, Warn: options.Warn})
	answer, err = s.answer(answer, err)
	return answer, false, err
}

// Apply implements rest.Applier.
func (s scale[T]) Apply(current rest.Object, configuration *unstructured.Unstructured, manager string, force bool) (rest.Object, error) {
	return s.managers.Apply(current, configuration, manager, force)
}

// answer returns the scale of the object in an answer.
func (s scale[T]) answer(answer rest.Answer, err error) (rest.Answer, error) {
	object, err := ObjectIn[T](answer, err)
	if err != nil {
		return nil, err
	}
	return rest.MakeAnswer(s.scaleOf(object)), nil
}

func (s scale[T]) scaleOf(object T) *autoscalingv1.Scale {
	wanted, current, selector := s.of.Get(object)
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: scaleKind.Kind, APIVersion: scaleKind.GroupVersion().String()},
		ObjectMeta: metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(),
			ResourceVersion: object.GetResourceVersion(), CreationTimestamp: object.GetCreationTimestamp()},
		Spec:   autoscalingv1.ScaleSpec{Replicas: wanted},
		Status: autoscalingv1.ScaleStatus{Replicas: current, Selector: selector},
	}
}

// ObjectIn returns the object in an answer, which is read-only.
func ObjectIn[T rest.Object](answer rest.Answer, err error) (object T, _ error) {
	if err != nil {
		return object, err
	}
	converted, err := answer.Object()
	if err != nil {
		return object, err
	}
	return converted.(T), nil
}
