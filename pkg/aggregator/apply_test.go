package aggregator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kube2014/pkg/api"
	"kube2014/pkg/endpoints"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/apiregistration"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// idle is a server that follows nothing by itself, with one APIService in its store.
type idle struct {
	*Server
	store *memory.Store
	t     *testing.T
}

var exampleKey = rest.Key{Name: "v1.example.com"}

func newIdle(t *testing.T) *idle {
	store, own := memory.New(1), &rest.Catalog{}
	services, rows := apiregistration.Resources(rest.Base{Objects: store, Now: time.Now})
	own.Install(rows...)
	s := New(Config{Endpoints: endpoints.New(endpoints.NewConfig(time.Now), own), Services: services, Catalogs: rest.Catalogs{own}, ServicesKind: "service", EndpointsKind: "endpoints", SlicesKind: "endpointslices",
		Timeout: time.Second, Serving: t.Context()})
	port := int32(443)
	_, err := services.Create(t.Context(), exampleKey, &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: exampleKey.Name},
		Spec: apiregistrationv1.APIServiceSpec{Group: "example.com", Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 15,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "api", Port: &port}}}, rest.WriteOptions{})
	require.NoError(t, err)
	return &idle{s, store, t}
}

func (s *idle) stored() *storage.Object {
	object, err := s.store.Get(api.Key{Kind: apiregistration.Kind, ID: exampleKey.Name})
	require.NoError(s.t, err)
	return object
}

func (s *idle) update(by rest.Updater, change func(*apiregistrationv1.APIService)) *storage.Object {
	_, _, err := by.Update(s.t.Context(), exampleKey, func(current rest.Object) (rest.Object, error) {
		change(current.(*apiregistrationv1.APIService))
		return current, nil
	}, rest.AsServer())
	require.NoError(s.t, err)
	return s.stored()
}

// isLookedAt reports whether a name is in the queue, and empties that.
func (s *idle) isLookedAt() (is bool) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Nanosecond)
	defer cancel()
	s.queue.Run(ctx, 1, func(context.Context, string) error { is = true; return nil })
	return is
}

func TestANewAPIServiceIsLookedAtAtOnceWhateverComesWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIdle(t)
		first := s.stored()
		second := s.update(s.Services.Status, func(service *apiregistrationv1.APIService) {
			service.Status.Conditions = []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse}}
		})
		s.applyAPIServices([]storage.Event{{After: first}, {Before: first, After: second}}, 0, false)
		assert.True(t, s.isLookedAt())
		assert.False(t, s.isLookedAt())
		s.applyAPIServices([]storage.Event{{Before: first, After: second}}, 0, false)
		assert.True(t, s.isLookedAt(), "somebody else has changed it")
	})
}

func TestAllServersAreLookedAtWhenServicesHaveBeenMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIdle(t)
		s.applyAPIServices([]storage.Event{{After: s.stored()}}, 0, true)
		assert.True(t, s.isLookedAt())
		s.recheckServices(nil, 0, false)
		assert.False(t, s.isLookedAt())
		s.recheckServices(nil, 0, true)
		assert.True(t, s.isLookedAt(), "its service may have gone")
	})
}

func TestWhatAServerHasStaysKnownWhenItsSpecChanges(t *testing.T) {
	t.Parallel()
	s := newIdle(t)
	known, stale := s.Deletable()
	assert.Equal(t, []int{0, 1}, []int{len(known), len(stale)}, "nothing has been read")
	first := s.stored()
	s.applyAPIServices([]storage.Event{{After: first}}, 0, true)
	s.changeSnapshot(func(byName map[string]*remoteAPI) {
		next := *byName[exampleKey.Name]
		next.found = found{isFresh: true, resources: completed([]apidiscovery.APIResourceDiscovery{{Resource: "things", Verbs: []string{"list", "delete"}}})}
		byName[exampleKey.Name] = &next
	})
	known, stale = s.Deletable()
	assert.Equal(t, []int{1, 0}, []int{len(known), len(stale)})
	second := s.update(s.Services.Store, func(service *apiregistrationv1.APIService) { service.Spec.VersionPriority = 16 })
	s.applyAPIServices([]storage.Event{{Before: first, After: second}}, 0, false)
	known, stale = s.Deletable()
	assert.Equal(t, []int{1, 1}, []int{len(known), len(stale)}, "it is asked again")
}
