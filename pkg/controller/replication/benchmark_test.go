package replication_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/pkg/client/informers"
	"kube2014/pkg/client/servertest"
	"kube2014/pkg/controller/replication"
)

// BenchmarkAReplicationControllerGets2000Pods measures the time until the status tells of them all.
func BenchmarkAReplicationControllerGets2000Pods(b *testing.B) {
	for b.Loop() {
		ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
		server := servertest.Start(b)
		client := server.Client(b, "test")
		shared := informers.New(client, 0)
		bench := &replicationBench{Server: server, t: b, client: client}
		manager := replication.NewReplicationManager(replication.Config{Client: client, Informers: shared, Recorder: bench})
		shared.Run(ctx)
		bench.create("web", 2000)
		ended := make(chan struct{})
		go func() { manager.Run(ctx, 2); close(ended) }()
		for bench.get("web").Status.Replicas != 2000 {
			require.NoError(b, ctx.Err())
			time.Sleep(time.Millisecond)
		}
		cancel()
		<-ended
	}
}
