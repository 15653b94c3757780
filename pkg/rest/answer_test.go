package rest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/api"
	v1 "kube2014/pkg/api/v1"
	"kube2014/pkg/storage"
)

func TestWhatIsDerivedFromAStoredObjectIsMadeOnceForEachNameAndCodec(t *testing.T) {
	t.Parallel()
	kind := corev1.SchemeGroupVersion.WithKind("Pod")
	codec, other := v1.NewCodec(kind, api.TaskKind, v1.Scheme), v1.NewCodec(kind, api.TaskKind, v1.Scheme)
	first, second := storage.NewObject(&api.Task{}, 1, 1), storage.NewObject(&api.Task{}, 2, 1)
	derive := func(answer Answer, name, text string, err error) string {
		got, _ := answer.Derived(name, func() ([]byte, error) { return []byte(text), err })
		return string(got)
	}
	assert.Empty(t, derive(StoredAnswer(codec, first), "pods", "", errors.New("not now")))
	assert.Equal(t, "1", derive(StoredAnswer(codec, first), "pods", "1", nil), "an error is not kept")
	assert.Equal(t, "1", derive(StoredAnswer(codec, first), "pods", "2", nil))
	assert.Equal(t, "3", derive(StoredAnswer(codec, first), "pods/status", "3", nil))
	assert.Equal(t, "4", derive(StoredAnswer(other, first), "pods", "4", nil))
	assert.Equal(t, "5", derive(StoredAnswer(codec, second), "pods", "5", nil), "another version of the object")
	assert.Equal(t, "1", derive(StoredAnswer(codec, first), "pods", "6", nil))
	for _, text := range []string{"7", "8"} {
		assert.Equal(t, text, derive(MakeAnswer(&corev1.Pod{}), "pods", text, nil), "nobody shares it")
	}
}
