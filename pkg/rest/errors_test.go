package rest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kube2014/pkg/api"
	"kube2014/pkg/rest"
)

// K88: today's server answers 500.
func TestAnObjectThatTheStoreDoesNotTakeIsTooLarge(t *testing.T) {
	t.Parallel()
	err := rest.StatusError(&api.Error{Kind: api.TooLarge, Message: "create: it is larger than etcd takes"}, corev1.Resource("secrets"), "x")
	assert.True(t, apierrors.IsRequestEntityTooLargeError(err))
	assert.EqualError(t, err, "Request entity too large: create: it is larger than etcd takes")
}
