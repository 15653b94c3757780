package main

import (
	"net/url"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
)

// D49. K1. June 2014's proxy reads the directory of services.
func TestTheServersAreFoundByTheServiceKubernetesWhichJune2014DoesNotSee(t *testing.T) {
	t.Parallel()
	etcd := startEtcd(t)
	flags, _ := filesOf(t).secureFlags()
	flags = append(flags, "-etcd_servers", etcd.URL)
	first, log, insecure, secure := secureProgram(t, unhurried, append(flags, "-controllers=")...)
	at, err := url.Parse(secure)
	require.NoError(t, err)
	client := clientv1.New(insecure)
	var service *corev1.Service
	eventually(t, func() bool {
		service, err = client.In("default").Services().Get(t.Context(), "kubernetes")
		return err == nil
	}, "the service is there")
	assert.Equal(t, map[string]string{"component": "apiserver", "provider": "kubernetes"}, service.Labels)
	assert.Equal(t, at.Port(), service.Spec.Ports[0].TargetPort.String())
	addresses := func() (addresses []string) {
		endpoints, err := client.In("default").Endpoints().Get(t.Context(), "kubernetes")
		if apierrors.IsNotFound(err) {
			return nil
		}
		require.NoError(t, err)
		for _, subset := range endpoints.Subsets {
			addresses = append(addresses, subset.Addresses[0].IP)
		}
		return addresses
	}
	eventually(t, func() bool { return len(addresses()) == 1 }, "the server is its endpoint")
	_, _, insecure, _ = secureProgram(t, unhurried, append(flags, "-advertise_address", "10.1.2.3")...)
	client = clientv1.New(insecure)
	eventually(t, func() bool { return len(addresses()) == 2 }, "so is another one")
	for key := range keysIn(t, etcd.URL, "/registry/services") {
		assert.NotContains(t, key, "kubernetes")
	}
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	log.find("stopped")
	// The other server may be about to write what it has read before; on a slow machine it may renew its lease late.
	eventually(t, func() bool { return slices.Equal([]string{"10.1.2.3"}, addresses()) }, "one that has ended is none")
	list, err := client.In("default").Services().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Len(t, list.Items, 1)
}

// It replaces the process's log, so it is not parallel.
func TestAServerOnEtcd2HasNoRangeOfAddresses(t *testing.T) {
	code, _, stderr := runWith("-port", "0", "-etcd_servers", startEtcd(t).URL, "-service_cluster_ip_range", "10.0.0.0/16")
	assert.Equal(t, 2, code)
	assert.Equal(t, "apiserver: -service_cluster_ip_range: etcd2 has no transactions, which addresses of services need: say -storage_backend etcd3, or leave the range out\n", stderr)
}
