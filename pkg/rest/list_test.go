package rest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// longList has more items than one processor takes at once.
func longList() *List {
	objects := make([]runtime.Object, 3*chunk)
	for i := range objects {
		objects[i] = &corev1.Pod{}
	}
	return MakeList(corev1.SchemeGroupVersion.WithKind("Pod"), 1, objects)
}

// It runs on goroutines of its own, where a panic would end the process.
func TestAPanicInAListIsAnError(t *testing.T) {
	t.Parallel()
	err := longList().Each(t.Context(), func(i int, _ Answer) error {
		if i == 2*chunk {
			panic("a broken printer")
		}
		return nil
	})
	assert.ErrorContains(t, err, "panic: a broken printer\ngoroutine ")
}

func TestEachItemOfAListIsConvertedOnce(t *testing.T) {
	t.Parallel()
	var times [3 * chunk]atomic.Int64
	assert.NoError(t, longList().Each(t.Context(), func(i int, _ Answer) error {
		times[i].Add(1)
		return nil
	}))
	for i := range times {
		assert.EqualValues(t, 1, times[i].Load(), i)
	}
	assert.NoError(t, MakeList(corev1.SchemeGroupVersion.WithKind("Pod"), 1, nil).Each(t.Context(), nil))
}

func TestAListWhoseTimeIsOverIsGivenUp(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err := longList().Each(over, func(int, Answer) error {
		assert.Fail(t, "nobody waits for it")
		return nil
	})
	assert.True(t, apierrors.IsTimeout(err), err)
	assert.Equal(t, metav1.StatusReasonTimeout, apierrors.ReasonForError(err))
}
