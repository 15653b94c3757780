package plugin

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	. "kube2014/pkg/master/endpointstest"
)

const (
	onePod    = `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`
	elsewhere = "/api/v1/namespaces/nope"
)

// made is what a factory makes without a configuration.
func made(t *testing.T, factory admission.Factory) admission.Interface {
	plugin, err := factory(nil)
	require.NoError(t, err)
	return plugin
}

// existing is a factory of a plugin that knows one namespace, and one that ends.
func existing(configuration json.RawMessage) (admission.Interface, error) {
	plugin, err := NewNamespaceExists(configuration)
	if err == nil {
		plugin.(WantsNamespaces).SetNamespaces(twoNamespaces{})
	}
	return plugin, err
}

type twoNamespaces struct{}

func (twoNamespaces) Exists(namespace string) error {
	if namespace == "nope" {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), namespace)
	}
	return nil
}

func (n twoNamespaces) MayCreate(namespace string, resource schema.GroupResource, name string) error {
	if namespace == "ending" {
		return apierrors.NewForbidden(resource, name, errors.New("it ends"))
	}
	return n.Exists(namespace)
}

// K53.
func TestAPluginThatHasNoConfigurationTakesNone(t *testing.T) {
	t.Parallel()
	for name, factory := range map[string]admission.Factory{"AlwaysAdmit": NewAlwaysAdmit, "AlwaysDeny": NewAlwaysDeny,
		"AlwaysPullImages": NewAlwaysPullImages, "NamespaceExists": existing} {
		_, err := factory(json.RawMessage(`{"secret":"x"}`))
		assert.EqualError(t, err, "configuration: the plugin has none", name)
	}
}

func TestAlwaysAdmitAdmits(t *testing.T) {
	t.Parallel()
	door := openWith(t, made(t, NewAlwaysAdmit))
	door.Must("POST", Pods, onePod)
	door.Must("PATCH", Pods+"/x", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", MergePatch)
	door.Must("DELETE", Pods+"/x?gracePeriodSeconds=0", "")
}

// The answers are those of kube-apiserver 1.36.3 with AlwaysDeny.
func TestAlwaysDenyDeniesEveryChange(t *testing.T) {
	t.Parallel()
	door := Open(t)
	door.Must("POST", Pods, `{"metadata":{"name":"there"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`)
	door.Admission = openWith(t, made(t, NewAlwaysDeny)).Admission
	for _, row := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", Pods, onePod, 403, `pods "x" is forbidden: admission control is denying all modifications`},
		{"POST", Pods, `{"metadata":{"generateName":"y-"},"spec":{"containers":[{"name":"c","image":"i:1"}]}}`, 403, `pods "y-" is forbidden: admission control is denying all modifications`},
		{"POST", Pods, `{"metadata":{"name":"x"}}`, 403, `pods "x" is forbidden: admission control is denying all modifications`},
		{"PUT", Pods + "/x", onePod, 404, `pods "x" not found`},
		{"PUT", Endpoints + "/x", `{"metadata":{"name":"x"}}`, 403, `endpoints "x" is forbidden: admission control is denying all modifications`},
		{"DELETE", Pods + "/x", "", 404, `pods "x" not found`},
		{"DELETE", Pods + "/there", "", 403, `pods "there" is forbidden: admission control is denying all modifications`},
		{"DELETE", Pods, "", 403, `pods "Unknown" is forbidden: admission control is denying all modifications`},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"spec":{"resourceAttributes":{"verb":"get"}}}`, 403,
			`selfsubjectaccessreviews.authorization.k8s.io "Unknown" is forbidden: admission control is denying all modifications`},
	} {
		answer := door.Do(row.method, row.path, row.body)
		require.Equal(t, row.status, answer.Status, "%s %s: %s", row.method, row.path, answer.Text)
		assert.Equal(t, row.want, answer.Error().Message)
	}
	assert.Equal(t, 200, door.Do("GET", Pods+"/there", "").Status, "it is still there, and is read")
}

func TestAllImagesArePulled(t *testing.T) {
	t.Parallel()
	door := openWith(t, made(t, NewAlwaysPullImages))
	var pod corev1.Pod
	door.Must("POST", Pods, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i:1","imagePullPolicy":"Never"},{"name":"d","image":"i:1"}],
		"initContainers":[{"name":"i","image":"i:1","imagePullPolicy":"IfNotPresent"}],"volumes":[{"name":"v","image":{"reference":"r:1","pullPolicy":"IfNotPresent"}}]}}`).Into(&pod)
	assert.Equal(t, corev1.PullAlways, pod.Spec.Containers[0].ImagePullPolicy)
	assert.Equal(t, corev1.PullAlways, pod.Spec.Containers[1].ImagePullPolicy)
	assert.Equal(t, corev1.PullAlways, pod.Spec.InitContainers[0].ImagePullPolicy)
	assert.Equal(t, corev1.PullAlways, pod.Spec.Volumes[0].Image.PullPolicy)

	patched := func(body string) Answer { return door.Patch(Pods+"/x", StrategicPatch, body) }
	assert.Equal(t, 200, patched(`{"spec":{"containers":[{"name":"c","image":"i:2","imagePullPolicy":"Never"}]}}`).Status, "it has a new image")
	answer := patched(`{"spec":{"containers":[{"name":"c","imagePullPolicy":"Never"}]}}`)
	assert.Equal(t, 422, answer.Status, "it has none")
	assert.Contains(t, answer.Error().Message, "pod updates may not change fields other than")
}

// The first door lets an update bring containers, which have the images of others.
func TestAnImageIsPulledForAContainerThatIsNew(t *testing.T) {
	t.Parallel()
	plugin := made(t, NewAlwaysPullImages)
	pod := func(names ...string) *corev1.Pod {
		pod := &corev1.Pod{}
		for _, name := range names {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name, Image: "private:1", ImagePullPolicy: corev1.PullIfNotPresent})
		}
		return pod
	}
	for _, row := range []struct {
		old, new *corev1.Pod
		want     corev1.PullPolicy
	}{
		{pod("a"), pod("a"), corev1.PullIfNotPresent},
		{pod("a", "b"), pod("b"), corev1.PullIfNotPresent},
		{pod("a"), pod("a", "b"), corev1.PullAlways},
		{pod("a"), pod("b"), corev1.PullAlways},
		{pod("a"), pod("a", "a"), corev1.PullAlways},
	} {
		a := &admission.Attributes{Operation: admission.Update, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Name: "x", OldObject: row.old, Object: row.new}
		err := plugin.(admission.ValidationInterface).Validate(t.Context(), a)
		assert.Equal(t, row.want == corev1.PullAlways, err != nil, "it is checked, too")
		require.NoError(t, plugin.(admission.MutationInterface).Admit(t.Context(), a))
		for _, container := range row.new.Spec.Containers {
			assert.Equal(t, row.want, container.ImagePullPolicy)
		}
	}
}

// A plugin that comes later may have changed what this one has set.
func TestWhatIsNotPulledIsRefused(t *testing.T) {
	t.Parallel()
	plugin := made(t, NewAlwaysPullImages).(admission.ValidationInterface)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "i", ImagePullPolicy: corev1.PullNever}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: "e", ImagePullPolicy: corev1.PullIfNotPresent}}}}}
	a := &admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Name: "x", Object: pod}
	assert.EqualError(t, plugin.Validate(t.Context(), a), `pods "x" is forbidden: [spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always", `+
		`spec.ephemeralContainers[0].imagePullPolicy: Unsupported value: "IfNotPresent": supported values: "Always"]`)
	a.Subresource = "ephemeralcontainers"
	assert.NoError(t, plugin.Validate(t.Context(), a))
	a.Subresource, a.Resource.Resource = "", "services"
	assert.NoError(t, plugin.Validate(t.Context(), a))
}

// The answers are those of kube-apiserver 1.36.3 with NamespaceExists; one that deletes is not asked.
func TestNothingIsStoredInANamespaceThatIsNotThere(t *testing.T) {
	t.Parallel()
	door := openWith(t, made(t, existing))
	for _, row := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", elsewhere + "/pods", onePod, 404, `namespaces "nope" not found`},
		{"POST", elsewhere + "/pods", `{"metadata":{"name":"x"}}`, 404, `namespaces "nope" not found`},
		{"PUT", elsewhere + "/pods/x", onePod, 404, `pods "x" not found`},
		{"DELETE", elsewhere + "/pods/x", "", 404, `pods "x" not found`},
	} {
		answer := door.Do(row.method, row.path, row.body)
		require.Equal(t, row.status, answer.Status, "%s %s: %s", row.method, row.path, answer.Text)
		assert.Equal(t, row.want, answer.Error().Message)
	}
	door.Must("POST", Pods, onePod)
	door.Must("POST", Nodes, `{"metadata":{"name":"n"}}`)
	door.Must("POST", "/apis/authorization.k8s.io/v1/namespaces/nope/localsubjectaccessreviews",
		`{"metadata":{"namespace":"nope"},"spec":{"user":"u","resourceAttributes":{"verb":"get","resource":"pods","namespace":"nope"}}}`)
}

// K52.
func TestTheNamespaceOfAChangeIsLookedFor(t *testing.T) {
	t.Parallel()
	plugin := made(t, existing)
	assert.True(t, plugin.Handles(admission.Create))
	assert.True(t, plugin.Handles(admission.Update))
	assert.False(t, plugin.Handles(admission.Delete))
	for _, row := range []struct {
		operation                 admission.Operation
		resource, namespace, want string
	}{
		{admission.Create, "pods", "nope", `namespaces "nope" not found`},
		{admission.Update, "pods", "nope", `namespaces "nope" not found`},
		{admission.Create, "pods", "ending", `pods "x" is forbidden: it ends`},
		{admission.Update, "pods", "ending", ""},
		{admission.Create, "pods", "default", ""},
		{admission.Create, "namespaces", "nope", ""},
	} {
		a := &admission.Attributes{Operation: row.operation, Resource: corev1.SchemeGroupVersion.WithResource(row.resource), Namespace: row.namespace, Name: "x"}
		err := plugin.(admission.MutationInterface).Admit(t.Context(), a)
		if row.want == "" {
			assert.NoError(t, err, row)
		} else {
			assert.EqualError(t, err, row.want)
		}
	}
}
