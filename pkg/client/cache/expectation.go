package cache

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/util"
)

const (
	// expectationTimeout is how long Await waits.
	expectationTimeout = 5 * time.Minute
	// expectationPoll is the period in which it reads the copy meanwhile.
	expectationPoll = 10 * time.Millisecond
)

var errUnseen = errors.New("the informer has not shown within 5 minutes what was written")

// Expectation reports whether a copy shows what was written.
type Expectation func() bool

// Await waits until copies show all that was written for an object. Before that, a controller decides nothing more for it.
// If all its workers wait, the copy is stale for all of them anyway. An error is that of the context, or says that 5 minutes
// were not enough.
func Await(ctx context.Context, expected ...Expectation) error {
	late := time.Now().Add(expectationTimeout)
	for _, seen := range expected {
		for !seen() {
			if time.Now().After(late) {
				return errUnseen
			}
			if !util.Sleep(ctx, expectationPoll) {
				return ctx.Err()
			}
		}
	}
	return nil
}

// Shows expects that the copy has an object as it was written, or a later state.
func (s *SharedInformer[T]) Shows(written T) Expectation {
	return func() bool {
		cached, exists := s.store.Get(Key(written))
		return exists && cached.GetUID() == written.GetUID() && cached.GetResourceVersion() == written.GetResourceVersion() ||
			hasReached(s.Version(), written.GetResourceVersion())
	}
}

// ShowsDeleted expects that an object is gone from the copy, or is being deleted there.
func (s *SharedInformer[T]) ShowsDeleted(object T) Expectation {
	return func() bool {
		cached, exists := s.store.Get(Key(object))
		return !exists || cached.GetUID() != object.GetUID() || cached.GetDeletionTimestamp() != nil
	}
}

// hasReached reports whether a copy of a version has all changes up to another one.
func hasReached(copied, version string) bool {
	order, err := resourceversion.CompareResourceVersion(copied, version)
	return err == nil && order >= 0
}

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
