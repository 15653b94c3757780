package clients

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// clientOf is what client-go's typed clients have in common.
type clientOf[T, L any] interface {
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
	DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	Get(context.Context, string, metav1.GetOptions) (T, error)
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
}

// services can delete collections, which the typed client cannot.
type services struct {
	typedv1.ServiceInterface
	all dynamicClient
}

func (s services) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	return s.all.DeleteCollection(ctx, options, list)
}

// dynamicClient is a dynamic client with the methods of typed ones.
type dynamicClient struct{ client dynamic.ResourceInterface }

func (d dynamicClient) Create(ctx context.Context, object *unstructured.Unstructured, options metav1.CreateOptions) (*unstructured.Unstructured, error) {
	return d.client.Create(ctx, object, options)
}

func (d dynamicClient) Update(ctx context.Context, object *unstructured.Unstructured, options metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return d.client.Update(ctx, object, options)
}

func (d dynamicClient) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return d.client.Delete(ctx, name, options)
}

func (d dynamicClient) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	return d.client.DeleteCollection(ctx, options, list)
}

func (d dynamicClient) Get(ctx context.Context, name string, options metav1.GetOptions) (*unstructured.Unstructured, error) {
	return d.client.Get(ctx, name, options)
}

func (d dynamicClient) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return d.client.List(ctx, options)
}

func (d dynamicClient) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return d.client.Watch(ctx, options)
}

func (d dynamicClient) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	return d.client.Patch(ctx, name, kind, data, options, subresources...)
}

// label says of which kind a test is that made an object.
const label = "of"

// template is the part of an object that a kind needs.
func template(kind string) map[string]any {
	containers := []any{map[string]any{"name": "c", "image": "nginx"}}
	return map[string]any{
		"Pod":     map[string]any{"spec": map[string]any{"containers": containers}},
		"Service": map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}},
		"ReplicationController": map[string]any{"spec": map[string]any{
			"selector": map[string]any{"app": "web"},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{"containers": containers}},
		}},
		"Node":      map[string]any{},
		"Event":     map[string]any{"involvedObject": map[string]any{"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Tested"},
		"Endpoints": map[string]any{"subsets": []any{map[string]any{"addresses": []any{map[string]any{"ip": "10.1.2.3"}}, "ports": []any{map[string]any{"port": int64(80)}}}}},
	}[kind].(map[string]any)
}

// makeObject makes an object of a kind for a typed or a dynamic client. No other kind has such
// a name or such a label.
func makeObject[T metav1.Object](t *testing.T, kind, name string, object T) T {
	content := template(kind)
	content["apiVersion"], content["kind"] = "v1", kind
	if u, isDynamic := any(object).(*unstructured.Unstructured); isDynamic {
		u.Object = content
	} else {
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, object))
	}
	object.SetName(name)
	object.SetLabels(map[string]string{label: kind})
	return object
}

// event is what a watch tells of an object: its version only if an answer told it too.
type event struct{ kind, name, version string }

func eventOf(kind watch.EventType, object metav1.Object) event {
	e := event{string(kind), object.GetName(), object.GetResourceVersion()}
	if kind == watch.Deleted {
		e.version = ""
	}
	return e
}

// next reads an event.
func next(t *testing.T, w watch.Interface) (got watch.Event) {
	t.Helper()
	open := false
	select {
	case got, open = <-w.ResultChan():
	case <-time.After(hangs):
	}
	require.True(t, open, "the watch has ended, or tells nothing")
	return got
}

// take reads so many events. That an object is about to be deleted, as today's server says of
// each pod, is left out.
func take(t *testing.T, w watch.Interface, n int) (events []event) {
	for len(events) < n {
		got := next(t, w)
		object, isObject := got.Object.(metav1.Object)
		require.True(t, isObject, "%s %v", got.Type, got.Object)
		if got.Type == watch.Deleted || object.GetDeletionTimestamp() == nil {
			events = append(events, eventOf(got.Type, object))
		}
	}
	return events
}

// refusalOf watches from a version, and returns what the server says against it: instead of
// a stream, or in it.
func refusalOf(t *testing.T, pods typedv1.PodInterface, version string) error {
	w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	got := next(t, w)
	require.Equal(t, watch.Error, got.Type)
	return apierrors.FromObject(got.Object)
}

// itemsOf returns the names in a list, with their versions.
func itemsOf(t *testing.T, list any) map[string]string {
	items := map[string]string{}
	require.NoError(t, meta.EachListItem(list.(runtime.Object), func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		items[object.GetName()] = object.GetResourceVersion()
		return err
	}))
	return items
}

// checkLife makes, changes and deletes objects of a kind in all ways that clients know, and
// watches them meanwhile.
func checkLife[T metav1.Object, L metav1.ListInterface](t *testing.T, client clientOf[T, L], kind string, empty func() T) {
	ctx, one, part := t.Context(), strings.ToLower(kind)+"-one", strings.ToLower(kind)+"-part-"
	ours := metav1.ListOptions{LabelSelector: label + "=" + kind}
	before, err := client.List(ctx, ours)
	require.NoError(t, err)
	assert.Empty(t, itemsOf(t, before))
	watched := ours
	watched.ResourceVersion = before.GetResourceVersion()
	w, err := client.Watch(ctx, watched)
	require.NoError(t, err)
	defer w.Stop()
	var happened []event

	created, err := client.Create(ctx, makeObject(t, kind, one, empty()), metav1.CreateOptions{})
	require.NoError(t, err)
	happened = append(happened, eventOf(watch.Added, created))
	assert.NotEmpty(t, created.GetUID())
	assert.NotZero(t, created.GetCreationTimestamp())
	got, err := client.Get(ctx, one, metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, created, got)

	_, err = client.Create(ctx, makeObject(t, kind, one, empty()), metav1.CreateOptions{})
	assert.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	if kind != "Event" { // their labels are not looked at
		invalid := makeObject(t, kind, "two", empty())
		invalid.SetLabels(map[string]string{label: "no value"})
		_, err = client.Create(ctx, invalid, metav1.CreateOptions{})
		assert.True(t, apierrors.IsInvalid(err), "%v", err)
		assert.True(t, apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid), "%v", err)
	}
	_, err = client.Get(ctx, "nobody", metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	assert.True(t, apierrors.IsNotFound(client.Delete(ctx, "nobody", metav1.DeleteOptions{})))
	other := types.UID("other")
	err = client.Delete(ctx, one, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}})
	assert.True(t, apierrors.IsConflict(err), "%v", err)

	stale, err := client.Get(ctx, one, metav1.GetOptions{})
	require.NoError(t, err)
	fresh, err := client.Get(ctx, one, metav1.GetOptions{})
	require.NoError(t, err)
	fresh.SetAnnotations(map[string]string{"by": "update"})
	updated, err := client.Update(ctx, fresh, metav1.UpdateOptions{})
	require.NoError(t, err)
	happened = append(happened, eventOf(watch.Modified, updated))
	assert.Equal(t, created.GetUID(), updated.GetUID())
	assert.NotEqual(t, created.GetResourceVersion(), updated.GetResourceVersion())
	stale.SetAnnotations(map[string]string{"by": "somebody late"})
	_, err = client.Update(ctx, stale, metav1.UpdateOptions{})
	assert.True(t, apierrors.IsConflict(err), "%v", err)

	for _, patch := range []struct {
		kind   types.PatchType
		text   string
		labels map[string]string
	}{
		{types.MergePatchType, `{"metadata": {"labels": {"a": "b", "c": "d"}}}`, map[string]string{label: kind, "a": "b", "c": "d"}},
		{types.StrategicMergePatchType, `{"metadata": {"labels": {"$patch": "replace", "of": "` + kind + `", "e": "f"}}}`, map[string]string{label: kind, "e": "f"}},
		{types.JSONPatchType, `[{"op": "test", "path": "/metadata/labels/e", "value": "f"}, {"op": "add", "path": "/metadata/labels/e", "value": "g"}]`, map[string]string{label: kind, "e": "g"}},
	} {
		patched, err := client.Patch(ctx, one, patch.kind, []byte(patch.text), metav1.PatchOptions{})
		require.NoError(t, err)
		assert.Equal(t, patch.labels, patched.GetLabels())
		happened = append(happened, eventOf(watch.Modified, patched))
	}
	_, err = client.Patch(ctx, one, types.JSONPatchType, []byte(`[{"op": "test", "path": "/metadata/labels/e", "value": "f"}]`), metav1.PatchOptions{})
	assert.True(t, apierrors.IsInvalid(err), "%v", err)

	for i := range 3 {
		object := makeObject(t, kind, fmt.Sprint(part, i), empty())
		object.SetLabels(map[string]string{label: kind, "part": fmt.Sprint(i)})
		added, err := client.Create(ctx, object, metav1.CreateOptions{})
		require.NoError(t, err)
		happened = append(happened, eventOf(watch.Added, added))
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + kind + ",part in (0, 2)"})
	require.NoError(t, err)
	assert.Len(t, itemsOf(t, list), 2)
	list, err = client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + one})
	require.NoError(t, err)
	assert.Equal(t, []string{one}, slices.Collect(maps.Keys(itemsOf(t, list))))
	background := metav1.DeletePropagationBackground // today's server does not wait for other programs then
	once := metav1.DeleteOptions{PropagationPolicy: &background, GracePeriodSeconds: new(int64)}
	require.NoError(t, client.DeleteCollection(ctx, once, metav1.ListOptions{LabelSelector: label + "=" + kind + ",part=1"}))
	happened = append(happened, event{"DELETED", part + "1", ""})
	require.NoError(t, client.Delete(ctx, one, once))
	happened = append(happened, event{"DELETED", one, ""})
	_, err = client.Get(ctx, one, metav1.GetOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)

	assert.Equal(t, happened, take(t, w, len(happened)), "the watch tells all that happened, in order")
	list, err = client.List(ctx, ours)
	require.NoError(t, err)
	names := itemsOf(t, list)
	assert.Len(t, names, 2)
	assert.Contains(t, names, part+"0")
	assert.Contains(t, names, part+"2")
}

func TestTypedClientsDoAllTheyCan(t *testing.T) {
	t.Parallel()
	config := inMemory(t).config()
	core := clientsetFor(t, config).CoreV1()
	collections, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	const in = metav1.NamespaceDefault
	_, err = core.Pods(in).Update(t.Context(), pod("nobody", nil), metav1.UpdateOptions{})
	assert.True(t, apierrors.IsNotFound(err), "%v", err)
	checkLife[*corev1.Pod, *corev1.PodList](t, core.Pods(in), "Pod", func() *corev1.Pod { return &corev1.Pod{} })
	checkLife[*corev1.Service, *corev1.ServiceList](t, services{core.Services(in), dynamicClient{collections.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace(in)}},
		"Service", func() *corev1.Service { return &corev1.Service{} })
	checkLife[*corev1.ReplicationController, *corev1.ReplicationControllerList](t, core.ReplicationControllers(in), "ReplicationController", func() *corev1.ReplicationController { return &corev1.ReplicationController{} })
	checkLife[*corev1.Node, *corev1.NodeList](t, core.Nodes(), "Node", func() *corev1.Node { return &corev1.Node{} })
	checkLife[*corev1.Event, *corev1.EventList](t, core.Events(in), "Event", func() *corev1.Event { return &corev1.Event{} })
	checkLife[*corev1.Endpoints, *corev1.EndpointsList](t, core.Endpoints(in), "Endpoints", func() *corev1.Endpoints { return &corev1.Endpoints{} })
}

func TestDynamicClientsDoAllTheyCan(t *testing.T) {
	t.Parallel()
	clients, err := dynamic.NewForConfig(inMemory(t).config())
	require.NoError(t, err)
	for kind, resource := range map[string]string{
		"Pod": "pods", "Service": "services", "ReplicationController": "replicationcontrollers",
		"Node": "nodes", "Event": "events", "Endpoints": "endpoints",
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			client := dynamic.ResourceInterface(clients.Resource(corev1.SchemeGroupVersion.WithResource(resource)))
			if kind != "Node" {
				client = clients.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(metav1.NamespaceDefault)
			}
			checkLife[*unstructured.Unstructured, *unstructured.UnstructuredList](t, dynamicClient{client}, kind, func() *unstructured.Unstructured { return &unstructured.Unstructured{} })
		})
	}
}

// A server that is started again knows of earlier changes at most what etcd remembers.
func TestAWatchOfAForgottenVersionIsToldThatItHasExpired(t *testing.T) {
	t.Parallel()
	s := onEtcd(t)
	clients := clientsetFor(t, s.config())
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	first := createPod(t, clients, "first", nil)
	createPod(t, clients, "second", nil)
	s.kill()
	s.forget(t)
	s.start(t)
	createPod(t, clients, "third", nil)

	err := refusalOf(t, pods, first.ResourceVersion)
	assert.True(t, apierrors.IsResourceExpired(err) || apierrors.IsGone(err), "%v", err)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 3)
	w, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer w.Stop()
	fourth := createPod(t, clients, "fourth", nil)
	assert.Equal(t, []event{eventOf(watch.Added, fourth)}, take(t, w, 1), "from there on all is known")
}
