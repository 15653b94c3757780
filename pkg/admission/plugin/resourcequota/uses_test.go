package resourcequota

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/admission"
	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/quota"
	"kube2014/pkg/rest"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// podOf returns a pod with a spec in JSON.
func podOf(t *testing.T, id, spec string) *corev1.Pod {
	pod := objectNamed(id).(*corev1.Pod)
	pod.Namespace = "default"
	require.NoError(t, json.Unmarshal([]byte(spec), &pod.Spec))
	return pod
}

// store admits and stores an object of a resource, as a create or, if there is an old one, as an update.
func (s *server) store(t *testing.T, resource schema.GroupResource, object, old admission.Object) error {
	row := s.rowOf(resource)
	a := admission.Attributes{Operation: admission.Create, Resource: resource.WithVersion("v1")}
	if old != nil {
		a.Operation = admission.Update
	}
	r := s.begin(t.Context(), a)
	err := r.Validate(object, old)
	if err == nil {
		internal, converted := v1.NewCodec(row.Kind, row.StoredKind, v1.Scheme).ToInternal(object)
		require.NoError(t, converted)
		if task, isTask := internal.(*api.Task); isTask {
			task.IsPod = true
		}
		change := storage.Create(internal)
		if old != nil {
			change = storage.Update(internal, storage.Present)
		}
		_, err = s.Commit(change)
		err = rest.StatusError(err, resource, object.GetName())
	}
	r.End(err)
	return err
}

const small = `{"containers":[{"name":"c","resources":{"requests":{"cpu":"300m","memory":"64Mi"},"limits":{"cpu":"1"}}}]}`

func TestAQuotaAddsUpWhatPodsRequest(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		s := newServer(t, connect(), few("q", `{"requests.cpu":"1","memory":"256Mi","limits.cpu":"4","pods":"10"}`))
		for _, id := range []string{"a", "b", "c"} {
			require.NoError(t, s.store(t, pods, podOf(t, id, small), nil))
		}
		assert.Equal(t, map[string]string{"requests.cpu": "900m", "memory": "192Mi", "limits.cpu": "3", "pods": "3"}, used(t, s, "q"), "as soon as it is stored")
		assert.EqualError(t, s.store(t, pods, podOf(t, "d", small), nil),
			`pods "d" is forbidden: exceeded quota: q, requested: requests.cpu=300m, used: requests.cpu=900m, limited: requests.cpu=1`)
		const large = `{"containers":[{"name":"c","resources":{"requests":{"cpu":"200m","memory":"1Gi"},"limits":{"cpu":"2"}}}]}`
		assert.EqualError(t, s.store(t, pods, podOf(t, "d", large), nil),
			`pods "d" is forbidden: exceeded quota: q, requested: limits.cpu=2,memory=1Gi,requests.cpu=200m, used: limits.cpu=3,memory=192Mi,requests.cpu=900m, limited: limits.cpu=4,memory=256Mi,requests.cpu=1`)
		assert.EqualError(t, s.store(t, pods, podOf(t, "d", `{"initContainers":[{"name":"i"}],"containers":[{"name":"d"},{"name":"c"}]}`), nil),
			`pods "d" is forbidden: failed quota: q: must specify limits.cpu for: c,d,i; memory for: c,d,i; requests.cpu for: c,d,i`)
		assert.Equal(t, []string{"a", "b", "c"}, idsIn(t, s))
		assert.Zero(t, reservations(t, s))
	})
}

// Only the first door changes what a pod requests, and only the second door how long it may run.
func TestAnUpdateThatUsesMoreNeedsTheRestOnly(t *testing.T) {
	t.Parallel()
	s := newServer(t, memory.New(1), few("q", `{"requests.cpu":"500m"}`))
	web, more, most := podOf(t, "web", small), podOf(t, "web", `{"containers":[{"name":"c","resources":{"requests":{"cpu":"500m"}}}]}`), podOf(t, "web", `{"containers":[{"name":"c","resources":{"requests":{"cpu":"501m"}}}]}`)
	require.NoError(t, s.store(t, pods, web, nil))
	assert.EqualError(t, s.store(t, pods, most, web), `pods "web" is forbidden: exceeded quota: q, requested: requests.cpu=201m, used: requests.cpu=300m, limited: requests.cpu=500m`)
	require.NoError(t, s.store(t, pods, more, web))
	assert.Equal(t, map[string]string{"requests.cpu": "500m"}, used(t, s, "q"))
	require.NoError(t, s.store(t, pods, web, more), "less is always possible")
	put(t, s, few("none", `{"pods":"0"}`))
	assert.NoError(t, s.store(t, pods, web, web), "nothing more is used of a quota that is exceeded")
}

func TestAQuotaWithScopesCountsThePodsInAllOfThem(t *testing.T) {
	t.Parallel()
	const deadline = `{"activeDeadlineSeconds":5,"containers":[{"name":"c"}]}`
	q := few("q", `{"pods":"1"}`)
	q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopeBestEffort, Operator: corev1.ScopeSelectorOpExists}}}
	s := newServer(t, memory.New(1), q)
	require.NoError(t, s.store(t, pods, podOf(t, "a", small), nil))
	require.NoError(t, s.store(t, pods, podOf(t, "b", `{"containers":[{"name":"c"}]}`), nil))
	assert.Empty(t, used(t, s, "q"))
	require.NoError(t, s.store(t, pods, podOf(t, "c", deadline), nil))
	const refused = `is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1`
	assert.EqualError(t, s.store(t, pods, podOf(t, "d", deadline), nil), `pods "d" `+refused)
	assert.EqualError(t, s.store(t, pods, podOf(t, "b", deadline), podOf(t, "b", `{"containers":[{"name":"c"}]}`)), `pods "b" `+refused, "an update may bring a pod into a scope")
}

func TestAnyKindOfTheCatalogIsCounted(t *testing.T) {
	t.Parallel()
	s := newServer(t, memory.New(1), few("q", `{"configmaps":"1","count/pods":"1","count/roles.rbac.authorization.k8s.io":"1","count/events":"0","services":"3","services.nodeports":"2"}`))
	maps := corev1.Resource("configmaps")
	config := func(id string) admission.Object {
		config := &corev1.ConfigMap{}
		config.Name, config.Namespace = id, "default"
		return config
	}
	require.NoError(t, s.store(t, maps, config("a"), nil))
	assert.EqualError(t, s.store(t, maps, config("b"), nil), `configmaps "b" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=1, limited: configmaps=1`)
	assert.True(t, apierrors.IsAlreadyExists(s.store(t, maps, config("a"), nil)))
	r := s.begin(t.Context(), admission.Attributes{Operation: admission.Create, Resource: corev1.SchemeGroupVersion.WithResource("events")})
	require.NoError(t, r.Validate(&corev1.Event{}, nil), "as in today's server")

	service := func(id string, ports int32) admission.Object {
		service := &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		service.Name, service.Namespace = id, "default"
		for port := range ports {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Port: port + 1})
		}
		return service
	}
	services := corev1.Resource("services")
	require.NoError(t, s.store(t, services, service("a", 1), nil))
	assert.EqualError(t, s.store(t, services, service("b", 2), nil), `services "b" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=1, limited: services.nodeports=2`)
	assert.EqualError(t, s.store(t, services, service("a", 3), service("a", 1)), `services "a" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=1, limited: services.nodeports=2`)
	assert.Equal(t, map[string]string{"configmaps": "1", "services": "1", "services.nodeports": "1"}, used(t, s, "q"))
}

func TestOfSeveralQuotasEachMustAllowIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, memory.New(1), few("b", `{"pods":"1"}`), few("q", `{"pods":"2"}`))
	require.NoError(t, s.create(t.Context(), "x"))
	assert.EqualError(t, s.create(t.Context(), "y"), `pods "y" is forbidden: exceeded quota: b, requested: pods=1, used: pods=1, limited: pods=1`)
	put(t, s, few("a", `{"pods":"5"}`))
	assert.True(t, apierrors.IsForbidden(s.create(t.Context(), "y")))
	assert.Equal(t, map[string]string{"pods": "1"}, used(t, s, "q"))
	stored, err := s.Get(quota.Reservations(api.DefaultKey(quota.Kind, "a")))
	require.NoError(t, err)
	assert.Empty(t, reservationsIn(stored), "what it had reserved of the first is free again")
}

func TestAQuotaThatIsDeletedMeanwhileLimitsNothing(t *testing.T) {
	onEachStore(t, func(t *testing.T, connect func() storage.Interface) {
		store := connect()
		s := newServer(t, store, few("q", `{"pods":"0"}`))
		key := api.DefaultKey(quota.Kind, "q")
		s.objects = disturbed{Interface: store, list: func() {
			_, err := store.Commit(storage.Delete(key, storage.Any), storage.Delete(quota.Reservations(key), storage.Any))
			assert.NoError(t, err)
		}}
		require.True(t, apierrors.IsForbidden(s.create(t.Context(), "x")), "it was there")
		put(t, store, few("q", `{"pods":"1"}`))
		require.NoError(t, s.create(t.Context(), "x"))
		assert.Equal(t, []string{"x"}, idsIn(t, store))
		_, err := store.Get(quota.Reservations(key))
		assert.Equal(t, api.NotFound, api.KindOf(err), "nothing is left over")
	})
}

func TestWhatIsRememberedOfObjectsIsNeverOld(t *testing.T) {
	t.Parallel()
	store := memory.New(1)
	s := newServer(t, store, few("q", `{"pods":"1"}`))
	clock := now()
	s.Now = func() time.Time { return clock }
	ending := podOf(t, "ending", small)
	require.NoError(t, s.store(t, pods, ending, nil))
	ending.DeletionTimestamp, ending.DeletionGracePeriodSeconds = &metav1.Time{Time: clock}, new(int64(30))
	require.NoError(t, s.store(t, pods, ending, podOf(t, "ending", small)))
	assert.True(t, apierrors.IsForbidden(s.create(t.Context(), "x")))
	clock = clock.Add(time.Minute)
	require.NoError(t, s.create(t.Context(), "x"), "the time of the other one is over")

	stored, err := store.Get(api.DefaultKey(quota.Kind, "q"))
	require.NoError(t, err)
	internal, err := codec.ToInternal(few("q", `{"requests.cpu":"1","pods":"9"}`))
	require.NoError(t, err)
	_, err = store.Commit(storage.Update(internal, stored.Version()))
	require.NoError(t, err)
	require.NoError(t, s.store(t, pods, podOf(t, "y", small), nil))
	assert.Equal(t, map[string]string{"requests.cpu": "300m", "pods": "2"}, used(t, s, "q"), "the quota has changed")

	_, err = store.Commit(storage.Delete(api.DefaultKey(quota.Kind, "q"), storage.Present))
	require.NoError(t, err)
	put(t, store, few("other", `{"pods":"9"}`))
	require.NoError(t, s.create(t.Context(), "z"))
	assert.Len(t, s.measures.all, 1, "the quota that is gone is forgotten")
}
