package core

import (
	"context"
	stderrors "errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/printers"
	"kube2014/pkg/rest"
)

// namespaces implements the verbs of the only namespace: June 2014 had none. It is not stored, so changes are
// refused.
type namespaces struct{}

func namespaceRows() []rest.Resource {
	row := coreRow("Namespace", "namespaces", "namespace", "", printers.Namespaces, "ns")
	row.Namespaced = false
	return []rest.Resource{row.With(namespaces{})}
}

// created is the time of the first commit.
var created = time.Date(2014, 6, 6, 23, 40, 48, 0, time.UTC)

func theNamespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: v1.Namespace, UID: "6e616d65-7370-5163-a564-656661756c74", ResourceVersion: "1",
			CreationTimestamp: metav1.Time{Time: created}, Labels: map[string]string{corev1.LabelMetadataName: v1.Namespace}},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func (namespaces) Get(_ context.Context, key rest.Key) (rest.Answer, error) {
	if key.Name != v1.Namespace {
		return nil, errors.NewNotFound(corev1.Resource("namespaces"), key.Name)
	}
	return rest.MakeAnswer(theNamespace()), nil
}

func (namespaces) List(_ context.Context, _ string, options rest.ListOptions) (*rest.List, error) {
	objects, err := selected(options)
	if err != nil {
		return nil, err
	}
	return rest.MakeList(coreGroup.WithKind("Namespace"), 1, objects), nil
}

func (namespaces) Watch(_ context.Context, _ string, options rest.WatchOptions) (*rest.Watch, error) {
	objects, err := selected(options.ListOptions)
	if err != nil {
		return nil, err
	}
	empty := func() rest.Object { return &corev1.Namespace{TypeMeta: theNamespace().TypeMeta} }
	return rest.WatchMade(empty, 1, objects, options)
}

// selected returns the namespaces that a list selects.
func selected(options rest.ListOptions) ([]runtime.Object, error) {
	objects, only := []runtime.Object{}, theNamespace()
	known := fields.Set{"metadata.name": only.Name, "status.phase": string(only.Status.Phase)}
	if err := options.OnlyFields(known); err != nil {
		return nil, err
	}
	if options.Matches(only, known) {
		objects = append(objects, only)
	}
	return objects, nil
}

func (namespaces) New() rest.Object { return &corev1.Namespace{} }

func (namespaces) Create(_ context.Context, _ rest.Key, object rest.Object, _ rest.WriteOptions) (rest.Answer, error) {
	if object.GetName() == v1.Namespace {
		return nil, errors.NewAlreadyExists(corev1.Resource("namespaces"), object.GetName())
	}
	return nil, errors.NewForbidden(corev1.Resource("namespaces"), object.GetName(), stderrors.New("there were no namespaces in June 2014, so there is only default"))
}

func (n namespaces) Update(ctx context.Context, key rest.Key, _ rest.Change, _ rest.WriteOptions) (rest.Answer, bool, error) {
	if _, err := n.Get(ctx, key); err != nil {
		return nil, false, err
	}
	return nil, false, errors.NewForbidden(corev1.Resource("namespaces"), key.Name, stderrors.New("it is not stored, so it cannot be changed"))
}

func (n namespaces) Delete(ctx context.Context, key rest.Key, _ rest.DeleteOptions) (rest.Answer, error) {
	if _, err := n.Get(ctx, key); err != nil {
		return nil, err
	}
	return nil, errors.NewForbidden(corev1.Resource("namespaces"), key.Name, stderrors.New("this namespace may not be deleted"))
}
