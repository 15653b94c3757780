package main

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// in returns the same cluster, with the objects of another namespace.
func (c *bubbleCluster) in(namespace string) *bubbleCluster {
	own := *c
	own.client = c.client.In(namespace)
	return &own
}

// addresses returns those in the endpoints of a service.
func (c *bubbleCluster) addresses(service string) (all []string) {
	endpoints, err := c.client.Endpoints().Get(c.t.Context(), service)
	require.NoError(c.t, err)
	for _, subset := range endpoints.Subsets {
		for _, address := range subset.Addresses {
			all = append(all, address.IP)
		}
	}
	return all
}

// log returns the log of a pod.
func (c *bubbleCluster) log(namespace, pod string) string {
	resp, err := c.client.HTTP.Get(c.client.Host + "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/log")
	require.NoError(c.t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	require.NoError(c.t, resp.Body.Close())
	return string(text)
}

// One machine has the pods of both namespaces.
func TestPodsOfTheSameNameInTwoNamespacesRunSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, "-run all -machines 127.0.0.1")
		dev := c.in("dev")
		_, err := c.client.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "dev"}})
		require.NoError(t, err)
		for _, one := range []*bubbleCluster{c, dev} {
			one.createController("web", 2)
			_, err = one.client.Services().Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
				Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 8000}}}})
			require.NoError(t, err)
		}
		c.eventually(time.Minute, "all are ready", func() bool { return c.ready() == 2 && dev.ready() == 2 })
		time.Sleep(10 * time.Second) // the endpoints follow
		seen := map[string]string{}
		for namespace, one := range map[string]*bubbleCluster{"default": c, "dev": dev} {
			var own []string
			for name, pod := range one.pods() {
				assert.Empty(t, seen[pod.Status.PodIP], "%s/%s has an address of its own", namespace, name)
				seen[pod.Status.PodIP] = namespace + "/" + name
				own = append(own, pod.Status.PodIP)
				assert.Contains(t, one.log(namespace, name), "listening on "+pod.Status.PodIP+":80")
			}
			assert.ElementsMatch(t, own, one.addresses("web"), "the service of %s leads to its own pods", namespace)
		}

		before := c.pods()
		require.NoError(t, dev.client.Pods().Delete(t.Context(), "web-1", metav1.DeleteOptions{}))
		c.eventually(time.Minute, "another one comes", func() bool { return dev.ready() == 2 })
		require.NoError(t, c.client.Namespaces().Delete(t.Context(), "dev", metav1.DeleteOptions{}))
		c.eventually(time.Minute, "the namespace is gone", func() bool {
			_, err := c.client.Namespaces().Get(t.Context(), "dev")
			return isGone(err)
		})
		time.Sleep(time.Minute)
		assert.Equal(t, before, c.pods(), "the others have not changed")
		assert.Len(t, c.addresses("web"), 2)
	})
}
