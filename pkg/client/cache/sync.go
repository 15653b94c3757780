package cache

import (
	"context"
	"time"

	"kube2014/pkg/util"
)

// syncPoll is the period in which WaitForSync calls its functions.
const syncPoll = 50 * time.Millisecond

// WaitForSync waits until all functions, such as SharedInformer.HasSynced, return true. It returns
// false if the context ends first.
func WaitForSync(ctx context.Context, hasSynced ...func() bool) bool {
	for _, synced := range hasSynced {
		for !synced() {
			if !util.Sleep(ctx, syncPoll) {
				return false
			}
		}
	}
	return true
}
