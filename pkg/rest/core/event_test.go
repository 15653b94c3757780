package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	genericregistry "kube2014/pkg/rest/generic/registry"
	"kube2014/pkg/storage"
	"kube2014/pkg/storage/memory"
)

// anHour is the resources over a store in memory, in which an event stays an hour.
type anHour struct {
	t      *testing.T
	store  *memory.Store
	events *genericregistry.Store[*corev1.Event]
	pods   rest.Creater
}

// withEvents runs a test in a bubble.
func withEvents(t *testing.T, test func(h anHour)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := anHour{t: t, store: memory.New(1)}
		for _, resource := range core.Resources(core.Config{Objects: h.store, Placer: placer{h.store}, Now: time.Now, EventTTL: time.Hour}) {
			switch resource.Name {
			case "events":
				h.events = resource.Storage.(*genericregistry.Store[*corev1.Event])
			case "pods":
				h.pods = resource.Storage.(rest.Creater)
			}
		}
		test(h)
	})
}

// placer stores pods as they are.
type placer struct{ objects storage.Interface }

func (p placer) Create(task *api.Task) (*storage.Object, error) {
	written, err := p.objects.Commit(storage.Create(task))
	if err != nil {
		return nil, err
	}
	return written[0], nil
}

var x = rest.Key{Namespace: v1.Namespace, Name: "x"}

// update says how often the event x has happened, and creates it if need be.
func (h anHour) update(times int32, options rest.WriteOptions) {
	_, _, err := h.events.Update(h.t.Context(), x, func(object rest.Object) (rest.Object, error) {
		if object == nil {
			object = &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "x", Finalizers: []string{"a.b/c"}},
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web", Namespace: v1.Namespace}}
		}
		object.(*corev1.Event).Count = times
		return object, nil
	}, options)
	require.NoError(h.t, err)
}

// count lets time pass, and returns how many objects of a kind there are then.
func (h anHour) count(kind api.Kind, passes time.Duration) int {
	time.Sleep(passes)
	synctest.Wait()
	list, err := h.store.List(storage.Selection{Kind: kind})
	require.NoError(h.t, err)
	return len(list.Items)
}

func TestAnEventEndsItsTimeAfterItsLastChange(t *testing.T) {
	withEvents(t, func(h anHour) {
		h.update(1, rest.WriteOptions{})
		for times := range int32(5) {
			assert.Equal(t, 1, h.count("events", 59*time.Minute))
			h.update(times+2, rest.WriteOptions{})
		}
		assert.Equal(t, 1, h.count("events", 59*time.Minute))
		assert.Zero(t, h.count("events", time.Minute), "whatever its finalizers say")
	})
}

func TestAnUpdateThatChangesNothingLetsAnEventEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		times   int32
		options rest.WriteOptions
	}{
		"it is the same": {1, rest.WriteOptions{}},
		"a dry run":      {2, rest.WriteOptions{DryRun: true}},
	} {
		t.Run(name, func(t *testing.T) {
			withEvents(t, func(h anHour) {
				h.update(1, rest.WriteOptions{})
				assert.Equal(t, 1, h.count("events", 59*time.Minute))
				h.update(row.times, row.options)
				assert.Zero(t, h.count("events", time.Minute))
			})
		})
	}
}

// Its finalizers hold it up, but not for ever. (K59)
func TestAnEventThatIsDeletedEndsAtTheLatestAsIfItHadBeenChanged(t *testing.T) {
	withEvents(t, func(h anHour) {
		h.update(1, rest.WriteOptions{})
		assert.Equal(t, 1, h.count("events", 59*time.Minute))
		_, err := h.events.Delete(h.t.Context(), x, rest.DeleteOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, h.count("events", 59*time.Minute))
		assert.Zero(t, h.count("events", time.Minute))
	})
}

func TestOnlyEventsEnd(t *testing.T) {
	withEvents(t, func(h anHour) {
		h.update(1, rest.WriteOptions{})
		_, err := h.pods.Create(h.t.Context(), rest.Key{Namespace: v1.Namespace}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, rest.WriteOptions{})
		require.NoError(t, err)
		assert.Equal(t, 1, h.count(api.TaskKind, 1000*time.Hour))
		assert.Zero(t, h.count("events", 0))
	})
}

// A name that is no segment of a path would lead to another key of etcd, such as a node's.
// K39: their length is bounded.
func TestAnEventWithInvalidMetadataIsRefused(t *testing.T) {
	withEvents(t, func(h anHour) {
		event := func(change func(*corev1.Event)) *corev1.Event {
			event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "y"}, InvolvedObject: corev1.ObjectReference{Namespace: v1.Namespace}}
			change(event)
			return event
		}
		named := func(name string) *corev1.Event { return event(func(e *corev1.Event) { e.Name = name }) }
		for want, invalid := range map[string]*corev1.Event{
			"metadata.name: Required value: name or generateName is required":                          named(""),
			`metadata.name: Invalid value: "../minions/evil": may not contain '/'`:                     named("../minions/evil"),
			`metadata.name: Invalid value: "..": may not be '..'`:                                      named(".."),
			`metadata.name: Invalid value: "%": may not contain '%'`:                                   named("%"),
			"must be no more than 253 characters":                                                      named(strings.Repeat("n", 254)),
			`metadata.generateName: Invalid value: "a/": may not contain '/'`:                          event(func(e *corev1.Event) { e.Name, e.GenerateName = "", "a/" }),
			`metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters`: event(func(e *corev1.Event) { e.Labels = map[string]string{"a b": ""} }),
			"metadata.annotations: Too long":                                                           event(func(e *corev1.Event) { e.Annotations = map[string]string{"a": strings.Repeat("n", 300_000)} }),
		} {
			_, err := h.events.Create(h.t.Context(), rest.Key{Namespace: v1.Namespace}, invalid, rest.WriteOptions{})
			assert.True(h.t, apierrors.IsInvalid(err), want)
			assert.ErrorContains(h.t, err, want)
		}
		assert.Zero(h.t, h.count("events", 0))

		h.update(1, rest.WriteOptions{})
		_, _, err := h.events.Update(h.t.Context(), x, func(object rest.Object) (rest.Object, error) {
			object.SetLabels(map[string]string{"a b": ""})
			return object, nil
		}, rest.WriteOptions{})
		assert.True(h.t, apierrors.IsInvalid(err), "%v", err)
		h.update(2, rest.WriteOptions{})
	})
}
