package cache

import (
	"context"
	"time"
)

// syncPoll is how often it is looked whether informers have synced.
const syncPoll = 50 * time.Millisecond

// WaitForSync waits until all functions, such as SharedInformer.HasSynced, say true. It returns
// false if the context ends before.
func WaitForSync(ctx context.Context, hasSynced ...func() bool) bool {
	ticker := time.NewTicker(syncPoll)
	defer ticker.Stop()
	for _, synced := range hasSynced {
		for !synced() {
			select {
			case <-ctx.Done():
				return false
			case <-ticker.C:
			}
		}
	}
	return true
}
