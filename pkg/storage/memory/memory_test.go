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

// Here the other process is a second user of the same store.
func TestTheContractHoldsForSeveralProcesses(t *testing.T) {
	t.Parallel()
	storagetest.Run(t, storagetest.Harness{
		Make:    func(*testing.T) storage.Interface { return New(0) },
		Another: func(_ *testing.T, store storage.Interface) storage.Interface { return store },
		Atomic:  true,
		Slow:    true,
	})
}

func TestTheVersionsOfAStoreBeginAfterTheGivenOne(t *testing.T) {
	t.Parallel()
	store := New(1000)
	version, err := store.Version()
	require.NoError(t, err)
	assert.EqualValues(t, 1000, version)
}
