package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clientv1 "kube2014/pkg/client/v1"
	"kube2014/pkg/options"
	"kube2014/pkg/util/loopback"
)

// bubbleCluster is what make cluster runs, in a synctest bubble: all in one process, with a clock
// and a network of its own.
type bubbleCluster struct {
	t       *testing.T
	network *loopback.Network
	master  *master
	client  *clientv1.Client
	ended   chan error
	end     context.CancelFunc
}

// startCluster starts a cluster of three machines with more flags.
func startCluster(t *testing.T, flags ...string) *bubbleCluster {
	c := &bubbleCluster{t: t, network: &loopback.Network{}, ended: make(chan error, 1)}
	o, err := options.Parse(append(strings.Fields("-run all -machines 127.0.0.1,127.0.0.2,127.0.0.3"), flags...))
	require.NoError(t, err)
	c.master, err = createMasterOn(network{c.network.Listen, c.network.DialContext}, o, io.Discard)
	require.NoError(t, err)
	c.master.stores.registerMachines()
	ctx, end := context.WithCancel(t.Context())
	c.end = end
	go func() { c.ended <- c.master.server.PrepareRun().Run(ctx) }()
	c.client = clientv1.Over(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return c.network.DialContext(ctx, "tcp", o.InsecureServing.ListenAddress())
	}, "test")
	t.Cleanup(func() {
		end()
		<-c.ended
		c.client.HTTP.CloseIdleConnections()
		time.Sleep(2 * syncPeriod) // the loops of the server look at their context then
	})
	return c
}

// stop stops the server and all parts, as a signal does.
func (c *bubbleCluster) stop() {
	c.end()
	err := <-c.ended
	c.ended <- err
	require.NoError(c.t, err)
}

// eventually waits, by the bubble's clock, for what the parts bring about.
func (c *bubbleCluster) eventually(what string, within time.Duration, condition func() bool) {
	c.t.Helper()
	for end := time.Now().Add(within); !condition(); time.Sleep(100 * time.Millisecond) {
		require.True(c.t, time.Now().Before(end), what)
	}
}

func (c *bubbleCluster) pods() []*corev1.Pod {
	list, err := c.client.Pods().List(c.t.Context(), metav1.ListOptions{})
	require.NoError(c.t, err)
	return list.Items
}

func TestAClusterPlacesAPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t)
		synctest.Wait()
		_, err := c.client.Pods().Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}})
		require.NoError(t, err)
		c.eventually("it is placed", time.Second, func() bool { return c.pods()[0].Spec.NodeName != "" })
		c.stop()
		assert.Empty(t, c.master.parts.failed)
	})
}
