package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

// A query that is accepted means the same when it is written again; any other is
// a one-line error.
func FuzzDecodeLabelQuery(f *testing.F) {
	for _, query := range []string{"", "name=web", "a=1,b=2", "a=", "=", ",", "a", "a=b=c", "a=1,a=2", "a=1,", "é=\x00", "a=\n"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		labels, err := DecodeLabelQuery(query)
		if err != nil {
			assert.Equal(t, api.Invalid, api.KindOf(err))
			assert.NotContains(t, err.Error(), "\n")
			assert.Nil(t, labels)
			return
		}
		again, err := DecodeLabelQuery(EncodeLabelQuery(labels))
		require.NoError(t, err)
		assert.Equal(t, labels, again)
	})
}
