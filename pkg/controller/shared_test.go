package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/controller"
	"kube2014/pkg/master/servertest"
	"kube2014/pkg/util/workqueue"
)

func TestASyncWithAStaleCopyIsRetriedAfterAPauseAsIfItHadNotFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var synced time.Time // the handlers have seen what there is
		var at []time.Duration
		var results []error
		config := controller.Config{Around: func(sync workqueue.Sync) workqueue.Sync {
			return func(ctx context.Context, key string) error {
				results = append(results, sync(ctx, key))
				return results[len(results)-1]
			}
		}}
		broken := errors.New("broken")
		left := []error{errors.Join(controller.ErrStale, broken), broken, nil}
		begin := time.Now()
		loop := controller.NewLoop(config, "test", func(context.Context, string) (err error) {
			at = append(at, time.Since(synced))
			err, left = left[0], left[1:]
			return err
		})
		loop.WaitFor(func() bool { synced = time.Now(); return time.Since(begin) > time.Minute })
		loop.Queue.Add("key")
		servertest.Run(t, func(ctx context.Context) { loop.Run(ctx, 1) })
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, at, 3)
		assert.Equal(t, []time.Duration{0, controller.StalePause}, at[:2])
		assert.Equal(t, []error{nil, broken, nil}, results)
	})
}

func TestEachWaitsUntilTheCopiesShowWhatWasDoneAlsoIfTheRestFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		last  error // of the third item, nil: it is the last
		shown bool
		acted bool
		err   error
	}{
		"all goes well":           {nil, true, true, nil},
		"the third one fails":     {broken, true, true, broken},
		"the copies do not come":  {nil, false, false, context.DeadlineExceeded},
		"neither of both happens": {broken, false, false, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				begin := time.Now()
				var done []int
				acted, err := controller.Each(ctx, []int{1, 2, 3, 4}, func(item int) (controller.Expectation, error) {
					done = append(done, item)
					if item == 3 {
						return nil, row.last
					}
					return func() bool { return row.shown && time.Since(begin) >= time.Second }, nil
				})
				assert.Equal(t, row.acted, acted)
				assert.Equal(t, row.err, err)
				assert.Equal(t, []int{1, 2, 3}, done)
				assert.GreaterOrEqual(t, time.Since(begin), time.Second)
			})
		})
	}
}

func TestNothingIsDoneForNoItems(t *testing.T) {
	t.Parallel()
	acted, err := controller.Each(t.Context(), nil, func(int) (controller.Expectation, error) { panic("never") })
	require.NoError(t, err)
	assert.False(t, acted)
}

func TestWhatSaysInAnotherNamespaceThatItIsOwnedIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := servertest.Start(t).Client(t, "test")
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "owner", UID: "1"}}
		kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
		for _, namespace := range []string{"default", "dev"} {
			_, _ = client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}) // it may exist
			for name, references := range map[string][]metav1.OwnerReference{
				"own": {*metav1.NewControllerRef(owner, kind)}, "alone": nil, "of-another": {*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "owner", UID: "2"}, kind)},
			} {
				_, err := client.In(namespace).ConfigMaps().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: references}})
				require.NoError(t, err)
			}
		}
		informer := cache.NewSharedInformer("configmaps", client.ConfigMaps().Everywhere(), 0)
		informer.Store().AddIndex(cache.OwnerIndex, cache.OwnerOf)
		synced := informer.AddEventHandler(cache.ResourceEventHandler[*corev1.ConfigMap]{})
		servertest.Run(t, informer.Run)
		require.True(t, cache.WaitForSync(t.Context(), synced))
		var owned []string
		for _, object := range controller.OwnedBy(informer.Store(), owner) {
			owned = append(owned, cache.Key(object))
		}
		assert.Equal(t, []string{"default/own"}, owned)
	})
}

func TestTheKeyOfAnOwnerIsThatOfAControllerOfTheKindInAnyVersion(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	for name, row := range map[string]struct {
		reference metav1.OwnerReference
		keys      []string
	}{
		"it is":               {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", Controller: new(true)}, []string{"default/a"}},
		"another version":     {metav1.OwnerReference{APIVersion: "apps/v1beta2", Kind: "ReplicaSet", Name: "a", Controller: new(true)}, []string{"default/a"}},
		"another group":       {metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "ReplicaSet", Name: "a", Controller: new(true)}, nil},
		"another kind":        {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "a", Controller: new(true)}, nil},
		"no version":          {metav1.OwnerReference{APIVersion: "a/b/c", Kind: "ReplicaSet", Name: "a", Controller: new(true)}, nil},
		"it is no controller": {metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", OwnerReferences: []metav1.OwnerReference{row.reference}}}
			assert.Equal(t, row.keys, controller.KeyOfOwner[*corev1.Pod](kind)(object))
		})
	}
}

func TestAHandlerQueuesWhatAnObjectBelongsToAndWhatItBelongedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		maps := servertest.Start(t).Client(t, "test").ConfigMaps()
		queue := workqueue.New("test")
		var seen []string
		servertest.Run(t, func(ctx context.Context) {
			queue.Run(ctx, 1, func(_ context.Context, key string) error { seen = append(seen, key); return nil })
		})
		take := func() []string {
			time.Sleep(time.Second)
			synctest.Wait()
			taken := seen
			seen = nil
			return taken
		}
		informer := cache.NewSharedInformer("configmaps", maps, 0)
		informer.AddEventHandler(controller.Handler(queue, func(object *corev1.ConfigMap) []string {
			if object.Data["of"] == "" {
				return nil
			}
			return []string{object.Data["of"]}
		}))
		servertest.Run(t, informer.Run)
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Data: map[string]string{"of": "a"}})
		require.NoError(t, err)
		assert.Equal(t, []string{"a"}, take())
		for _, of := range []string{"b", ""} {
			_, err = maps.Change(t.Context(), "x", func(object *corev1.ConfigMap) error { object.Data = map[string]string{"of": of}; return nil })
			require.NoError(t, err)
			assert.Equal(t, map[string][]string{"b": {"a", "b"}, "": {"b"}}[of], take())
		}
		require.NoError(t, maps.Delete(t.Context(), "x", metav1.DeleteOptions{}))
		assert.Empty(t, take())
	})
}
