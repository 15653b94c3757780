package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/rest"
	"kube2014/pkg/rest/core"
)

// metadata are the objects of a resource.
type metadata = clientv1.Resource[*metav1.PartialObjectMetadata]

// widgetsIn installs widgets in a running server, and returns those in a namespace.
func (c *bubbleCluster) widgetsIn(namespace string) metadata {
	c.master.Extensions.Install(widgetRow(core.NewLifecycle(c.master.Stores.Objects, rest.Catalogs{&c.master.Extensions})))
	return c.client.In(namespace).Metadata(widgetVersion.WithResource("widgets"))
}

// createWidget creates a widget with owners.
func createWidget(t *testing.T, widgets metadata, name string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
	widget, err := widgets.Create(t.Context(), &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"},
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
	require.NoError(t, err)
	return widget
}

// createConfigMap creates a config map with an owner.
func (c *bubbleCluster) createConfigMap(namespace, name string, owners ...metav1.OwnerReference) *corev1.ConfigMap {
	config, err := c.client.In(namespace).ConfigMaps().Create(c.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners}})
	require.NoError(c.t, err)
	return config
}

func isGone(err error) bool { return apierrors.IsNotFound(err) }

func TestAKindThatComesWhileTheServerRunsIsCollected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-machines m1 -scheduler none")
		configs := c.client.ConfigMaps()
		before := c.createConfigMap("default", "before", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Widget", Name: "none", UID: "u"})
		time.Sleep(time.Minute)
		_, err := configs.Get(t.Context(), before.Name)
		require.NoError(t, err, "its owner is of a kind that is not known")

		widgets := c.widgetsIn("default")
		widget := widgetVersion.WithKind("Widget")
		c.eventually(5*time.Minute, "the kind of its owner is known: the owner is not there", func() bool {
			_, err := configs.Get(t.Context(), before.Name)
			return isGone(err)
		})

		config := c.createConfigMap("default", "owner")
		owned := createWidget(t, widgets, "owned", *metav1.NewControllerRef(config, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
		owner := createWidget(t, widgets, "owner", *metav1.NewControllerRef(owned, widget))
		c.createConfigMap("default", "last", *metav1.NewControllerRef(owner, widget))
		createWidget(t, widgets, "other")
		time.Sleep(time.Minute)
		list, err := widgets.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 3, "none is deleted whose owner is there")

		require.NoError(t, configs.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
		c.eventually(time.Minute, "what it owns goes, and what that owns", func() bool {
			_, ownedErr := widgets.Get(t.Context(), "owned")
			_, ownerErr := widgets.Get(t.Context(), "owner")
			_, lastErr := configs.Get(t.Context(), "last")
			return isGone(ownedErr) && isGone(ownerErr) && isGone(lastErr)
		})
		_, err = widgets.Get(t.Context(), "other")
		assert.NoError(t, err)

		foreground := metav1.DeletePropagationForeground
		owner = createWidget(t, widgets, "waits")
		c.createConfigMap("default", "blocks", *metav1.NewControllerRef(owner, widget))
		require.NoError(t, widgets.Delete(t.Context(), "waits", metav1.DeleteOptions{PropagationPolicy: &foreground}))
		c.eventually(time.Minute, "a widget waits for what it owns", func() bool {
			_, blocksErr := configs.Get(t.Context(), "blocks")
			_, waitsErr := widgets.Get(t.Context(), "waits")
			return isGone(blocksErr) && isGone(waitsErr)
		})
	})
}

func TestAKindThatComesWhileTheServerRunsIsDeletedWithItsNamespace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-machines m1 -scheduler none")
		for _, name := range []string{"dev", "other"} {
			_, err := c.client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
			require.NoError(t, err)
			createWidget(t, c.widgetsIn(name), "x")
		}
		end := func(name string) {
			require.NoError(t, c.client.Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
			c.eventually(time.Minute, name+" is gone", func() bool {
				_, err := c.client.Namespaces().Get(t.Context(), name)
				return isGone(err)
			})
		}
		end("dev")
		at := widgetVersion.WithResource("widgets")
		list, err := c.client.Metadata(at).Everywhere().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 1)
		assert.Equal(t, "other", list.Items[0].Namespace)

		// A kind that goes holds no namespace up. When it comes back, what has lost its namespace is collected.
		createWidget(t, c.client.In("other").Metadata(at), "y")
		c.master.Extensions.Replace([]rest.Resource{widgetRow(nil)}, nil)
		end("other")
		widgets := c.widgetsIn("other")
		list, err = widgets.List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, list.Items, 2, "they are still stored")
		c.eventually(5*time.Minute, "the widgets go", func() bool {
			list, err := widgets.List(t.Context(), metav1.ListOptions{})
			return err == nil && len(list.Items) == 0
		})
	})
}
