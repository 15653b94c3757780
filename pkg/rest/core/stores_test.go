package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	v1 "kube2014/pkg/api/v1"
	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/storage"
)

func TestADeleteOfACollectionThatTakesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, name := range []string{"a", "b", "c"} {
		d.Must("POST", Pods, Pod(name, `"finalizers":["a.b/c"]`))
	}
	late, cancel := context.WithCancel(t.Context())
	pods := storageOf[rest.CollectionDeleter](t, slowStore{d.Store, func() { cancel() }}, "pods")
	_, err := pods.DeleteCollection(late, v1.Namespace, rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything()}, rest.DeleteOptions{})
	assert.True(t, apierrors.IsTimeout(err), "%v", err)
	deleted := 0
	for _, name := range []string{"a", "b", "c"} {
		if d.Must("GET", Pods+"/"+name, "").Meta().DeletionTimestamp != nil {
			deleted++
		}
	}
	assert.Equal(t, 1, deleted)
}

// slowStore is a store whose client has left when it has written something.
type slowStore struct {
	storage.Interface
	leave func()
}

func (s slowStore) Commit(changes ...storage.Change) ([]*storage.Object, error) {
	defer s.leave()
	return s.Interface.Commit(changes...)
}

// twofold is a store to which other programs have written each task twice.
type twofold struct{ storage.Interface }

func (s twofold) List(selection storage.Selection) (*storage.List, error) {
	list, err := s.Interface.List(selection)
	return double(list), err
}

func (s twofold) ListAt(selection storage.Selection, version uint64) (*storage.List, error) {
	list, err := s.Interface.ListAt(selection, version)
	return double(list), err
}

func double(list *storage.List) *storage.List {
	all := &storage.List{Kind: list.Kind, Version: list.Version}
	for _, item := range list.Items {
		all.Items = append(all.Items, item, item)
	}
	return all
}

func TestPagesEndThoughAnIDIsThereTwice(t *testing.T) {
	t.Parallel()
	d := Open(t)
	for _, name := range []string{"a", "b"} {
		d.Must("POST", Pods, Pod(name, ""))
	}
	pods := storageOf[rest.Lister](t, twofold{d.Store}, "pods")
	var names []string
	options := rest.ListOptions{Labels: labels.Everything(), Fields: fields.Everything(), Limit: 1}
	for range 3 {
		list, err := pods.List(t.Context(), v1.Namespace, options)
		require.NoError(t, err)
		page := make([]string, list.Len())
		require.NoError(t, list.Each(t.Context(), func(i int, item rest.Answer) error {
			object, err := item.Object()
			if err == nil {
				page[i] = object.(metav1.Object).GetName()
			}
			return err
		}))
		names = append(names, page...)
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	assert.Equal(t, []string{"a", "a", "b", "b"}, names)
}

// storageOf returns the storage of a resource over a store.
func storageOf[Storage any](t *testing.T, store storage.Interface, name string) Storage {
	for _, resource := range core.Resources(core.Config{Objects: store, Now: time.Now}) {
		if resource.Name == name {
			return resource.Storage.(Storage)
		}
	}
	require.Fail(t, "no such resource")
	panic("unreachable")
}
