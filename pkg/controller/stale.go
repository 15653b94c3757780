package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	clientv1 "kube2014/pkg/client/v1"
)

// StalePause is the pause before a retry with a stale copy, unless a change comes first.
const StalePause = time.Second

// ErrStale reports that the server has something newer than what was decided on. The sync is retried after a StalePause, and
// nothing is logged.
var ErrStale = errors.New("the copy is behind")

// OrStale returns ErrStale for an error that says that the server has something else than what was expected, and any other
// error as it is.
func OrStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ErrStale
	}
	return err
}

// Confirm returns an object as the server has it. The error is ErrStale if it is gone, is being deleted, or is another one of
// the same name.
func Confirm[T clientv1.Object](ctx context.Context, resource clientv1.Resource[T], object T) (current T, err error) {
	current, err = resource.Get(ctx, object.GetName())
	if err == nil && (current.GetUID() != object.GetUID() || current.GetDeletionTimestamp() != nil) {
		err = ErrStale
	}
	return current, OrStale(err)
}

// ConfirmVersion checks that the server has an object in the version that was read. The error is ErrStale if it has not.
func ConfirmVersion[T clientv1.Object](ctx context.Context, resource clientv1.Resource[T], object T) error {
	current, err := resource.Get(ctx, object.GetName())
	if err == nil && (current.GetUID() != object.GetUID() || current.GetResourceVersion() != object.GetResourceVersion()) {
		return ErrStale
	}
	return OrStale(err)
}
