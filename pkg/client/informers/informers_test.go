package informers_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kube2014/pkg/client/cache"
	"kube2014/pkg/client/informers"
	"kube2014/pkg/master/servertest"
)

func TestThePartsOfAProcessShareAnInformerOfEachKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t).Client(t, "test")
		shared := informers.New(c, 0)
		assert.Same(t, shared.Pods(), shared.Pods())
		shared.Run(t.Context())
		nodes := shared.Nodes() // one that is asked for later runs too
		_, err := c.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "127.0.0.1"}})
		require.NoError(t, err)
		require.True(t, cache.WaitForSync(t.Context(), shared.Pods().HasSynced, nodes.HasSynced,
			shared.Services().HasSynced, shared.Endpoints().HasSynced, shared.ReplicationControllers().HasSynced))
		synctest.Wait()
		assert.Len(t, nodes.Store().List(), 1)
		assert.Empty(t, shared.Pods().Store().List())
	})
}
