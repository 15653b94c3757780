package storage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// K59.
func TestATTLIsRoundedUpToSeconds(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]int64{
		0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, time.Hour: 3600, 1<<63 - 1: 9223372037,
	} {
		assert.Equal(t, want, Change{TTL: ttl}.TTLSeconds(), ttl)
	}
}

// committed is a store that keeps the changes of the last commit. Its time stands still.
type committed struct {
	Interface
	changes []Change
}

var noon = time.Date(2014, 6, 6, 12, 0, 0, 0, time.UTC)

func (c *committed) Now() time.Time { return noon }

func (c *committed) Get(key api.Key) (*Object, error) {
	return nil, api.NewNotFound(key.Kind, key.ID)
}

func (c *committed) Commit(changes ...Change) ([]*Object, error) {
	c.changes = changes
	return make([]*Object, len(changes)), nil
}

func TestAllThatIsWrittenThroughAStoreWithATTLHasIt(t *testing.T) {
	t.Parallel()
	inner := &committed{}
	store := WithTTL(inner, time.Hour)
	own := []Change{Create(service(1)), Delete(api.DefaultKey(api.ServiceKind, "s2"), Any)}
	_, err := store.Commit(own...)
	require.NoError(t, err)
	assert.Equal(t, time.Hour, inner.changes[0].TTL)
	assert.Zero(t, own[0].TTL, "the caller's are as they were")

	_, err = GuaranteedUpdate(store, api.DefaultKey(api.ServiceKind, "s1"), func(*Object) (api.Object, error) { return service(1), nil })
	require.NoError(t, err)
	assert.Equal(t, time.Hour, inner.changes[0].TTL)
	assert.Equal(t, noon, inner.changes[0].Began, "it is the inner store's clock")

	assert.Same(t, inner, WithTTL(inner, 0), "nothing ends")
}
