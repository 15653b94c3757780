package rest

import (
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kube2014/pkg/storage"
)

// ReadNew returns the selected objects at a version or a later one. If they may be stale, it
// prefers the cache.
func ReadNew(objects storage.Interface, selection storage.Selection, version uint64, mayBeStale bool) (*storage.List, error) {
	if mayBeStale {
		if list, err := objects.Cached().List(selection); err == nil && list.Version >= version && list.Version > 0 {
			return list, nil
		}
	}
	list, err := objects.List(selection)
	if err != nil {
		return nil, err
	}
	if list.Version < version {
		return nil, TooLarge(version, list.Version)
	}
	return list, nil
}

// TooLarge returns the error for a list at a version that the store has not reached.
func TooLarge(wanted, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", wanted, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

// ParseVersion parses a resource version. The error is a 400 status.
func ParseVersion(text string) (uint64, error) {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid resource version: " + field.Invalid(field.NewPath("resourceVersion"), text, err.Error()).Error())
	}
	return version, nil
}
