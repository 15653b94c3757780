package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/storage"
	"kube2014/pkg/storage/storagetest"
)

func TestTheStoreInMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		Make:   func(*testing.T) storage.Interface { return New(1000) },
		Atomic: true,
		Forget: storagetest.ForgetByWriting,
	})
}

func TestTheVersionsOfAStoreBeginAfterTheGivenOne(t *testing.T) {
	t.Parallel()
	store := New(1000)
	version, err := store.Version()
	require.NoError(t, err)
	assert.EqualValues(t, 1000, version)
}
