package controller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kube2014/pkg/client/cache"
	clientv1 "kube2014/pkg/client/v1"
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

// Shows expects that a copy has an object as it was written, or a later state.
func Shows[T clientv1.Object](informer *cache.SharedInformer[T], written T) Expectation {
	return func() bool {
		cached, exists := informer.Store().Get(cache.Key(written))
		return exists && cached.GetUID() == written.GetUID() && cached.GetResourceVersion() == written.GetResourceVersion() ||
			hasReached(informer.Version(), written.GetResourceVersion())
	}
}

// ShowsDeleted expects that an object is gone from a copy, or is being deleted there.
func ShowsDeleted[T clientv1.Object](informer *cache.SharedInformer[T], object T) Expectation {
	return func() bool {
		cached, exists := informer.Store().Get(cache.Key(object))
		return !exists || cached.GetUID() != object.GetUID() || cached.GetDeletionTimestamp() != nil
	}
}

// hasReached reports whether a copy of a version has all changes up to another one.
func hasReached(copied, version string) bool {
	order, err := resourceversion.CompareResourceVersion(copied, version)
	return err == nil && order >= 0
}

// EachUnlessRefused is Each, but goes on with the next item when the server refuses one. It returns the first refusal;
// acted says nothing then.
func EachUnlessRefused[T any](ctx context.Context, items []T, do func(T) (Expectation, error)) (acted bool, err error) {
	var refused error
	acted, err = Each(ctx, items, func(item T) (Expectation, error) {
		shows, err := do(item)
		if !clientv1.IsRefusal(err) {
			return shows, err
		}
		if refused == nil {
			refused = err
		}
		return func() bool { return true }, nil
	})
	if err == nil {
		err = refused
	}
	return acted, err
}

// Each does something for items, one after the other, until that fails, and waits until the copies show what was done. It
// reports whether it did something that the copies will show. An item with neither an expectation nor an error is the last.
func Each[T any](ctx context.Context, items []T, do func(T) (Expectation, error)) (acted bool, err error) {
	var expected []Expectation
	for _, item := range items {
		var shows Expectation
		if shows, err = do(item); err != nil || shows == nil {
			break
		}
		expected = append(expected, shows)
	}
	if unseen := Await(ctx, expected...); unseen != nil {
		return false, unseen
	}
	return len(expected) > 0, err
}
