package replication_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/controller"
	"kube2014/pkg/controller/replication"
	"kube2014/pkg/master/controllertest"
)

// BenchmarkAReplicationControllerGets2000Pods measures the time until the status tells of them all.
func BenchmarkAReplicationControllerGets2000Pods(b *testing.B) {
	benchmark(b, replication.NewReplicationManager, func(bench *replicationBench) { bench.create("web", 2000) }, func(bench *replicationBench) bool {
		return bench.get("web").Status.Replicas == 2000
	})
}

// BenchmarkTenReplicaSetsGet5000Pods measures the time until their status tells of them all.
func BenchmarkTenReplicaSetsGet5000Pods(b *testing.B) {
	benchmark(b, replication.NewReplicaSetController, func(bench *replicationBench) {
		for i := range 10 {
			bench.createSet(replicaSet(fmt.Sprint("web-", i), 500))
		}
	}, func(bench *replicationBench) bool {
		sets, err := bench.API.ReplicaSets().List(b.Context(), metav1.ListOptions{})
		require.NoError(b, err)
		for _, rs := range sets.Items {
			if rs.Status.Replicas != 500 {
				return false
			}
		}
		return true
	})
}

func benchmark(b *testing.B, newManager func(controller.Config) *replication.ReplicationManager, create func(*replicationBench), isDone func(*replicationBench) bool) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		bench := &replicationBench{Bench: controllertest.New(b)}
		shared := informers.New(bench.API, 0)
		manager := newManager(controller.Config{Client: bench.API, Informers: shared, Recorder: bench})
		shared.Run(ctx)
		create(bench)
		ended := make(chan struct{})
		go func() { manager.Run(ctx, 4); close(ended) }()
		for !isDone(bench) {
			require.NoError(b, ctx.Err())
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
		<-ended
	}
}
