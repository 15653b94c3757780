package webhook

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/admission/plugin"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// shelf is a store of the configurations of a chain's plugin.
type shelf struct {
	*memory.Store
	t    testing.TB
	kind string // Mutating or Validating
}

// shelf gives a store to the plugin of a chain.
func (w *world) shelf(t testing.TB, kind string) shelf {
	s := shelf{memory.New(1), t, kind}
	w.chain.Each(func(_ string, p admission.Interface) { p.(plugin.WantsObjects).SetObjects(s, s, nil) })
	return s
}

func (s shelf) resource() api.Kind {
	return api.Kind(strings.ToLower(s.kind) + "webhookconfigurations")
}

// put stores a new configuration as it is.
func (s shelf) put(name string, hooks ...fields) {
	kind := admissionregistrationv1.SchemeGroupVersion.WithKind(s.kind + "WebhookConfiguration")
	object, err := v1.Scheme.New(kind)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(configurationOf(s.kind, hooks...), object))
	object.(admission.Object).SetName(name)
	s.store(kind, s.resource(), object)
}

func (s shelf) store(kind schema.GroupVersionKind, resource api.Kind, object runtime.Object) {
	internal, err := v1.NewConverter(kind, resource, v1.Scheme).ToInternal(object)
	require.NoError(s.t, err)
	_, err = storage.CommitOne(s, storage.Create(internal))
	require.NoError(s.t, err)
}

func (s shelf) remove(name string) {
	_, err := s.Commit(storage.Change{Key: api.Key{Kind: s.resource(), ID: name}, Expected: s.version(name), Action: storage.Remove})
	require.NoError(s.t, err)
}

func (s shelf) version(name string) uint64 {
	stored, err := s.Get(api.Key{Kind: s.resource(), ID: name})
	require.NoError(s.t, err)
	return stored.Version()
}

// K60.
func TestWebhooksOfTheFileAreAskedFirstThenThoseOfObjectsByTheirNames(t *testing.T) {
	t.Parallel()
	s := serve(t)
	w := chainOf(t, "Mutating", nil, s.hook("f", nil))
	stored := w.shelf(t, "Mutating")
	asked := func(want ...string) {
		t.Helper()
		s.paths = nil
		_, err := w.decide(t.Context(), newPod())
		require.NoError(t, err)
		assert.Equal(t, want, s.paths)
	}
	asked("f")
	stored.put("b", s.hook("b2", nil), s.hook("b1", nil))
	stored.put("a", s.hook("a", nil))
	asked("f", "a", "b2", "b1")
	assert.Equal(t, `{"configuration":"b","webhook":"b1.example.com","mutated":false}`, w.annotations["mutation.webhook.admission.k8s.io/round_0_index_3"])
	stored.remove("b")
	asked("f", "a")
}

func TestWithoutObjectsAPluginIsIdle(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		w := chainOf(t, kind, nil)
		stored := w.shelf(t, kind)
		assert.True(t, w.chain.Idle("default"))
		stored.put("a", serve(t).hook("a", nil))
		assert.False(t, w.chain.Idle("default"))
	}
}

func TestAConfigurationIsReadOncePerVersion(t *testing.T) {
	t.Parallel()
	w := chainOf(t, "Validating", nil)
	stored := w.shelf(t, "Validating")
	var p *validating
	w.chain.Each(func(_ string, of admission.Interface) { p = of.(*validating) })
	stored.put("b", serve(t).hook("b", nil))
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() { assert.NoError(t, p.ReadOnce()) })
	}
	readers.Wait()
	before, err := p.hooks()
	require.NoError(t, err)
	stored.put("a", serve(t).hook("a", nil))
	after, err := p.hooks()
	require.NoError(t, err)
	require.Len(t, after, 2)
	assert.Same(t, before[0], after[1])
}

// Somebody else may have stored what the rows refuse.
func TestAStoredWebhookThatIsWrongFailsByItsPolicyAlone(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]fields{
		"authorities": {"clientConfig": fields{"url": "https://127.0.0.1", "caBundle": []byte("s3cret")}},
		"no server":   {"clientConfig": fields{}},
		"a selector":  {"objectSelector": fields{"matchLabels": fields{"a": "s3cret!"}}},
		"a namespace": {"namespaceSelector": fields{"matchExpressions": []fields{{"key": "a", "operator": "s3cret"}}}},
		"a version":   {"admissionReviewVersions": []string{"s3cret"}},
	} {
		for kind := range kinds {
			s := serve(t)
			w := chainOf(t, kind, nil)
			stored := w.shelf(t, kind)
			wrong["failurePolicy"] = "Ignore"
			stored.put("a", s.hook("a", wrong))
			stored.put("b", s.hook("b", nil))
			_, err := w.decide(t.Context(), newPod())
			assert.NoError(t, err, name)
			assert.Equal(t, []string{"b"}, s.paths, name)
			delete(wrong, "failurePolicy")
			stored.put("c", s.hook("c", wrong))
			_, err = w.decide(t.Context(), newPod())
			assert.ErrorContains(t, err, `failed calling webhook "c.example.com": failed to call webhook: `, name)
			assert.NotContains(t, err.Error(), "s3cret", name)
		}
	}
}

func TestWithoutTheStoreNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		w := chainOf(t, kind, nil)
		away := awayStore{memory.New(1)}
		w.chain.Each(func(_ string, p admission.Interface) { p.(plugin.WantsObjects).SetObjects(away, away, nil) })
		_, err := w.decide(t.Context(), newPod())
		assert.True(t, apierrors.IsServiceUnavailable(err), err)
	}
}

type awayStore struct{ *memory.Store }

func (awayStore) List(storage.Selection) (*storage.List, error) {
	return nil, &api.Error{Kind: api.Unavailable, Message: "away"}
}

func TestTheLabelsOfANamespaceSelect(t *testing.T) {
	t.Parallel()
	s := serve(t)
	w := chainOf(t, "Validating", nil)
	stored := w.shelf(t, "Validating")
	stored.put("a", s.hook("a", fields{"namespaceSelector": fields{"matchLabels": fields{"a": "b"}}}))
	asked := func(want int, name string) {
		t.Helper()
		s.asked = nil
		_, err := w.decide(t.Context(), newPod())
		require.NoError(t, err)
		assert.Len(t, s.asked, want, name)
	}
	asked(0, "there is no such namespace")
	namespace := &corev1.Namespace{}
	namespace.Name, namespace.Labels = "default", map[string]string{"a": "b"}
	stored.store(corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces", namespace)
	asked(1, "it has the label")
}

func TestTheNamespaceOfANamespaceIsItself(t *testing.T) {
	t.Parallel()
	s := serve(t)
	w := chainOf(t, "Validating", nil, s.hook("a", fields{"namespaceSelector": fields{"matchLabels": fields{"a": "b"}}}))
	about := admission.Attributes{Operation: admission.Update, Kind: corev1.SchemeGroupVersion.WithKind("Namespace"), Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), User: creation().User}
	bare, labelled := &corev1.Namespace{}, &corev1.Namespace{}
	bare.Name, labelled.Name, labelled.Labels = "x", "x", map[string]string{"a": "b"}
	require.NoError(t, w.begin(t.Context(), about).Validate(bare, labelled))
	assert.Empty(t, s.asked, "its new labels decide")
	require.NoError(t, w.begin(t.Context(), about).Validate(labelled, bare))
	about.Operation = admission.Delete
	about.Name = "x"
	require.NoError(t, w.begin(t.Context(), about).Validate(nil, labelled))
	require.Len(t, s.asked, 2)
	for _, asked := range s.asked {
		assert.Equal(t, "x", asked.Namespace)
	}
}

func TestAWebhookWithEffectsIsNoneForADryRun(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		s := serve(t)
		w := chainOf(t, kind, nil)
		w.shelf(t, kind).put("a", s.hook("a", fields{"sideEffects": "Some", "failurePolicy": "Ignore"}))
		a := creation()
		_, err := w.decideAbout(t.Context(), a, newPod(), nil)
		require.NoError(t, err)
		a.DryRun = true
		_, err = w.decideAbout(t.Context(), a, newPod(), nil)
		assert.EqualError(t, err, `admission webhook "a.example.com" does not support dry run`)
		assert.True(t, apierrors.IsBadRequest(err))
		assert.Len(t, s.asked, 1)
	}
}

// K62: an answer names its kind.
func TestAWebhookMayKnowV1beta1Alone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	answer := func(text string) {
		s.answers["a"] = func(*admissionv1.AdmissionRequest) string { return text }
	}
	w := chainOf(t, "Mutating", nil, s.hook("a", fields{"admissionReviewVersions": []string{"v2", "v1beta1", "v1"}}))
	answer(strings.NewReplacer("admission.k8s.io/v1", "admission.k8s.io/v1beta1", `,"patchType":"JSONPatch"`, "", `"uid":"$UID",`, "").Replace(addLabel("c", "d")))
	pod, err := w.decide(t.Context(), newPod())
	require.NoError(t, err, "it need not tell the uid, nor the type of a patch")
	assert.Equal(t, map[string]string{"a": "b", "c": "d"}, pod.Labels)
	for _, wrong := range []string{`{"response":{"allowed":true}}`, response(`"allowed":true`)} {
		answer(wrong)
		_, err = w.decide(t.Context(), newPod())
		assert.EqualError(t, err, "Internal error occurred: "+unwanted)
	}
}

func BenchmarkNobodyIsAsked(b *testing.B) {
	for name, hooks := range map[string][]fields{"no webhook": nil, "a webhook about another resource": {{"name": "a.b.c", "clientConfig": fields{"url": "https://a"}, "rules": []fields{
		{"operations": []string{"*"}, "apiGroups": []string{"apps"}, "apiVersions": []string{"*"}, "resources": []string{"*"}}}}}} {
		b.Run(name, func(b *testing.B) {
			w := chainOf(b, "Mutating", nil)
			if hooks != nil {
				w.shelf(b, "Mutating").put("a", hooks...)
			} else {
				w.shelf(b, "Mutating")
			}
			pod := newPod()
			for b.Loop() {
				if _, err := w.chain.Begin(b.Context(), creation()).Mutate(pod, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
