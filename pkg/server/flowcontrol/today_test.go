//go:build today

package flowcontrol

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	today "k8s.io/apiserver/pkg/util/flowcontrol"
)

func TestClientsAreToldToTryAgainWhenTodaysServerTellsThem(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			theirs, ours, perSecond := today.NewDroppedRequestsTracker(), &retryAfter{}, 1
			for i := range 3000 {
				if i%500 == 0 {
					perSecond = 1 + random.IntN(20)
				}
				time.Sleep(time.Duration(random.IntN(2000/perSecond)) * time.Millisecond)
				theirs.RecordDroppedRequest("level")
				require.Equal(t, theirs.GetRetryAfter("level"), ours.next())
			}
		})
	}
}
